// Package lint finds probable mistakes in a valid rules document, such as a rule
// that clients can evade.
package lint

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// Check returns warnings about a document, with paths into it. s is the Set
// that was compiled from it. Rules that are off draw no warnings.
func Check(d *ruledoc.Document, s *rules.Set) []ruledoc.Problem {
	c := &checker{author: ruledoc.WithDefaults(d), doc: s.Document(), set: s}
	for i := range c.doc.Rules {
		c.covers = append(c.covers, requestsOf(c.doc.Rules[i].When))
	}
	for i := range d.Deny {
		c.checkSelector(ruledoc.Index("deny", i), &d.Deny[i])
	}
	for i := range d.Skip {
		c.checkSelector(ruledoc.Index("skip", i), &d.Skip[i])
	}
	for i, r := range s.Rules {
		if r.Mode == rules.Off {
			continue
		}
		c.checkAlone(i)
		if !c.near.spent() {
			c.checkBeside(i)
		}
	}
	return c.warnings
}

type checker struct {
	author   *ruledoc.Document // for paths
	doc      *ruledoc.Document // normalized: its rules and limits are in the order of the set's
	set      *rules.Set
	covers   []requests // of each rule
	near     overlap
	warnings []ruledoc.Problem
}

func (c *checker) warn(path, format string, args ...any) {
	c.warnings = append(c.warnings, ruledoc.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// checkAlone warns about rule i by itself, its backstop and its counter.
func (c *checker) checkAlone(i int) {
	r, path := c.set.Rules[i], ruledoc.Index("rules", i)
	c.checkSelector(path+".when", c.author.Rules[i].When)
	c.checkSelector(path+".unless", c.author.Rules[i].Unless)
	c.checkReach(i)
	c.checkKey(path+".key", r.Key)
	if client := r.ClientSources(); len(client) > 0 && !c.hasBackstop(i) {
		c.warn(path+".key", "the client can make up a new value of %s for every request and is then never limited: "+
			"add a rule with a key such as \"ip:{ip}\" for the same requests", ruledoc.Enumerate(client, "and"))
	}
	warned := map[string]bool{} // once about a cost that several limits share
	for j := range r.Limits {
		at, costAt := c.paths(i, j)
		c.checkQueue(at+".queue", &r.Limits[j], &r.Costs[j])
		c.checkCost(costAt, &r.Limits[j], &r.Costs[j], warned[costAt])
		warned[costAt] = true
	}
	c.checkLease(path+".lease", i)
	if other := c.sharesNothing(i); other != nil {
		c.warn(path+".counter", "rule %s has this counter too, but its limits differ in name, algorithm, window or slots, "+
			"so the two share nothing: write the same limits in both, whatever their capacities", other.Name)
	}
}

// paths returns the path of limit j of rule i in the author's document, and
// the path of its cost.
func (c *checker) paths(i, j int) (path, cost string) {
	r, at := &c.author.Rules[i], ruledoc.Index("rules", i)
	for path, l := range r.EachLimit(at) {
		switch {
		case l.Name != c.set.Rules[i].Limits[j].Name:
		case l.Cost == nil && r.Cost != nil:
			return path, at + ".cost"
		default:
			return path, path + ".cost"
		}
	}
	return at, at // of no limit that the set has
}

// checkQueue warns about a queue that takes longer to drain than the local
// gateway holds a request.
func (c *checker) checkQueue(path string, l *limit.Limit, cost *rules.Cost) {
	if l.Algorithm != limit.LeakyBucket || cost.Max == 0 {
		return
	}
	most := max(min(cost.Max, l.Burst), int64(rules.LongestHold/l.Interval()))
	if l.Burst > most {
		c.warn(path, "the queue takes %s to drain, and the local gateway holds a request for %s at most: write queue: %d",
			ruledoc.FormatDuration(l.Drain().Round(time.Millisecond)), ruledoc.FormatDuration(rules.LongestHold), most)
	}
}

// checkCost warns about a cost that requests state: clients may understate it,
// and the limit may never allow a request without it.
func (c *checker) checkCost(path string, l *limit.Limit, cost *rules.Cost, warned bool) {
	source := cost.Source()
	if source == "" {
		return
	}
	if cost.ClientStated() && !cost.Settle && !warned {
		c.warn(path, "the client sets %s, so the least a client can pay is min, %d: "+
			"write settle: true and have the backend report the true cost", source, cost.Min)
	}
	if !cost.Clamp && cost.Max > l.MaxCost() {
		c.warn(path, "a request that does not state its cost takes max, %d, above the %s %d, and is never allowed: "+
			"lower max, or write over: clamp in the limit", cost.Max, rules.SizeField(l.Algorithm), l.MaxCost())
	}
}

// checkLease warns about a lease that no process can take as a whole, because
// it charges at most half of what is left ahead. Plans and overrides may raise
// the capacity.
func (c *checker) checkLease(path string, i int) {
	r := c.set.Rules[i]
	inPlan := func(p ruledoc.Plan) bool { _, ok := p[r.Name]; return ok }
	if r.TakesOverrides() || len(c.doc.Overrides[r.Name]) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(c.doc.Plans)), inPlan) {
		return
	}
	most := r.Lease
	for j := range r.Limits {
		if cost := r.Costs[j]; cost.Max > 0 {
			most = min(most, r.Limits[j].Capacity/max(1, cost.Min)/2)
		}
	}
	switch {
	case most >= r.Lease:
	case most < 2:
		c.warn(path, "the limits leave no room to charge ahead: remove lease, which is for keys above 1,000 requests a second")
	default:
		c.warn(path, "a process charges at most half of the limits ahead: write lease: %d", most)
	}
}

// sharesNothing returns a rule above rule i that names the same counter but
// counts in another way; nil for none.
func (c *checker) sharesNothing(i int) *rules.Rule {
	counter := func(i int) string { return cmp.Or(c.doc.Rules[i].Counter, c.doc.Rules[i].Name) }
	item := func(r *rules.Rule) string {
		terms := r.Terms(&request.Request{}, "", nil, time.Time{})
		return r.Item("", terms)
	}
	for j, other := range c.set.Rules[:i] {
		if counter(i) == counter(j) && item(other) != item(c.set.Rules[i]) && other.Mode != rules.Off {
			return other
		}
	}
	return nil
}

// hasBackstop reports whether another rule limits the requests of rule i by
// sources that the client cannot make up. It must cover every request, or have
// the same selector.
func (c *checker) hasBackstop(i int) bool {
	for j, other := range c.set.Rules {
		always := slices.ContainsFunc(other.Costs, func(c rules.Cost) bool { return c.Min > 0 })
		when, unless := c.doc.Rules[j].When, c.doc.Rules[j].Unless
		if always && other.Enforced() && len(other.ClientSources()) == 0 &&
			(when == nil || reflect.DeepEqual(when, c.doc.Rules[i].When)) &&
			(unless == nil || reflect.DeepEqual(unless, c.doc.Rules[i].Unless)) {
			return true
		}
	}
	return false
}
