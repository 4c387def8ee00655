package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
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
	for i := range c.author.Skip {
		c.checkLift(problem.Root("skip").At(i), &c.author.Skip[i], nil)
	}
	for i := range c.doc.Rules {
		if r := &c.doc.Rules[i]; r.Mode != rules.Off.String() && mayHaveClaims(r.When) {
			c.checkIssuersOf(i)
		}
	}
}

// checkIssuersOf warns about rule i. A rule for one issuer has keys and overrides
// of its own, unless it shares its counter with a rule for another issuer.
func (c *checker) checkIssuersOf(i int) {
	r, path := &c.doc.Rules[i], problem.Root("rules").At(i)
	alone := len(issuersOf(r.When)) == 1
	if !alone || c.sharesWithIssuer(i) {
		c.checkTemplate(path.To("key"), r.Key, "a counter")
	}
	if r.Overrides != nil && !alone {
		c.checkTemplate(path.To("overrides"), r.Overrides.Template, "overrides")
	}
	c.checkLift(path.To("unless"), r.Unless, r.When)
	if issuersOf(r.When) != nil {
		return
	}
	written := &c.author.Rules[i]
	c.checkStatedCost(path.To("cost"), written.Cost)
	for at, l := range written.EachLimit(path) {
		c.checkStatedCost(at.To("cost"), l.Cost)
	}
}

// sharesWithIssuer reports whether rule i, which is for one issuer, has a counter
// in common with a rule for another one.
func (c *checker) sharesWithIssuer(i int) bool {
	r := &c.doc.Rules[i]
	outline := func(r *ruledoc.Rule) string { t, _ := key.Parse(r.Key); return t.Outline() }
	for j := range c.doc.Rules {
		other := &c.doc.Rules[j]
		issuers := issuersOf(other.When)
		if len(issuers) == 1 && issuers[0] != issuersOf(r.When)[0] && other.Mode != rules.Off.String() && mayHaveClaims(other.When) &&
			cmp.Or(r.Counter, r.Name) == cmp.Or(other.Counter, other.Name) && outline(r) == outline(other) {
			return true
		}
	}
	return false
}

// checkLift warns about a selector that lifts limits of the requests of when by a
// claim, whichever issuer states it.
func (c *checker) checkLift(path problem.Path, s, when *ruledoc.Selector) {
	if s == nil || !mayHaveClaims(s) || issuersOf(s) != nil || issuersOf(when) != nil {
		return
	}
	for _, source := range slices.Sorted(maps.Keys(s.Match)) {
		if p, _ := key.ParseSource(source); p.Kind == key.FromClaim {
			c.warn(path.To("match"), problem.ClaimOfIssuers, p.String(), "match")
			return
		}
	}
}

// checkStatedCost warns about a cost that any issuer may state.
func (c *checker) checkStatedCost(path problem.Path, cost *ruledoc.Cost) {
	if cost == nil {
		return
	}
	if p, _ := key.ParseSource(cost.From); p.Kind == key.FromClaim {
		c.warn(path.To("from"), problem.ClaimOfIssuers, p.String(), "when.match")
	}
}

// mayHaveClaims reports whether a selector covers callers with a token. Rejected
// and anonymous ones have no claims.
func mayHaveClaims(s *ruledoc.Selector) bool {
	return s == nil || len(s.Caller) == 0 || slices.Contains(s.Caller, request.Known)
}

// issuersOf returns the issuers that a selector names; nil if it names none.
func issuersOf(s *ruledoc.Selector) ruledoc.Words {
	if s == nil {
		return nil
	}
	for source, issuers := range s.Match {
		if p, _ := key.ParseSource(source); namesIssuer(p) {
			return issuers
		}
	}
	return nil
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

func namesIssuer(p key.Part) bool {
	return p.Kind == key.FromClaim && strings.TrimPrefix(p.Text, "/") == "iss"
}
