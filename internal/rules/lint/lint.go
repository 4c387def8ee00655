// Package lint finds probable mistakes in a valid rules document, such as a rule
// that clients can evade.
package lint

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Check returns warnings about a document, with paths into it. s is the Set
// that was compiled from it. Rules that are off draw no warnings.
func Check(d *ruledoc.Document, s *rules.Set) []problem.Problem {
	c := &checker{author: ruledoc.WithDefaults(d), doc: s.Document(), set: s}
	checkEntries := func(path problem.Path, entries []ruledoc.Selector) {
		for i := range entries {
			c.checkSelector(path.At(i), &entries[i])
		}
	}
	checkEntries(problem.Root("deny"), d.Deny)
	checkEntries(problem.Root("skip"), d.Skip)
	if a := d.Authentication; a != nil && a.Required != nil {
		checkEntries(problem.Root("authentication").To("required"), a.Required.Some)
	}
	c.checkIssuers()
	c.checkShown(problem.Root("denied"), d.Denied, nil)
	for i, r := range s.Rules {
		if r.Mode == rules.Off {
			continue
		}
		c.checkAlone(i)
		at := problem.Root("rules").At(i).To("denied")
		if c.checkShown(at, d.Rules[i].Denied, c.author.Rules[i].Denied); d.Rules[i].Denied != nil && !r.Enforced() {
			c.warn(at, problem.ShadowAnswer)
		}
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
	near     overlap
	warnings []problem.Problem
}

func (c *checker) warn(path problem.Path, code problem.Code, args ...any) {
	c.warnings = append(c.warnings, problem.Problem{Path: path, Fault: problem.New(code, args...)})
}

// checkAlone warns about rule i by itself, its backstop and its counter.
func (c *checker) checkAlone(i int) {
	r, path := c.set.Rules[i], problem.Root("rules").At(i)
	c.checkSelector(path.To("when"), c.author.Rules[i].When)
	c.checkSelector(path.To("unless"), c.author.Rules[i].Unless)
	c.checkReach(i)
	c.checkKey(path.To("key"), r.Key)
	c.checkSecrets(path.To("key"), &c.doc.Rules[i], r.Key)
	if o := c.doc.Rules[i].Overrides; o != nil && o.Template != r.Key {
		c.checkSecrets(path.To("overrides"), &c.doc.Rules[i], o.Template)
	}
	if client := r.ClientSources(); len(client) > 0 && !c.hasBackstop(i) {
		c.warn(path.To("key"), problem.EvadableSource, ruledoc.Enumerate(client, "and"))
	}
	for j := range r.Limits {
		at, costAt := c.paths(i, j)
		c.checkQueue(at.To("queue"), &r.Limits[j], &r.Costs[j])
		c.checkCost(costAt, &r.Limits[j], &r.Costs[j])
	}
	c.checkLease(path.To("lease"), i)
	if other := c.sharesNothing(i); other != nil {
		c.warn(path.To("counter"), problem.UnlikeCounter, other.Name)
	}
}

// paths returns the path of limit j of rule i in the author's document, and
// the path of its cost.
func (c *checker) paths(i, j int) (path, cost problem.Path) {
	r, at := &c.author.Rules[i], problem.Root("rules").At(i)
	for path, l := range r.EachLimit(at) {
		switch {
		case l.Name != c.set.Rules[i].Limits[j].Name:
		case l.Cost == nil && r.Cost != nil:
			return path, at.To("cost")
		default:
			return path, path.To("cost")
		}
	}
	return at.To("limits").At(c.set.Rules[i].Places[j]), at.To("cost") // of a Go program
}

// checkQueue warns about a queue that takes longer to drain than the local
// gateway holds a request.
func (c *checker) checkQueue(path problem.Path, l *limit.Limit, cost *rules.Cost) {
	if l.Algorithm != limit.LeakyBucket || cost.Max == 0 {
		return
	}
	most := max(min(cost.Max, l.Burst), int64(rules.LongestHold/l.Interval()))
	if l.Burst > most {
		c.warn(path, problem.LongQueue,
			ruledoc.FormatDuration(l.Drain().Round(time.Millisecond)), ruledoc.FormatDuration(rules.LongestHold), most)
	}
}

// checkCost warns about a cost that requests state: clients may understate it,
// and the limit may never allow a request without it. Root fields are counted.
func (c *checker) checkCost(path problem.Path, l *limit.Limit, cost *rules.Cost) {
	source := cost.Source()
	if source == "" || source == "graphql.fields" {
		return
	}
	if cost.ClientStated() && !cost.Settle {
		c.warn(path, problem.UnderstatedCost, source, cost.Min)
	}
	if !cost.Clamp && cost.Max > l.MaxCost() {
		c.warn(path, problem.UnstatedCost, cost.Max, rules.SizeField(l.Algorithm), l.MaxCost())
	}
}

// checkLease warns about a lease that no process can take as a whole, because
// it charges at most half of what is left ahead. Plans and overrides may raise
// the capacity.
func (c *checker) checkLease(path problem.Path, i int) {
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
		c.warn(path, problem.NoRoomToLease)
	default:
		c.warn(path, problem.LeaseTooLarge, most)
	}
}

// sharesNothing returns a rule above rule i that names the same counter but
// counts in another way; nil for none.
func (c *checker) sharesNothing(i int) *rules.Rule {
	counter := func(i int) string { return cmp.Or(c.doc.Rules[i].Counter, c.doc.Rules[i].Name) }
	item := func(r *rules.Rule) string { return r.Item("", r.Terms(&request.Request{}, "", nil, time.Time{})) }
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
