package lint

import (
	"slices"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// WithoutCredentials names rules that mean little if no request has verified
// credentials: idle rules cover no request then, and lumped rules count all
// callers together, because the values that distinguish them are missing.
func WithoutCredentials(s *rules.Set) (idle, lumped []string) {
	for _, r := range s.Document().Rules {
		template, _ := key.Parse(r.Key)
		sources := slices.DeleteFunc(template.Parts, func(p key.Part) bool { return p.Kind == key.Literal })
		switch {
		case r.Mode == rules.Off.String():
		case r.When != nil && needsCredentials(r.When):
			idle = append(idle, r.Name)
		case len(sources) > 0 && !slices.ContainsFunc(sources, func(p key.Part) bool { return !p.OfCredentials() }):
			lumped = append(lumped, r.Name)
		}
	}
	return idle, lumped
}

func needsCredentials(s *ruledoc.Selector) bool {
	for source := range s.Match {
		if p, _ := key.ParseSource(source); p.OfCredentials() {
			return true
		}
	}
	return len(s.Caller) > 0 && !slices.Contains(s.Caller, request.Anonymous)
}
