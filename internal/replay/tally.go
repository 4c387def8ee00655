package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
)

// topKeys is how many of the most denied keys a report names.
const topKeys = 10

// Report is what came of a replay.
type Report struct {
	Requests     int64 // read and judged: allowed and denied
	Allowed      int64
	Denied       int64
	Degraded     int64 // requests for which a store did not answer and on_error decided
	Delayed      int64 // allowed requests that a leaky bucket would hold back; a replay does not wait for their turns
	Skipped      int64 // lines that could not be read
	FirstSkipped *LineError
	Rules        []RuleTotal // in the order of the rules
	TopDenied    []KeyTotal  // the most denied first; equals by rule and key
	First, Last  time.Time   // the earliest and the latest request
	Elapsed      time.Duration
}

// RuleTotal is what came of the requests that one rule covers. Of a denied request only the denying rule knows.
type RuleTotal struct {
	Rule            string
	Allowed, Denied int64
}

// KeyTotal is how often a key was denied.
type KeyTotal struct {
	Rule, Key string
	Denied    int64
}

// tally adds up decisions. It holds a number for every key that was ever denied.
type tally struct {
	totals Report
	index  map[string]int // of a rule in totals.Rules
	denied map[ruleKey]int64
}

type ruleKey struct{ rule, key string }

func newTally(rules []string) tally {
	t := tally{index: map[string]int{}, denied: map[ruleKey]int64{}}
	for _, name := range rules {
		t.rule(name)
	}
	return t
}

func (t *tally) rule(name string) *RuleTotal {
	i, ok := t.index[name]
	if !ok {
		i = len(t.totals.Rules)
		t.index[name] = i
		t.totals.Rules = append(t.totals.Rules, RuleTotal{Rule: name})
	}
	return &t.totals.Rules[i]
}

func (t *tally) skip(err *LineError) {
	if t.totals.Skipped++; t.totals.FirstSkipped == nil {
		t.totals.FirstSkipped = err
	}
}

func (t *tally) count(e *Entry, d *engine.Decision) {
	r := &t.totals
	if r.Requests++; r.Requests == 1 || e.Time.Before(r.First) {
		r.First = e.Time
	}
	if r.Requests == 1 || e.Time.After(r.Last) {
		r.Last = e.Time
	}
	if d.Degraded {
		r.Degraded++
	}
	if d.Delay > 0 {
		r.Delayed++
	}
	if d.Allowed {
		r.Allowed++
	} else {
		r.Denied++
	}
	for i := range d.Verdicts {
		t.verdict(&d.Verdicts[i])
	}
}

func (t *tally) verdict(v *engine.Verdict) {
	if v.Allowed {
		t.rule(v.Rule.Name).Allowed++
		return
	}
	t.rule(v.Rule.Name).Denied++
	t.denied[ruleKey{v.Rule.Name, v.Key}]++
}

func (t *tally) report() *Report {
	r := t.totals
	r.TopDenied = make([]KeyTotal, 0, len(t.denied))
	for k, n := range t.denied {
		r.TopDenied = append(r.TopDenied, KeyTotal{k.rule, k.key, n})
	}
	slices.SortFunc(r.TopDenied, func(a, b KeyTotal) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key))
	})
	r.TopDenied = r.TopDenied[:min(topKeys, len(r.TopDenied))]
	return &r
}
