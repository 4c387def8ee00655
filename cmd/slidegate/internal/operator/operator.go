// Package operator does what several of Slidegate's commands do, and serve: it
// explains decisions, looks into counters, replays traffic and describes overrides.
// Its functions return reports, whose JSON is what --json prints.
package operator

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/rules"
)

// Listener receives messages and progress while a command runs.
type Listener interface {
	Note(format string, args ...any)
	Warn(format string, args ...any)
	Progress() Progress
}

// Progress shows how much of a long task is done. A total of 0 is not known.
type Progress interface {
	Log(at logs.Progress)
	Count(done, total int, things string)
	Clear()
}

// RuleNamed returns a rule, or an error that names those there are.
func RuleNamed(set *rules.Set, name string) (*rules.Rule, error) {
	if rule, ok := set.Rule(name); ok {
		return rule, nil
	}
	return nil, fmt.Errorf("%w %q: the rules are %s", rules.ErrNoRule, name, strings.Join(RuleNames(set), ", "))
}

// RuleNames returns the names of the rules in their order.
func RuleNames(set *rules.Set) []string {
	names := make([]string, len(set.Rules))
	for i, r := range set.Rules {
		names[i] = r.Name
	}
	return names
}

// OneLine joins the lines of an error, which is part of a longer message.
func OneLine(err error) string { return text.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// CheckOverrideRule refuses a name that is no rule and not rules.PlanOverrides.
func CheckOverrideRule(set *rules.Set, name string) error {
	if name == rules.PlanOverrides {
		return nil
	}
	_, err := RuleNamed(set, name)
	return err
}
