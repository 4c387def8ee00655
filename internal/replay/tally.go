package replay

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// topKeys is how many of the most denied keys a report names.
const topKeys = 10

// Report is the totals of a replay.
type Report struct {
	Extent                     // each of its requests was allowed or denied
	Allowed    int64           `json:"allowed"`
	Denied     int64           `json:"denied"`
	Exempt     int64           `json:"exempt"`               // allowed: a preflight, or skip, a plan or an override lifts all limits
	Banned     int64           `json:"banned"`               // denied by deny or an override, whatever the limits say
	Ambiguous  int64           `json:"ambiguous"`            // denied: servers may read their path in several ways
	WouldDeny  int64           `json:"would_deny"`           // allowed requests that a shadow rule would have denied
	Degraded   int64           `json:"degraded"`             // requests that on_error decided
	Delayed    int64           `json:"delayed"`              // allowed requests that a leaky bucket would hold for a while
	Rules      RuleTotals      `json:"rules"`                // in the order of the rules
	Candidates CandidateTotals `json:"candidates,omitempty"` // in the order of the rules and their limits
	TopDenied  []KeyTotal      `json:"top_denied"`           // the most denied first; equals by rule and key
	Elapsed    float64         `json:"elapsed_s"`
	Reads      *int64          `json:"reads,omitempty"` // of DynamoDB; nil for other stores
	Writes     *int64          `json:"writes,omitempty"`
}

// RuleTotal counts a rule's verdicts on the requests that it covers and limits.
// Of a denied request only the denying rule has one.
type RuleTotal struct {
	Rule            string
	Mode            rules.Mode
	Allowed, Denied int64
	WouldDeny       int64 // of a shadow rule, which denies nothing
}

// RuleTotals are the totals of several rules. Their JSON is an object by rule.
type RuleTotals []*RuleTotal

// MarshalJSON leaves out what only shadow rules have.
func (all RuleTotals) MarshalJSON() ([]byte, error) {
	type total struct {
		Allowed   int64  `json:"allowed"`
		Denied    int64  `json:"denied"`
		Mode      string `json:"mode,omitempty"` // empty for enforce
		WouldDeny *int64 `json:"would_deny,omitempty"`
	}
	byRule := map[string]total{}
	for _, r := range all {
		t := total{Allowed: r.Allowed, Denied: r.Denied}
		if r.Mode != rules.Enforce {
			t.Mode = r.Mode.String()
		}
		if r.Mode == rules.Shadow {
			t.WouldDeny = &r.WouldDeny
		}
		byRule[r.Rule] = t
	}
	return json.Marshal(byRule)
}

// CandidateTotal counts what a candidate capacity would have changed.
type CandidateTotal struct {
	Limit      string `json:"-"`           // as clients know it, "rule" or "rule.limit"
	WouldDeny  int64  `json:"would_deny"`  // of requests that were allowed
	WouldAllow int64  `json:"would_allow"` // of requests that this limit denied
}

// CandidateTotals are the totals of several limits. Their JSON is an object by
// limit.
type CandidateTotals []*CandidateTotal

// MarshalJSON implements json.Marshaler.
func (all CandidateTotals) MarshalJSON() ([]byte, error) {
	byLimit := map[string]*CandidateTotal{}
	for _, c := range all {
		byLimit[c.Limit] = c
	}
	return json.Marshal(byLimit)
}

// KeyTotal is how often a key was denied.
type KeyTotal struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Denied int64  `json:"denied"`
}

// tally adds up decisions. It has a number for every key that was ever denied.
type tally struct {
	totals     Report
	rules      map[string]*RuleTotal      // of totals.Rules
	candidates map[string]*CandidateTotal // of totals.Candidates
	denied     map[ruleKey]int64
}

type ruleKey struct{ rule, key string }

// newTally returns a tally with a row for each rule that is not off, before any
// request matches it.
func newTally(all []*rules.Rule) tally {
	t := tally{rules: map[string]*RuleTotal{}, candidates: map[string]*CandidateTotal{}, denied: map[ruleKey]int64{}}
	for _, r := range all {
		if r.Mode == rules.Off {
			continue
		}
		t.rule(r)
		own := engine.Verdict{Resolution: engine.Resolution{Rule: r, Terms: &rules.Terms{Limits: r.Limits}}}
		for i, c := range r.Candidates {
			if c != (rules.Candidate{}) {
				t.candidate(own.PolicyName(i))
			}
		}
	}
	return t
}

func (t *tally) rule(r *rules.Rule) *RuleTotal {
	total := t.rules[r.Name]
	if total == nil {
		total = &RuleTotal{Rule: r.Name, Mode: r.Mode}
		t.rules[r.Name] = total
		t.totals.Rules = append(t.totals.Rules, total)
	}
	return total
}

func (t *tally) candidate(limit string) *CandidateTotal {
	total := t.candidates[limit]
	if total == nil {
		total = &CandidateTotal{Limit: limit}
		t.candidates[limit] = total
		t.totals.Candidates = append(t.totals.Candidates, total)
	}
	return total
}

func (t *tally) count(e *Entry, d *engine.Decision) {
	r := &t.totals
	r.Extent.count(e.Time)
	add := func(n *int64, when bool) {
		if when {
			*n++
		}
	}
	add(&r.Allowed, d.Allowed)
	add(&r.Denied, !d.Allowed)
	add(&r.Exempt, d.Reason == engine.Skipped || d.Reason == engine.Exempt || d.Reason == engine.Preflight)
	add(&r.Banned, d.Reason == engine.Banned)
	add(&r.Ambiguous, d.Reason == engine.Ambiguous)
	add(&r.Degraded, d.Degraded)
	add(&r.Delayed, d.Delay > 0)
	add(&r.WouldDeny, slices.ContainsFunc(d.Shadows, func(v engine.Verdict) bool { return !v.Allowed }))
	for i := range d.Verdicts {
		t.verdict(&d.Verdicts[i])
	}
	for i := range d.Shadows {
		t.verdict(&d.Shadows[i])
	}
}

func (t *tally) verdict(v *engine.Verdict) {
	switch total := t.rule(v.Rule); {
	case v.Allowed:
		total.Allowed++
	case v.Rule.Mode == rules.Shadow:
		total.WouldDeny++
	default:
		total.Denied++
		t.denied[ruleKey{v.Rule.Name, v.Key}]++
	}
	if v.Terms.Denied { // by an override, whatever the counters are
		return
	}
	for i := range v.Terms.Limits {
		switch v.CandidateOutcome(i) {
		case engine.WouldDeny:
			t.candidate(v.PolicyName(i)).WouldDeny++
		case engine.WouldAllow:
			t.candidate(v.PolicyName(i)).WouldAllow++
		}
	}
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
