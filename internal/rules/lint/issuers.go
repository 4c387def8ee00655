package lint

import (
	"strings"

	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// checkIssuers warns about what callers of several issuers share: a claim such
// as sub differs among the callers of one issuer alone.
func (c *checker) checkIssuers() {
	if a := c.doc.Authentication; a == nil || len(a.JWT) < 2 {
		return
	}
	if p, path := c.doc.Plan, problem.Root("plan"); p != nil {
		if source, _ := key.ParseSource(p.From); source.Kind == key.FromClaim && !namesIssuer(source) {
			c.warn(path.To("from"), problem.PlanOfIssuers)
		}
		c.checkTemplate(path.To("overrides"), p.Overrides, "overrides")
	}
	for i := range c.doc.Rules {
		r, path := &c.doc.Rules[i], problem.Root("rules").At(i)
		if r.Mode == rules.Off.String() || r.When != nil && len(r.When.Match["jwt.iss"]) == 1 {
			continue
		}
		c.checkTemplate(path.To("key"), r.Key, "a counter")
		if r.Overrides != nil {
			c.checkTemplate(path.To("overrides"), r.Overrides.Template, "overrides")
		}
	}
}

// checkTemplate warns if a template reads a claim without the issuer's name.
func (c *checker) checkTemplate(path problem.Path, template, shared string) {
	t, _ := key.Parse(template)
	claim := ""
	for _, p := range t.Parts {
		switch {
		case p.Kind != key.FromClaim:
		case namesIssuer(p):
			return
		case claim == "":
			claim = "{" + p.String() + "}"
		}
	}
	if claim != "" {
		c.warn(path, problem.SharedClaim, claim, shared, strings.Replace(template, claim, "{jwt.iss}|"+claim, 1))
	}
}

func namesIssuer(claim key.Part) bool { return strings.TrimPrefix(claim.Text, "/") == "iss" }
