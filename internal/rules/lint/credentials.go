package lint

import (
	"log/slog"
	"slices"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

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

// WarnOfLibrary warns that a document names credentials to verify, which limiters
// in Go programs do not do.
func WarnOfLibrary(log *slog.Logger, name string, s *rules.Set) {
	if s.Document().Authentication != nil {
		log.Warn("slidegate: authentication in the rules has no effect in a Go program: verify credentials before the gate, and pass claims on by WithRequest or in Request.Claims",
			"rules", name)
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
