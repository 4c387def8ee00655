package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

// ListedOverride is one override of a list. An import takes its key and its
// document.
type ListedOverride struct {
	Key      string        `json:"key"`
	Document string        `json:"document,omitempty"`
	Ended    bool          `json:"ended,omitempty"`  // neither the document nor a grant is in force any more
	Unused   string        `json:"unused,omitempty"` // why no request looks the key up
	Error    string        `json:"error,omitempty"`  // the document cannot be read
	Grants   []GrantReport `json:"grants,omitempty"`
	Who      string        `json:"who"`
	When     time.Time     `json:"when"`
	Why      string        `json:"why"`

	Override *OverrideReport `json:"-"`
}

// ListOptions select the overrides to list.
type ListOptions struct {
	Table  string
	Rule   string // or rules.PlanOverrides
	Prefix string // of the keys, as they are listed
	Limit  int    // 0 for all
}

// overrideList is what was listed of a rule.
type overrideList struct {
	*ListOptions
	set                        *rules.Set
	listed, unreadable, unused int
	reason                     string // why the first unused one is not looked up
}

// ListOverrides passes the overrides of a rule to show, in the order of their
// keys, each as soon as it is read. The listener hears what the list leaves out.
func ListOverrides(ctx context.Context, o *ListOptions, listener Listener, show func(*ListedOverride) error) error {
	table, set, err := session.OpenRules(ctx, o.Table)
	if err != nil {
		return err
	}
	l, now := overrideList{ListOptions: o, set: set}, time.Now()
	for stored, err := range table.Overrides(ctx, o.Rule, o.Prefix) {
		if errors.Is(err, ruletable.ErrUnreadable) {
			l.unreadable++
			listener.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if err := show(l.report(stored, now)); err != nil {
			return err
		}
		if l.listed++; l.listed == o.Limit {
			break
		}
	}
	return l.conclude(listener)
}

func (l *overrideList) report(o *ruletable.Override, now time.Time) *ListedOverride {
	report := &ListedOverride{Key: o.Key, Document: o.Document, Who: o.Who, When: o.When, Why: o.Why, Unused: Unused(l.set, l.Rule, o.Key)}
	if report.Unused != "" {
		l.unused++
		l.reason = cmp.Or(l.reason, report.Unused)
	}
	report.Override = &OverrideReport{From: fromTable}
	report.Override.addNote(&o.Note)
	parsed, err := parseStored(o)
	if err != nil {
		report.Error = err.Error()
	} else {
		report.Override.addTerms(parsed, now)
		report.Override.addGrants(o.Grants, now)
		report.Grants, report.Ended = report.Override.Grants, report.Override.ended()
	}
	return report
}

// conclude reports what the list does not show.
func (l *overrideList) conclude(listener Listener) error {
	gone := checkOverrideRule(l.set, l.Rule)
	switch {
	case gone == nil && l.set.OverridesHashed(l.Rule) && l.Prefix != "" && !strings.HasPrefix(l.Prefix, "%"):
		listener.Note("no prefix such as %s finds overrides of %s, whose keys are hashed; `slidegate overrides get %s KEY` finds one",
			text.Printable(l.Prefix), l.Rule, l.Rule)
	case l.listed+l.unreadable > 0:
	case gone != nil:
		return gone
	case l.Prefix != "":
		listener.Note("the table holds no overrides of %s whose keys begin with %s", l.Rule, text.Printable(l.Prefix))
	default:
		listener.Note("the table holds no overrides of %s", l.Rule)
	}
	if l.unused > 0 {
		listener.Warn("no request looks up %s of these, the first because %s", text.Thousands(l.unused), l.reason)
	}
	if n := len(l.set.Document().Overrides[l.Rule]); n > 0 {
		listener.Note("the rules themselves hold %s besides", text.Plural(n, "override"))
	}
	if l.unreadable > 0 {
		return fmt.Errorf("%s cannot be read; `slidegate overrides delete` removes them", text.Plural(l.unreadable, "override"))
	}
	return nil
}
