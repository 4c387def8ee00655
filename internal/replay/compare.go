package replay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// Names that stand for the rule where no rule has denied.
const (
	byDeny      = "deny" // the document's deny, or an override of a caller's plan
	byUnmatched = "unmatched"
	byAmbiguous = "ambiguous_paths"
)

// ErrDegraded ends a comparison in which a store has failed, or an override could not be read: what on_error makes of a
// request says nothing of the rules.
var ErrDegraded = errors.New("a request was decided by on_error")

// Comparison is how recorded requests fare under two sets of rules.
type Comparison struct {
	Extent
	ToDenied  int64        `json:"to_denied"`  // allowed by the current rules and denied by the next
	ToAllowed int64        `json:"to_allowed"` // denied by the current rules and allowed by the next
	Rules     []RuleChange `json:"rules"`      // the most changed first; equals by name
	Keys      []KeyChange  `json:"keys"`       // the ten most changed; equals by rule and key
}

// RuleChange counts the requests that a rule changes: the next set's rule that
// newly denies them, or the current set's rule that no longer does. Denials by
// deny, unmatched or ambiguous_paths count under these names, which no rule has.
type RuleChange struct {
	Rule      string `json:"rule"`
	ToDenied  int64  `json:"to_denied"`
	ToAllowed int64  `json:"to_allowed"`
}

// KeyChange is how many requests of one key a rule has changed.
type KeyChange struct {
	Rule      string `json:"rule"`
	Key       string `json:"key"`
	ToDenied  int64  `json:"to_denied"`
	ToAllowed int64  `json:"to_allowed"`
}

// Compare sends recorded requests through two engines, each with counters of its own, and says which fare otherwise. The
// logs are read once, and each line's own time is the clock of both. progress and warn may be nil.
//
// The comparison is what was done so far, also with an error: the context's own if it ended, ErrUnreadable, ErrDegraded, an
// engine's, or a failure to read a log.
func Compare(ctx context.Context, logs []Log, current, next Decider, progress func(Progress), warn func(string)) (*Comparison, error) {
	c := &comparing{current: current, next: next, changes: map[ruleKey]*KeyChange{}}
	err := newWalk(logs, &c.totals.Extent, progress, warn, c.entry).all(ctx, logs)
	return c.comparison(), err
}

// comparing is a running comparison. It keeps a change for every key for which the
// two engines decided differently.
type comparing struct {
	current, next Decider
	totals        Comparison
	changes       map[ruleKey]*KeyChange // the key is empty for a denial by no rule
}

// entry has both engines decide a request. Each gets its own copy, because an engine changes it.
func (c *comparing) entry(ctx context.Context, e *Entry) error {
	ctx = context.WithoutCancel(ctx)
	same := *e.Request
	before, err := decide(ctx, c.current, e.Time, e.Request)
	if err != nil {
		return err
	}
	after, err := decide(ctx, c.next, e.Time, &same)
	if err != nil {
		return err
	}
	c.count(e.Time, before, after)
	return nil
}

// decide fails for a request that the rules did not decide, also for shadow rules:
// their failures would slow down the rest of the log.
func decide(ctx context.Context, by Decider, now time.Time, req *request.Request) (*engine.Decision, error) {
	d, err := by.Decide(ctx, now, req)
	if err == nil && (d.Degraded || slices.ContainsFunc(d.Shadows, func(v engine.Verdict) bool { return v.Degraded })) {
		err = ErrDegraded
	}
	return d, err
}

func (c *comparing) count(at time.Time, before, after *engine.Decision) {
	t := &c.totals
	t.Extent.count(at)
	switch {
	case before.Allowed && !after.Allowed:
		t.ToDenied++
		c.change(after).ToDenied++
	case !before.Allowed && after.Allowed:
		t.ToAllowed++
		c.change(before).ToAllowed++
	}
}

// change returns the change of the rule and key that deny.
func (c *comparing) change(denial *engine.Decision) *KeyChange {
	by := ruleKey{rule: byUnmatched}
	switch {
	case len(denial.Verdicts) > 0:
		by = ruleKey{denial.Verdicts[0].Rule.Name, denial.Verdicts[0].Key}
	case denial.Reason == engine.Banned:
		by.rule = byDeny
	case denial.Reason == engine.Ambiguous:
		by.rule = byAmbiguous
	}
	if c.changes[by] == nil {
		c.changes[by] = &KeyChange{Rule: by.rule, Key: by.key}
	}
	return c.changes[by]
}

func (c *comparing) comparison() *Comparison {
	t := c.totals
	byRule := map[string]RuleChange{}
	for _, n := range c.changes {
		of := byRule[n.Rule]
		byRule[n.Rule] = RuleChange{n.Rule, of.ToDenied + n.ToDenied, of.ToAllowed + n.ToAllowed}
		if n.Key != "" {
			t.Keys = append(t.Keys, *n)
		}
	}
	t.Rules = slices.AppendSeq(t.Rules, maps.Values(byRule))
	slices.SortFunc(t.Rules, func(a, b RuleChange) int {
		return cmp.Or(cmp.Compare(b.ToDenied+b.ToAllowed, a.ToDenied+a.ToAllowed), cmp.Compare(a.Rule, b.Rule))
	})
	slices.SortFunc(t.Keys, func(a, b KeyChange) int {
		return cmp.Or(cmp.Compare(b.ToDenied+b.ToAllowed, a.ToDenied+a.ToAllowed), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key))
	})
	t.Keys = t.Keys[:min(topKeys, len(t.Keys))]
	return &t
}
