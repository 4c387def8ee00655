package session

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
)

// Warnings returns what the rules in force are warned of, and which of their
// fields have no effect on the counters of this session.
func (s *Session) Warnings() []string {
	all := slices.Clone(s.Rules.Warnings)
	if s.CountersTable != "" {
		return all
	}
	for _, r := range s.Rules.Rules {
		if r.Lease > 0 && r.Mode != rules.Off {
			all = append(all, fmt.Sprintf("lease of rule %s has no effect: only counters in DynamoDB are charged ahead", r.Name))
		}
	}
	return all
}

// withWarnings adds warnings to rules of a table, which stores none.
func withWarnings(prepare app.Prepare) app.Prepare {
	return func(name string, set *rules.Set) error {
		for _, p := range lint.Check(set.Document(), set) {
			set.Warnings = append(set.Warnings, name+": "+p.String())
		}
		return prepare(name, set)
	}
}
