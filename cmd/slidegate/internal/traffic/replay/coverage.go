package replay

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/match"
)

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
	reads    []rules.Read // of each element of Lacking
	distance int          // of the request that Why is about
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
		c.Covered, c.Why = true, ""
		t.uncovered--
	}
}

// explain looks for the reasons why rules have covered nothing. The longer the
// log, the smaller the part of its requests that it compares with them.
func (t *tally) explain(req *request.Request, d *engine.Decision) {
	if d.Reason != engine.Limited || !d.Allowed || d.Plan != "" { // not every rule that covers it has a verdict
		var few [16]*rules.Rule
		for _, r := range t.set.Match(few[:0], req) {
			t.compare(t.rule(r), r, req, d)
		}
	}
	if t.totals.Requests < t.sample {
		return
	}
	t.sample = t.totals.Requests + t.totals.Requests/32 + 1
	for _, r := range t.set.Rules {
		if c := t.rules[r.Name]; c != nil {
			t.compare(c, r, req, d)
		}
	}
}

// compare compares a request with a rule that may have covered nothing, and
// keeps the reason of the nearest one.
func (t *tally) compare(c *coverage, r *rules.Rule, req *request.Request, d *engine.Decision) {
	if c.Covered {
		return
	}
	distance, why := distanceOf(r, req)
	if distance == 0 {
		if d.Reason == engine.Limited || d.Reason == engine.Unmatched || d.Reason == engine.Exempt || len(d.Verdicts) > 0 {
			t.cover(c)
			return
		}
		why = "what it matches is decided before all rules: " + d.Reason.String()
	}
	if c.Why == "" || distance < c.distance {
		c.distance, c.Why = distance, why
	}
}

// distanceOf returns how far a request is from being covered by a rule, 0 if the
// rule matches it, and what is between them: fields, or a prefix of the path.
// Among requests that differ in as many, the nearest begins most like a pattern.
func distanceOf(r *rules.Rule, req *request.Request) (distance int, why string) {
	misses, patterns := r.Misses(req), r.When().Patterns()
	if len(misses) == 0 {
		return 0, ""
	}
	distance = len(misses)<<10 - alike(patterns, req.Path)
	first, rest, _ := strings.Cut(strings.TrimPrefix(req.Path, "/"), "/")
	if left := r.Misses(req.WithPath("/" + rest)); len(left) < len(misses) {
		misses = append(left, fmt.Sprintf("path %s matches %s if the prefix %s is removed", match.Display(req.Path), match.ShortList(patterns), match.Display("/"+first)))
		distance = len(misses)<<10 - 1<<9
	}
	return distance, strings.Join(misses, "; ")
}

// alike returns the length of the longest beginning that a path shares with any
// of the patterns, below 1<<9.
func alike(patterns []string, path string) (longest int) {
	for _, p := range patterns {
		n := 0
		for n < min(len(p), len(path), 1<<9-1) && p[n] == path[n] {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}
