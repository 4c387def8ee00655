package rules

import "slices"

// WithoutCredentials says what becomes of rules where no request has verified credentials: idle ones cover no request then,
// and lumped ones count all callers as one, because a part of their key is always missing.
func (s *Set) WithoutCredentials() (idle, lumped []string) {
	for _, r := range s.Rules {
		switch {
		case r.Mode == Off:
		case r.when.callers != 0 && r.when.callers&anonymous == 0, slices.ContainsFunc(r.when.match, condition.ofCredentials):
			idle = append(idle, r.Name)
		case slices.ContainsFunc(r.template.parts, part.ofCredentials):
			lumped = append(lumped, r.Name)
		}
	}
	return idle, lumped
}

func (c condition) ofCredentials() bool { return c.part.ofCredentials() }

func (p part) ofCredentials() bool { return p.source == fromClaim || p.source == fromAPIKey }
