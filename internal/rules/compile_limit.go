package rules

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// limitContext is what all limits of a rule or an override share.
type limitContext struct {
	cost     *Cost        // of the rule; nil for none, or a wrong one
	costPath problem.Path // of that cost
	override bool         // they are an override's
}

// charge is a limit with what belongs to it.
type charge struct {
	limit     limit.Limit
	cost      Cost
	candidate Candidate
	anchored  key.Part // the source of the anchor's day; a literal for a fixed day
	path      problem.Path
	place     int // among the limits as they are written
}

// limits compiles limits and puts them in the order of their names.
func (c *compiler) limits(each iter.Seq2[problem.Path, *ruledoc.Limit], in limitContext) (charges []charge) {
	taken := map[string]problem.Path{}
	for at, l := range each {
		if l.IsInFlight() && c.secondInFlight(at, taken) {
			continue
		}
		c.name(at, "name", l.Name, limitName, taken)
		ch := c.limit(at, l, in)
		ch.place = len(charges)
		charges = append(charges, ch)
	}
	sortByName(charges)
	return charges
}

// secondInFlight reports a limit of requests in flight that is not the only one:
// a request has one place. taken has what has each name so far.
func (c *compiler) secondInFlight(at problem.Path, taken map[string]problem.Path) bool {
	const first = "in flight" // which is no name
	other, ok := taken[first]
	if taken[first] = at; ok {
		c.fail(at, problem.InFlightTwice, other)
	}
	return ok
}

// sortByName puts limits in the order of their names. Counters have this order, so
// limits that only change places keep their counters.
func sortByName(charges []charge) {
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
}

// goLimits compiles limits of a Go program, and puts them in the order of their
// names. Problems have the paths of documents; package problem turns these into
// the names of Go.
func (c *compiler) goLimits(path problem.Path, stated []GoLimit, in limitContext) (charges []charge) {
	if len(stated) > limit.MaxLimits {
		c.fail(path, problem.Count, len(stated), "limits", 1, limit.MaxLimits)
		return nil
	}
	taken := map[string]problem.Path{}
	for i := range stated {
		g, at := &stated[i], path.At(i)
		if g.Algorithm == limit.InFlight && c.secondInFlight(at, taken) {
			continue
		}
		report := func(field string, wrong problem.Fault) { c.check(at.To(field), wrong) }
		l := limit.Limit{Name: g.Name, Algorithm: g.Algorithm}
		var wrong problem.Fault
		l.Capacity, l.Burst = g.units(report)
		l.Window, wrong = g.length()
		report("window", wrong)
		if len(stated) > 1 && l.Window != 0 {
			if g.Algorithm == limit.InFlight {
				l.Name = cmp.Or(l.Name, ruledoc.InFlightName)
			}
			l.Name = cmp.Or(l.Name, ruledoc.LimitName(g.windowText()))
		}
		c.name(at, "name", l.Name, limitName, taken)
		if g.Zone != nil { // only its name tells whether another process can have the same
			zone, wrong := zoneNamed(g.Zone.String())
			report("timezone", wrong)
			l.Calendar = calendarOf(g.Unit, zone)
		}
		if g.Anchor != nil {
			report("anchor", setAnchor(&l, *g.Anchor))
		}
		slots, wrong := g.width()
		report("granularity", wrong)
		report(setSlots(&l, slots))
		charges = append(charges, charge{path: at, place: i, limit: l, cost: c.price(at, &ruledoc.Limit{}, &l, in)})
	}
	sortByName(charges)
	return charges
}

// limit compiles a limit. What depends on a field that is wrong is not checked.
// The result then has 0 in place of the wrong value: other checks skip it, and
// the compiler returns no Set.
func (c *compiler) limit(path problem.Path, d *ruledoc.Limit, in limitContext) charge {
	if d.IsInFlight() {
		return c.inFlight(path, d, in)
	}
	ch := charge{path: path, limit: limit.Limit{Name: d.Name, Capacity: d.Capacity}}
	l := &ch.limit
	if c.isWrong(path.To("capacity")) {
		l.Capacity = 0
	}
	if in.override && d.Candidate != nil {
		c.fail(path.To("candidate"), problem.Remove, "is for limits of rules", "it")
	}
	switch {
	case d.Anchor == nil || d.Anchor.From == "":
	case in.override:
		c.fail(path.To("anchor"), problem.Instead, "a claim decides in rules alone", "the day of the month, such as 15")
	default:
		var wrong problem.Fault
		ch.anchored, wrong = key.ParseTrusted(d.Anchor.From)
		c.check(path.To("anchor").To("from"), wrong)
	}
	var known bool
	if l.Algorithm, known = limit.ParseAlgorithm(d.Algorithm); known {
		var wrong problem.Fault
		l.Window, wrong = windowLength(d.Window, l.Algorithm)
		c.check(path.To("window"), wrong)
		c.refuseMisplaced(path, d, l.Algorithm)
		c.detail(path, d, l)
		ch.candidate = c.candidate(path, d, l)
	}
	ch.cost = c.price(path, d, l, in)
	return ch
}

// ofInFlight are the fields of a limit of requests that work at once.
var ofInFlight = []string{"name", "in_flight", "expires", "cost"}

// inFlight compiles a limit of requests that work at once. A request takes one
// place, whatever the rule's cost, and only the limit's own cost can be 0.
func (c *compiler) inFlight(path problem.Path, d *ruledoc.Limit, in limitContext) charge {
	ch := charge{path: path, limit: limit.Limit{Name: d.Name, Algorithm: limit.InFlight, Capacity: d.InFlight}, cost: Fixed(1)}
	if in.override { // its counter would be another, and admit as many again
		c.fail(path, problem.Instead, "in_flight is for limits of rules", "capacity: 20 in the override for another number of places")
		return ch
	}
	for _, f := range ruledoc.Fields(reflect.TypeOf(*d)) {
		if !slices.Contains(ofInFlight, f.Name) && !reflect.ValueOf(d).Elem().FieldByIndex(f.Index).IsZero() {
			c.fail(path.To(f.Name), problem.Remove, "a limit with in_flight and expires has no "+f.Name, "it, or write two limits")
		}
	}
	if d.InFlight == 0 {
		c.fail(path.To("in_flight"), problem.Missing, problem.Need{Field: "in_flight", Write: "write how many requests may work at once, such as in_flight: 20"})
	}
	var wrong problem.Fault
	ch.limit.Window, wrong = holdDuration(d.Expires)
	if d.Expires == "" {
		wrong = problem.New(problem.Missing, problem.Need{Field: "expires", Write: "write how long a request that never reports its end keeps its place, such as expires: 90s"})
	}
	c.check(path.To("expires"), wrong)
	if d.Cost != nil {
		if d.Cost.From != "" || d.Cost.Units > 1 {
			c.fail(path.To("cost"), problem.Instead, "a request takes one place", "0 or 1, or remove it")
		}
		ch.cost = Fixed(d.Cost.Units)
	}
	return ch
}

// detail compiles the fields that only some algorithms have. ruledoc.WithDefaults
// has filled in those that the author leaves out, such as UTC for months.
func (c *compiler) detail(path problem.Path, d *ruledoc.Limit, l *limit.Limit) {
	var slots *time.Duration
	switch {
	case l.Algorithm == limit.SlidingWindow && d.Granularity != "":
		width, wrong := duration(d.Granularity, "")
		c.check(path.To("granularity"), wrong)
		slots = &width
	case l.Algorithm == limit.FixedWindow && l.Window != 0:
		c.calendar(path, d, l)
	case l.Bucket() && l.Capacity != 0 && !c.isWrong(path.To(SizeField(l.Algorithm))):
		l.Burst = max(d.Burst, d.Queue) // only one of them is allowed
	}
	field, wrong := setSlots(l, slots)
	c.check(path.To(field), wrong)
}

// calendar compiles where and when the windows of a fixed window begin.
func (c *compiler) calendar(path problem.Path, d *ruledoc.Limit, l *limit.Limit) {
	if d.Timezone != "" {
		at := path.To("timezone")
		zone, wrong := zoneNamed(d.Timezone)
		c.check(at, wrong)
		if unit, ok := calendarUnits[d.Window]; ok {
			l.Calendar = calendarOf(unit, zone)
		} else {
			c.fail(at, problem.Instead, "goes with the windows 1d, 1w and 1mo", "one of them, or remove timezone")
		}
	}
	at := path.To("anchor")
	if d.Anchor != nil && !c.isWrong(at) {
		c.check(at, setAnchor(l, int(d.Anchor.Day)))
	}
}

// candidate compiles a capacity to try; the zero Candidate stands for none. A
// bucket has none, because its state depends on the rate at which it refills.
func (c *compiler) candidate(path problem.Path, d *ruledoc.Limit, l *limit.Limit) Candidate {
	at := path.To("candidate")
	if d.Candidate == nil || c.isWrong(at) {
		return Candidate{}
	}
	tried := *l
	tried.Capacity = d.Candidate.Units
	if l.Bucket() {
		c.fail(at, problem.CandidateBucket, l.Algorithm)
	} else if field, wrong := uncountable(&tried); field == "capacity" {
		c.check(at, wrong)
	}
	return *d.Candidate
}

// refuseMisplaced reports fields that mean nothing to the limit's algorithm.
// To ignore them would leave a person with another limit than was written.
func (c *compiler) refuseMisplaced(path problem.Path, d *ruledoc.Limit, a limit.Algorithm) {
	for _, f := range []struct {
		name   string
		owner  limit.Algorithm
		stated bool
	}{
		{"anchor", limit.FixedWindow, d.Anchor != nil}, {"burst", limit.TokenBucket, d.Burst != 0},
		{"granularity", limit.SlidingWindow, d.Granularity != ""}, {"queue", limit.LeakyBucket, d.Queue != 0},
		{"timezone", limit.FixedWindow, d.Timezone != ""},
	} {
		if !f.stated || a == f.owner {
			continue
		}
		instead := "remove it"
		if size := SizeField(a); size != "capacity" && SizeField(f.owner) == f.name {
			instead = "write " + size
		}
		c.fail(path.To(f.name), problem.NotOfAlgorithm, a, problem.Field(f.name), instead, f.owner)
	}
}

// cost compiles what a request takes; nil if something of it is wrong. A client
// that states its cost pays at least Min, which must be above 0: otherwise every
// client would state 0.
func (c *compiler) cost(path problem.Path, d *ruledoc.Cost) *Cost {
	cost := &Cost{Settle: d.Settle, Min: d.Min, Max: d.Max, Weights: c.weights(path.To("weights"), d)}
	if d.From == "" { // and nothing else, or Check has reported that from is missing
		*cost = Fixed(d.Units)
	} else {
		var wrong problem.Fault
		cost.from, wrong = key.ParseSource(d.From)
		if !wrong.Found() && !cost.from.Kind.IsNamed() && cost.from.Kind != key.FromRootFields {
			wrong = problem.New(problem.Instead, d.From+" states no number", "a header, a parameter or a claim, such as header.x-tokens")
		}
		c.check(path.To("from"), wrong)
	}
	switch {
	case c.isWrong(path):
	case cost.from.Kind.IsClient() && d.Min == 0:
		c.fail(path.To("min"), problem.MissingLeast, d.From)
	case d.Min > d.Max:
		c.fail(path.To("min"), problem.CostAbove, d.Min, d.Max)
	}
	if c.isWrong(path) {
		return nil
	}
	return cost
}

var usageName = ruledoc.Pattern(ruledoc.Cost{}, "weights")

// weights compiles what usage costs; nil for none.
func (c *compiler) weights(path problem.Path, d *ruledoc.Cost) (all Weights) {
	if len(d.Weights) > 0 && !d.Settle {
		c.fail(path, problem.Instead, "usage counts only where the cost settles", "settle: true, or remove it")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Weights)) {
		if all == nil {
			all = Weights{}
		}
		at, ok := path.To(name), false
		if all[name], ok = parseWeight(string(d.Weights[name])); !ok {
			c.fail(at, problem.Malformed, d.Weights[name], "weight",
				fmt.Sprintf("a number from 0 to %d with at most six decimals, such as 0.1", MaxWeight/Millionths))
		}
		if !usageName().MatchString(name) {
			c.failKey(at, problem.BadName, name, "name of usage", "1 to 63 letters, digits and any of _ . : / -")
		}
	}
	return all
}

// price returns what a request takes from the limit: the limit's own cost,
// else the rule's, else one unit. A limit of an override without a cost
// inherits one. A cost that no request could ever pay is a problem.
func (c *compiler) price(path problem.Path, d *ruledoc.Limit, l *limit.Limit, in limitContext) Cost {
	at, price := in.costPath, in.cost
	if d.Cost != nil {
		at = path.To("cost")
		price = c.cost(at, d.Cost)
	}
	if price == nil {
		return Cost{Min: 1, Max: 1, Clamp: d.Over == "clamp", inherited: in.override}
	}
	cost := *price
	cost.Clamp = d.Over != ""
	if c.isWrong(path.To("algorithm")) {
		return cost
	}
	if cost.Settle && !l.Correctable() {
		c.fail(at, problem.CannotSettle, path, l.Algorithm, limit.SlidingWindow)
	}
	if most := l.MaxCost(); most != 0 && cost.unpayable(most) {
		c.fail(at, problem.CostTooHigh, cost.Min, problem.Field(SizeField(l.Algorithm)), most, path)
	}
	return cost
}
