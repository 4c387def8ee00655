package replay

import (
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
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
