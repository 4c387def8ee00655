package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

const (
	// misfitsRead is how many overrides of each rule are looked at: there may be billions.
	misfitsRead = 1000
	// misfitsShown is how many are named.
	misfitsShown = 20
)

// misfits are overrides set by command that do not fit new rules. They stay in the table, and what does not fit of them is
// left out of decisions.
type misfits struct {
	Count     int      `json:"count"`
	Overrides []misfit `json:"overrides"` // the first of them
	// Unread are the rules with so many overrides that not all were looked at.
	Unread []string `json:"unread"`
}

type misfit struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// suspects are the rules whose overrides may no longer fit: those that have changed, come or gone.
func suspects(changes []ruledoc.Change) (names []string) {
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

// findMisfits looks at the first overrides of each of some rules, which next is to have in the place of old.
func findMisfits(ctx context.Context, table *ruletable.Table, old, next *rules.Set, names []string) (*misfits, error) {
	found := &misfits{Overrides: []misfit{}, Unread: []string{}}
	for _, name := range names {
		read := 0
		for stored, err := range table.Overrides(ctx, name, "") {
			if read++; read > misfitsRead {
				found.Unread = append(found.Unread, name)
				break
			}
			if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
				return nil, err
			}
			found.look(old, next, name, stored, err)
		}
	}
	return found, nil
}

// look takes in an override if it does not fit, or cannot be read.
func (m *misfits) look(old, next *rules.Set, rule string, stored *ruletable.Override, err error) {
	one := misfit{Rule: rule}
	if stored != nil {
		one.Key = stored.Key
	}
	if err == nil {
		err = fits(old, next, stored)
	}
	if err == nil {
		return
	}
	if m.Count++; m.Count <= misfitsShown {
		one.Reason = plainText(strings.ReplaceAll(err.Error(), "\n", "; "))
		m.Overrides = append(m.Overrides, one)
	}
}

func fits(old, next *rules.Set, stored *ruletable.Override) error {
	o, err := parseStored(stored)
	if err != nil {
		return err
	}
	if next.Rehashed(old, stored.Rule, stored.Key) {
		return errRehashed
	}
	return next.CheckOverride(stored.Rule, stored.Key, o)
}

var errRehashed = errors.New("its key is a hash, and found only if these rules have made it: by their secret, of a key of their form")

func (m *misfits) print(p *printer) {
	var rows [][]string
	for _, one := range m.Overrides {
		rows = append(rows, []string{one.Rule, plainText(one.Key), one.Reason})
	}
	if more := m.Count - len(m.Overrides); more > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("and %s more", thousands(int64(more))), ""})
	}
	p.section("lll", []string{"rule", "override that does not fit", "because"}, rows)
	for _, rule := range m.Unread {
		p.line("rule %s has more than %s overrides: the others were not looked at", rule, thousands(misfitsRead))
	}
}
