package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rules"
)

// WithoutCredentials names rules that mean little if no request has verified
// credentials: idle rules cover no request then, and lumped rules count all
// callers together, because what tells callers apart is always missing.
func WithoutCredentials(s *rules.Set) (idle, lumped []string) {
	for _, r := range s.Document().Rules {
		needs := r.When != nil && (len(r.When.Caller) > 0 && !slices.Contains(r.When.Caller, "anonymous"))
		if r.When != nil {
			for source := range r.When.Match {
				needs = needs || ofCredentials(source)
			}
		}
		switch {
		case r.Mode == rules.Off.String():
		case needs:
			idle = append(idle, r.Name)
		case ofCredentialsAlone(r.Key):
			lumped = append(lumped, r.Name)
		}
	}
	return idle, lumped
}

var source = regexp.MustCompile(`\{[^{}]*\}`)

// ofCredentialsAlone reports whether the keys of a template tell callers apart
// by nothing but their credentials.
func ofCredentialsAlone(key string) bool {
	sources := source.FindAllString(key, -1)
	other := func(s string) bool { return !ofCredentials(strings.Trim(s, "{}")) }
	return len(sources) > 0 && !slices.ContainsFunc(sources, other)
}

func ofCredentials(source string) bool {
	return source == "apikey" || strings.HasPrefix(source, "jwt.")
}
