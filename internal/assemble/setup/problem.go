package setup

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules"
)

// LimitErrors joins what is wrong with the name and the limits of a limiter.
func LimitErrors(problems []problem.Problem, limits []rules.GoLimit) error {
	if err := zeroLimit(limits); err != nil {
		return err
	}
	return problem.Program{Limiter: true, Limit: func(_, i int) string { return limits[i].String() }}.Join(problems)
}

// RuleErrors joins what is wrong with the rules of a gate, which have these
// limits.
func RuleErrors(problems []problem.Problem, limits [][]rules.GoLimit) error {
	for i := range limits {
		if err := zeroLimit(limits[i]); err != nil {
			return fmt.Errorf("%s: %w", RulePath(i), err)
		}
	}
	return ofRules(limits).Join(problems)
}

// Warning returns a warning about the rules of a gate.
func Warning(w problem.Problem, limits [][]rules.GoLimit) string { return ofRules(limits).Text(w) }

func ofRules(limits [][]rules.GoLimit) problem.Program {
	return problem.Program{Limit: func(rule, i int) string { return limits[rule][i].String() }}
}

// RulePath returns the path of a rule in Rules.
func RulePath(i int) string { return fmt.Sprintf("Rules[%d]", i) }

// zeroLimit returns an error about the first limit that no constructor made.
func zeroLimit(limits []rules.GoLimit) error {
	for i := range limits {
		if limits[i].Call == "" {
			return fmt.Errorf("limit %d is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind", i+1)
		}
	}
	return nil
}
