package rules

import "slices"

// WithoutCredentials says what becomes of rules where no request has verified credentials: idle ones cover no request then,
// and lumped ones count all callers as one, because what their key tells callers apart by is always missing.
func (s *Set) WithoutCredentials() (idle, lumped []string) {
	for _, r := range s.Rules {
		switch {
		case r.Mode == Off:
		case r.when.callers != 0 && r.when.callers&anonymous == 0, slices.ContainsFunc(r.when.match, condition.ofCredentials):
			idle = append(idle, r.Name)
		case r.template.ofCredentialsAlone():
			lumped = append(lumped, r.Name)
		}
	}
	return idle, lumped
}

// ofCredentialsAlone reports whether keys tell callers apart, and by nothing but their credentials.
func (t *template) ofCredentialsAlone() bool {
	other := func(p part) bool { return p.source != literal && !p.ofCredentials() }
	return slices.ContainsFunc(t.parts, part.ofCredentials) && !slices.ContainsFunc(t.parts, other)
}

func (c condition) ofCredentials() bool { return c.part.ofCredentials() }

func (p part) ofCredentials() bool { return p.source == fromClaim || p.source == fromAPIKey }
