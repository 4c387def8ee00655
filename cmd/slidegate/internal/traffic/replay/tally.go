package replay

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// topKeys is how many of the most denied keys a report names.
const topKeys = 10

// Report is the totals of a replay.
type Report struct {
	logs.Extent                 // each of its requests was allowed or denied
	Fields      []string        `json:"fields"` // of Extent
	Allowed     int64           `json:"allowed"`
	Denied      int64           `json:"denied"`
	Exempt      int64           `json:"exempt"`               // allowed: a preflight, or skip, a plan or an override lifts all limits
	Banned      int64           `json:"banned"`               // denied by deny or an override, whatever the limits say
	Ambiguous   int64           `json:"ambiguous"`            // denied: servers may read their path in several ways
	WouldDeny   int64           `json:"would_deny"`           // allowed requests that a shadow rule or a candidate would have denied
	Degraded    int64           `json:"degraded"`             // requests that on_error decided
	Delayed     int64           `json:"delayed"`              // allowed requests that a leaky bucket would hold for a while
	Rules       RuleTotals      `json:"rules"`                // in the order of the rules
	Candidates  CandidateTotals `json:"candidates,omitempty"` // in the order of the rules and their limits
	TopDenied   []KeyTotal      `json:"top_denied"`           // the most denied first; equals by rule and key
	Elapsed     float64         `json:"elapsed_s"`
	Reads       *int64          `json:"reads,omitempty"` // of DynamoDB; nil for other stores
	Writes      *int64          `json:"writes,omitempty"`
	OverTime    OverTime        `json:"-"`
}

// RuleTotal counts a rule's verdicts on the requests that it covers and limits.
// Of a denied request only the denying rule has one.
type RuleTotal struct {
	Rule            string
	Mode            rules.Mode
	Allowed, Denied int64
	WouldDeny       int64  // of a shadow rule, which denies nothing
	Lacking         []Lack // at least one request each, in the order of rules.Set.Reads
	Covered         bool   // whether it covers any request
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
		Lacking   []Lack `json:"lacking,omitempty"`
		Uncovered bool   `json:"covered_nothing,omitempty"`
	}
	byRule := map[string]total{}
	for _, r := range all {
		t := total{Allowed: r.Allowed, Denied: r.Denied, Lacking: r.Lacking, Uncovered: !r.Covered}
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
	set        *rules.Set
	totals     Report
	rules      map[string]*coverage       // of totals.Rules
	candidates map[string]*CandidateTotal // of totals.Candidates
	denied     map[ruleKey]int64
	uncovered  int // rules of totals.Rules that have covered nothing
}

type ruleKey struct{ rule, key string }

// newTally returns a tally with a row for each rule that is not off, before any
// request matches it.
func newTally(set *rules.Set) tally {
	t := tally{
		set: cmp.Or(set, &rules.Set{}), rules: map[string]*coverage{}, candidates: map[string]*CandidateTotal{}, denied: map[ruleKey]int64{},
	}
	for _, r := range t.set.Rules {
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

func (t *tally) rule(r *rules.Rule) *coverage {
	c := t.rules[r.Name]
	if c == nil {
		c = newCoverage(r, t.set.Reads(r))
		t.rules[r.Name] = c
		t.totals.Rules = append(t.totals.Rules, c.RuleTotal)
		t.uncovered++
	}
	return c
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

func (t *tally) count(e *logs.Entry, d *engine.Decision) {
	r := &t.totals
	r.Extent.Count(e)
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
	would := d.WouldDeny()
	add(&r.WouldDeny, would)
	r.OverTime.At(e.Time).Add(d.Allowed, would)
	for v := range d.All() {
		t.verdict(e.Request, v)
	}
	for result := range d.ShadowResults() {
		if result.Limit < 0 {
			continue // verdict has counted it
		}
		switch candidate := t.candidate(result.PolicyName(result.Limit)); result.Outcome {
		case engine.WouldDeny:
			candidate.WouldDeny++
		case engine.WouldAllow:
			candidate.WouldAllow++
		}
	}
	if t.uncovered > 0 {
		t.coverAll(e.Request, d)
	}
}

// verdict counts a rule's verdict on a request.
func (t *tally) verdict(req *request.Request, v *engine.Verdict) {
	total := t.rule(v.Rule)
	t.cover(total)
	total.count(req)
	switch {
	case v.Allowed:
		total.Allowed++
	case v.Rule.Mode == rules.Shadow:
		total.WouldDeny++
	default:
		total.Denied++
		t.denied[ruleKey{v.Rule.Name, v.Key}]++
	}
}

func (t *tally) report() *Report {
	r := t.totals
	r.Fields = r.Extent.Fields
	for _, rule := range r.Rules {
		rule.Lacking = slices.DeleteFunc(rule.Lacking, func(l Lack) bool { return l.Requests == 0 })
	}
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

// Lack counts the requests that a rule decided although they lack a field that
// it reads.
type Lack struct {
	Field    string `json:"field"`
	Use      string `json:"use"` // as of rules.Read
	Requests int64  `json:"requests"`
}

// coverage is the total of a rule while it is counted.
type coverage struct {
	*RuleTotal
	reads []rules.Read // of each element of Lacking
}

func newCoverage(of *rules.Rule, reads []rules.Read) *coverage {
	c := &coverage{RuleTotal: &RuleTotal{Rule: of.Name, Mode: of.Mode}, reads: reads}
	for _, r := range reads {
		c.Lacking = append(c.Lacking, Lack{Field: r.String(), Use: r.Use})
	}
	return c
}

// count counts what a request lacks that the rule has decided.
func (c *coverage) count(req *request.Request) {
	for i := range c.reads {
		if !c.reads[i].In(req) {
			c.Lacking[i].Requests++
		}
	}
}

func (t *tally) cover(c *coverage) {
	if !c.Covered {
		c.Covered = true
		t.uncovered--
	}
}

// coverAll covers the rules that match a request and have no verdict on it,
// because another rule denied it or a plan or an override lifts theirs.
func (t *tally) coverAll(req *request.Request, d *engine.Decision) {
	if d.Reason != engine.Limited && d.Reason != engine.Exempt && len(d.Verdicts) == 0 {
		return // decided before all rules
	}
	var few [16]*rules.Rule
	for _, r := range t.set.Match(few[:0], req) {
		t.cover(t.rule(r))
	}
}
