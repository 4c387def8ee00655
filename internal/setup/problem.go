package setup

import (
	"cmp"
	"fmt"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// LimitErrors joins what is wrong with the name and the limits of a limiter.
func LimitErrors(problems []problem.Problem, limits []ruledoc.Limit) error {
	if err := zeroLimit(limits); err != nil {
		return err
	}
	return problem.Program{Limiter: true, Limit: func(_, i int) string { return LimitText(&limits[i]) }}.Join(problems)
}

// RuleErrors joins what is wrong with the rules of a gate.
func RuleErrors(problems []problem.Problem, all []ruledoc.Rule) error {
	for i := range all {
		if err := zeroLimit(all[i].Limits); err != nil {
			return fmt.Errorf("%s: %w", RulePath(i), err)
		}
	}
	return ofRules(all).Join(problems)
}

// Warning returns a warning about the rules of a gate.
func Warning(w problem.Problem, all []ruledoc.Rule) string { return ofRules(all).Text(w) }

func ofRules(all []ruledoc.Rule) problem.Program {
	return problem.Program{Limit: func(rule, i int) string { return LimitText(&all[rule].Limits[i]) }}
}

// RulePath returns the path of a rule in Rules.
func RulePath(i int) string { return fmt.Sprintf("Rules[%d]", i) }

// zeroLimit returns an error about the first limit that no constructor made.
func zeroLimit(limits []ruledoc.Limit) error {
	for i := range limits {
		if limits[i].Algorithm == "" {
			return fmt.Errorf("limit %d is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind", i+1)
		}
	}
	return nil
}

// Constructors are the names of the functions that make limits.
var Constructors = [...]string{
	limit.SlidingWindow: "SlidingWindow", limit.FixedWindow: "FixedWindow", limit.SlidingWindowCounter: "SlidingWindowCounter",
	limit.SlidingWindowLog: "SlidingLog", limit.TokenBucket: "TokenBucket", limit.LeakyBucket: "LeakyBucket",
}

// LimitText returns the call that makes a limit, such as
// "SlidingWindow(100, 1m)".
func LimitText(l *ruledoc.Limit) string {
	algorithm, ok := limit.ParseAlgorithm(l.Algorithm)
	if !ok {
		return "Limit{}"
	}
	call := fmt.Sprintf("%s(%d, %s)", Constructors[algorithm], l.Capacity, l.Window)
	switch {
	case algorithm == limit.TokenBucket || algorithm == limit.LeakyBucket:
		call = fmt.Sprintf("%s(%d, %s, %d)", Constructors[algorithm], l.Capacity, l.Window, cmp.Or(l.Burst, l.Queue))
	case l.Timezone != "":
		per := map[string]string{"1d": "PerDay", "1w": "PerWeek", "1mo": "PerMonth"}
		call = fmt.Sprintf("%s(%d, %s)", per[l.Window], l.Capacity, l.Timezone)
	}
	if l.Granularity != "" {
		call += fmt.Sprintf(".WithSlots(%s)", l.Granularity)
	}
	if l.Anchor != nil {
		call += fmt.Sprintf(".WithAnchor(%d)", l.Anchor.Day)
	}
	if l.Name != "" {
		call += fmt.Sprintf(".WithName(%q)", l.Name)
	}
	return call
}
