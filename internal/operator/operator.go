// Package operator does what Slidegate's commands do: it publishes and compares
// rules, changes overrides, and looks into counters. Its functions take options
// and return reports, whose JSON is what --json prints. They print nothing.
package operator

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	lookTime = session.LookTime
	// publishTime bounds a change of a table: a document may be large and a line
	// slow.
	publishTime = 30 * time.Second
)

// Listener receives messages and progress while a command runs.
type Listener interface {
	Note(format string, args ...any)
	Warn(format string, args ...any)
	Progress() Progress
}

// Progress shows how much of a long task is done. A size or total of 0 is not
// known.
type Progress interface {
	Log(requests, read, size int64, at time.Time)
	Count(done, total int, things string)
	Clear()
}

// ruleNamed returns a rule, or an error that names those there are.
func ruleNamed(set *rules.Set, name string) (*rules.Rule, error) {
	if rule, ok := set.Rule(name); ok {
		return rule, nil
	}
	return nil, fmt.Errorf("there is no rule %q: the rules are %s", name, strings.Join(ruleNames(set), ", "))
}

func ruleNames(set *rules.Set) []string {
	names := make([]string, len(set.Rules))
	for i, r := range set.Rules {
		names[i] = r.Name
	}
	return names
}

// checkOverrideRule refuses a name that is no rule and not rules.PlanOverrides.
func checkOverrideRule(set *rules.Set, name string) error {
	if name == rules.PlanOverrides {
		return nil
	}
	_, err := ruleNamed(set, name)
	return err
}

// Errors are several things that are wrong, each to be printed on a line.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

// withPrefix puts a prefix before an error, or before each of several that were
// joined.
func withPrefix(prefix string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s%w", prefix, err)
	}
	var several Errors
	for _, e := range joined.Unwrap() {
		several = append(several, fmt.Errorf("%s%w", prefix, e))
	}
	return several
}
