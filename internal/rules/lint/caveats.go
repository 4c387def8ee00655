package lint

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Caveats returns what limiters make of a document because it does not say
// how to verify credentials, and because a REST API's own answers were deployed
// before. It has one line of each kind for a rule at most. Replays, and requests
// that a person describes, have the credentials that they state.
func Caveats(d *ruledoc.Document, s *rules.Set) []problem.Problem {
	c := &checker{author: ruledoc.WithDefaults(d), doc: s.Document(), set: s}
	c.checkDeployed(problem.Root("denied"), d.Denied)
	v := verifiedBy(d)
	checkEntries := func(name string, entries []ruledoc.Selector, effect string) {
		for i := range entries {
			if v.lacksAnyOf(&entries[i]) {
				c.warn(problem.Root(name).At(i), problem.Unverified, v.what(), effect)
			}
		}
	}
	checkEntries("deny", d.Deny, "this denies no live request")
	checkEntries("skip", d.Skip, "this skips no live request")
	if a := d.Authentication; a != nil && len(a.PassClaims) > 0 && !v.claims {
		c.warn(problem.Root("authentication").To("pass_claims"), problem.Unverified, v.what(), "no claim is passed on")
	}
	if d.Plan != nil {
		c.checkPlan(d.Plan, v)
	}
	for i := range d.Rules {
		if s.Rules[i].Mode == rules.Off {
			continue
		}
		if place := rules.InFlight(s.Rules[i].Limits); place >= 0 {
			path, _ := c.paths(i, place)
			c.warn(path, problem.PlaceKept, ruledoc.FormatDuration(s.Rules[i].Limits[place].Window))
		}
		c.checkDeployed(problem.Root("rules").At(i).To("denied"), d.Rules[i].Denied)
		if path, effect := c.withoutCredentials(i, v); effect != "" {
			c.warn(path, problem.Unverified, v.what(), effect)
		}
	}
	return c.warnings
}

// checkDeployed warns about what a REST API does not answer: its gateway response
// has the type and the title of a problem from the authorizer's context.
func (c *checker) checkDeployed(path problem.Path, stated *ruledoc.Denied) {
	if stated == nil {
		return
	}
	rest := *stated
	if rest.Type, rest.Title = "", ""; rest != (ruledoc.Denied{}) && rest != (ruledoc.Denied{Status: ruledoc.DefaultStatus}) {
		c.warn(path, problem.DeployedAnswer)
	}
}

// checkPlan warns if live callers have no plan, or cannot have that of an
// override. The gateway's stage may name a plan: that needs no credentials.
func (c *checker) checkPlan(p *ruledoc.PlanSource, v verified) {
	path := problem.Root("plan")
	fromCredentials := v.lacksSource(p.From)
	switch overrides := p.Overrides != "" && !v.lacksInTemplate(p.Overrides); {
	case (fromCredentials || p.From == "") && !overrides:
		c.warn(path, problem.Unverified, v.what(), "no live caller has a plan")
	case fromCredentials:
		c.warn(path.To("from"), problem.Unverified, v.what(), "a live caller has a plan by an override alone")
	case p.Overrides != "" && !overrides:
		c.warn(path.To("overrides"), problem.Unverified, v.what(), "no override of a plan applies to a live request")
	}
}

// withoutCredentials says what becomes of a rule without the credentials that
// are not verified, and the path of the reason; nothing if it stays as it is.
func (c *checker) withoutCredentials(i int, v verified) (path problem.Path, effect string) {
	r, at := &c.doc.Rules[i], problem.Root("rules").At(i)
	missing, others := v.lacking(r.Key)
	switch {
	case r.When != nil && v.lacksAnyOf(r.When):
		return at.To("when"), "the rule covers no live request"
	case !v.claims && !v.keys && r.When != nil && slices.Contains(r.When.Caller, request.Anonymous) && !slices.Contains(r.When.Caller, request.Known):
		return at.To("when"), "the rule covers live requests with a token or a key too"
	case len(missing) > 0 && others == 0:
		return at.To("key"), "all live callers share one counter, because none has " + ruledoc.Enumerate(missing, "or")
	case len(missing) > 0:
		return at.To("key"), "live requests are counted without " + ruledoc.Enumerate(missing, "and")
	case r.Unless != nil && v.lacksAnyOf(r.Unless):
		return at.To("unless"), "the rule leaves out no live request"
	case r.Overrides != nil && v.lacksInTemplate(r.Overrides.Template):
		return at.To("overrides"), "no override applies to a live request"
	}
	for j := range r.Limits {
		l := &r.Limits[j]
		limitAt, costAt := c.paths(i, j)
		if v.lacksSource(l.Cost.From) {
			return costAt, fmt.Sprintf("every live request costs max, %d", l.Cost.Max)
		}
		if l.Anchor != nil && v.lacksSource(l.Anchor.From) {
			return limitAt.To("anchor"), fmt.Sprintf("months of all live callers start on day %d", max(1, l.Anchor.Day))
		}
	}
	return nil, ""
}

// WithoutCredentials names rules that mean little if no request has verified
// credentials: idle rules cover no request then, and lumped rules count all
// callers together, because the values that distinguish them are missing.
// Credentials of a kind that limiters verify by the document are not missing.
func WithoutCredentials(s *rules.Set) (idle, lumped []string) {
	v := verifiedBy(s.Document())
	for _, r := range s.Document().Rules {
		missing, others := v.lacking(r.Key)
		switch {
		case r.Mode == rules.Off.String():
		case r.When != nil && v.lacksAnyOf(r.When):
			idle = append(idle, r.Name)
		case len(missing) > 0 && others == 0:
			lumped = append(lumped, r.Name)
		}
	}
	return idle, lumped
}

// verified says what live requests have of verified credentials.
type verified struct{ claims, keys bool }

func verifiedBy(d *ruledoc.Document) verified {
	a := d.Authentication
	if a == nil {
		return verified{}
	}
	keys := a.APIKey != nil
	return verified{claims: len(a.JWT) > 0 || keys && a.APIKey.From == "", keys: keys} // API Gateway's keys have no claims
}

// what names the credentials that are not verified, and the field to write.
func (v verified) what() string {
	switch {
	case v.claims:
		return "API keys are not verified without authentication.api_key"
	case v.keys:
		return "tokens are not verified without authentication.jwt"
	}
	return "credentials are not verified without authentication"
}

// lacks reports whether a source is missing in every live request.
func (v verified) lacks(p key.Part) bool {
	return p.Kind == key.FromClaim && !v.claims || p.Kind == key.FromAPIKey && !v.keys
}

// lacksSource is lacks for a source as documents write it.
func (v verified) lacksSource(source string) bool {
	p, _ := key.ParseSource(source)
	return source != "" && v.lacks(p)
}

// lacksAnyOf reports whether a selector covers no live request.
func (v verified) lacksAnyOf(s *ruledoc.Selector) bool {
	for source := range s.Match {
		if v.lacksSource(source) {
			return true
		}
	}
	return !v.claims && !v.keys && len(s.Caller) > 0 && !slices.Contains(s.Caller, request.Anonymous)
}

// lacking returns the sources of a template that live requests lack, and how
// many others it has.
func (v verified) lacking(text string) (names []string, others int) {
	t, _ := key.Parse(text)
	for _, p := range t.Parts {
		switch {
		case v.lacks(p):
			names = append(names, "{"+p.String()+"}")
		case p.Kind != key.Literal:
			others++
		}
	}
	return names, others
}

func (v verified) lacksInTemplate(template string) bool {
	names, _ := v.lacking(template)
	return len(names) > 0
}

// WarnOfLibrary warns that a document names credentials to verify, or GraphQL
// operations to read, which limiters in Go programs do not do.
func WarnOfLibrary(log *slog.Logger, name string, s *rules.Set) {
	WarnOfOperation(log, name, s)
	if s.Document().Authentication != nil {
		log.Warn("slidegate: authentication in the rules has no effect in a Go program: verify credentials before the gate, and pass claims on by WithRequest or in Request.Claims",
			"rules", name)
	}
}

// WarnOfOperation warns that a document reads GraphQL operations, which the
// authorizer of an AppSync API alone sees.
func WarnOfOperation(log *slog.Logger, name string, s *rules.Set) {
	if what := s.ReadsOperation(); what != "" {
		log.Warn("only the authorizer of an AppSync API sees GraphQL operations: no other request has one", "rules", name, "reads", what)
	}
}

// secretName matches names of headers and parameters that hold credentials,
// which anybody who reads a table or a log could use.
var secretName = ruledoc.Regexp(`(?i)(authorization|cookie|password|passwd|passphrase|secret|credentials?|token|jwt|bearer|` +
	`session([-_.]?id)?|sessid|signature|(api|access|auth|app|admin|private|client|functions|subscription)[-_.]?key)\]?$|` +
	`(^|[-_.[])(pwd|pass|pin|otp|sid|sig)\]?$|^(x[-_.])?(key|auth)$`)

// checkSecrets warns about a secret of clients in a template of a rule that does
// not hash its keys. The id of an API key is none.
func (c *checker) checkSecrets(path problem.Path, rule *ruledoc.Rule, template string) {
	t, _ := key.Parse(template)
	isSecret := func(p key.Part) bool { return p.Kind.IsClient() && secretName().MatchString(p.Text) }
	if i := slices.IndexFunc(t.Parts, isSecret); i >= 0 && !rule.Hash {
		c.warn(path, problem.SecretKey, rule.Name, "{"+t.Parts[i].String()+"}")
	}
}
