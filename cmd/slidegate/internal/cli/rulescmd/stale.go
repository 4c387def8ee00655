package rulescmd

import (
	"context"
	"errors"
	"slices"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	// StaleRead is how many overrides of each rule are checked: there may be
	// billions.
	StaleRead = 1000
	// StaleShown is how many stale overrides are named.
	StaleShown = 20
)

// StaleReport lists overrides set by command that do not fit new rules. They
// stay in the table, and decisions leave out what does not fit.
type StaleReport struct {
	Count     int             `json:"count"`
	Overrides []StaleOverride `json:"overrides"` // the first of them
	// Unread are rules with so many overrides that not all were checked.
	Unread []string `json:"unread"`
}

// StaleOverride is an override that does not fit, and why.
type StaleOverride struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// changedRules are the rules whose overrides may no longer fit.
func changedRules(changes []ruledoc.Change) (names []string) {
	for _, change := range changes {
		name := change.Rule
		if name == "" { // plans may have changed
			name = rules.PlanOverrides
		}
		if change.Kind != ruledoc.Moved && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// findStale checks the first overrides of each of some rules against the next
// rules. old are the rules in force; nil if they are not valid.
func findStale(ctx context.Context, table *ruletable.Table, old, next *rules.Set, names []string) (*StaleReport, error) {
	found := &StaleReport{Overrides: []StaleOverride{}, Unread: []string{}}
	for _, name := range names {
		read := 0
		for stored, err := range table.Overrides(ctx, name, "") {
			if read++; read > StaleRead {
				found.Unread = append(found.Unread, name)
				break
			}
			one := StaleOverride{Rule: name}
			switch {
			case err == nil:
				one.Key, err = stored.Key, fits(old, next, stored)
			case !errors.Is(err, ruletable.ErrUnreadable):
				return nil, err
			}
			if err == nil {
				continue
			}
			if found.Count++; found.Count <= StaleShown {
				one.Reason = operator.OneLine(err)
				found.Overrides = append(found.Overrides, one)
			}
		}
	}
	return found, nil
}

func fits(old, next *rules.Set, stored *ruletable.Override) error {
	o, err := operator.ParseStored(stored)
	if err != nil {
		return err
	}
	if next.Rehashed(old, stored.Rule, stored.Key) {
		return errors.New("its key is a hash, and found only if these rules have made it: by their secret, of a key of their form")
	}
	return next.CheckOverride(stored.Rule, stored.Key, o)
}
