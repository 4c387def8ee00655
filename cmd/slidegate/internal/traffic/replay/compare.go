package replay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// ErrDegraded ends a comparison if a store has failed, or an override could not
// be read: a decision by on_error says nothing of the rules.
var ErrDegraded = errors.New("a request was decided by on_error")

// Comparison says which recorded requests two sets of rules decide differently.
type Comparison struct {
	logs.Extent
	ToDenied  int64    `json:"to_denied"`  // allowed by the current rules and denied by the next
	ToAllowed int64    `json:"to_allowed"` // denied by the current rules and allowed by the next
	Rules     []Change `json:"rules"`      // the most changed first; equals by name
	Keys      []Change `json:"keys"`       // the ten most changed; equals by rule and key
	Next      *Report  `json:"-"`          // of the next rules
}

// Change counts the requests that a rule decides differently: the next set's
// rule that newly denies them, or the current set's rule that no longer does.
// Denials by deny, unmatched or ambiguous_paths count under these names, which
// no rule has.
type Change struct {
	Rule      string `json:"rule"`
	Key       string `json:"key,omitempty"` // empty for all keys
	ToDenied  int64  `json:"to_denied"`
	ToAllowed int64  `json:"to_allowed"`
}

// Compare sends recorded requests through two engines, each with counters of
// its own. It reads the logs once, and the time of each line is the clock of
// both.
//
// The comparison is what was done so far, also with an error: the context's own
// if it ended, ErrUnreadable, ErrDegraded, an engine's, or a failure to read a
// log. nextRules are those of the engine next.
func Compare(ctx context.Context, t *logs.Traffic, current, next Decider, nextRules *rules.Set) (*Comparison, error) {
	c := comparing{changes: map[ruleKey]*Change{}, next: newTally(nextRules)}
	err := t.Each(ctx, &c.totals.Extent, func(ctx context.Context, e *logs.Entry) error {
		same := *e.Request // an engine changes its request
		before, err := decide(ctx, current, e.Time, e.Request)
		if err != nil {
			return err
		}
		after, err := decide(ctx, next, e.Time, &same)
		if err == nil {
			next := &logs.Entry{Time: e.Time, Request: &same, Status: e.Status}
			c.count(next, before, after)
			c.next.count(next, after)
		}
		return err
	})
	return c.comparison(), err
}

// decide fails for a request that the rules did not decide, also for shadow
// rules: their failures would slow down the rest of the log.
func decide(ctx context.Context, by Decider, now time.Time, req *request.Request) (*engine.Decision, error) {
	d, err := by.Decide(context.WithoutCancel(ctx), now, req)
	if err == nil && (d.Degraded || slices.ContainsFunc(d.Shadows, func(v engine.Verdict) bool { return v.Degraded })) {
		err = ErrDegraded
	}
	return d, err
}

// comparing is a running comparison. It keeps a change for every key for which
// the two engines decided differently.
type comparing struct {
	totals  Comparison
	next    tally
	changes map[ruleKey]*Change // the key is empty for a denial by no rule
}

func (c *comparing) count(e *logs.Entry, before, after *engine.Decision) {
	t := &c.totals
	t.Extent.Count(e)
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
func (c *comparing) change(denial *engine.Decision) *Change {
	by := ruleKey{rule: "unmatched"}
	switch {
	case len(denial.Verdicts) > 0:
		by = ruleKey{denial.Verdicts[0].Rule.Name, denial.Verdicts[0].Key}
	case denial.Reason == engine.Banned:
		by.rule = "deny" // the document's, or that of an override of a caller's plan
	case denial.Reason == engine.Ambiguous:
		by.rule = "ambiguous_paths"
	}
	if c.changes[by] == nil {
		c.changes[by] = &Change{Rule: by.rule, Key: by.key}
	}
	return c.changes[by]
}

func (c *comparing) comparison() *Comparison {
	t := c.totals
	t.Next = c.next.report()
	byRule := map[string]Change{}
	for _, n := range c.changes {
		sum := byRule[n.Rule]
		byRule[n.Rule] = Change{n.Rule, "", sum.ToDenied + n.ToDenied, sum.ToAllowed + n.ToAllowed}
		if n.Key != "" {
			t.Keys = append(t.Keys, *n)
		}
	}
	mostChanged := func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.ToDenied+b.ToAllowed, a.ToDenied+a.ToAllowed), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key))
	}
	t.Rules = slices.SortedFunc(maps.Values(byRule), mostChanged)
	slices.SortFunc(t.Keys, mostChanged)
	t.Keys = t.Keys[:min(topKeys, len(t.Keys))]
	return &t
}
