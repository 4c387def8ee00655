package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// capacities writes them by the limits' names, or alone where there is one without a name.
func capacities(limits []limit.Limit) string {
	if len(limits) == 1 && limits[0].Name == "" {
		return strconv.FormatInt(limits[0].Capacity, 10)
	}
	facts := make([]fact, len(limits))
	for i, l := range limits {
		facts[i] = fact{l.Name, strconv.FormatInt(l.Capacity, 10)}
	}
	return flow(facts)
}

// limitFacts are those of limit i, its name aside.
func (r *Rule) limitFacts(i int) []fact {
	facts := append(limitFacts(&r.Limits[i]), r.Costs[i].facts()...)
	if i < len(r.Candidates) {
		facts = append(facts, fact{"candidate", r.Candidates[i].text()})
	}
	for _, a := range r.anchors {
		if a.limit == i {
			facts = slices.DeleteFunc(facts, func(f fact) bool { return f.field == "anchor" })
			facts = append(facts, fact{"anchor", a.text()})
		}
	}
	return facts
}

func limitFacts(l *limit.Limit) []fact {
	facts := []fact{
		{"algorithm", l.Algorithm.String()},
		{"capacity", strconv.FormatInt(l.Capacity, 10)},
		{"window", span(l.Window)},
	}
	switch l.Algorithm {
	case limit.SlidingWindow:
		return append(facts, fact{"granularity", span(l.Granularity)})
	case limit.TokenBucket:
		return append(facts, fact{"burst", strconv.FormatInt(l.Burst, 10)})
	case limit.LeakyBucket:
		return append(facts, fact{"queue", strconv.FormatInt(l.Burst, 10)})
	}
	if c := l.Calendar; c != nil {
		facts[2].text = map[limit.Unit]string{limit.Day: "1d", limit.Week: "1w", limit.Month: "1mo"}[c.Unit]
		timezone, anchor := calendarShape(c)
		return append(facts, fact{"timezone", timezone}, fact{"anchor", anchor})
	}
	return facts
}

// span writes a length of time, whole days as such.
func span(d time.Duration) string {
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return formatDuration(d)
}

func (c *Cost) facts() []fact {
	return []fact{{"cost", c.text()}, {"over", onlyIf(c.Clamp, "clamp")}}
}

// text is empty for a cost that an override leaves to its rule.
func (c *Cost) text() string {
	switch {
	case c.inherited:
		return ""
	case c.from.source == literal:
		return strconv.FormatInt(c.Units, 10)
	}
	return flow([]fact{
		{"from", word(c.from.spell())}, {"min", strconv.FormatInt(c.min, 10)}, {"max", strconv.FormatInt(c.max, 10)},
		{"settle", onlyIf(c.Settle, "true")},
	})
}

func (c Candidate) text() string {
	switch {
	case c.Percent > 0:
		return fmt.Sprintf("%d%%", c.Percent)
	case c.Units > 0:
		return strconv.FormatInt(c.Units, 10)
	}
	return ""
}

func (a *anchor) text() string {
	return flow([]fact{{"from", word(a.from.spell())}, {"default", strconv.Itoa(a.day)}})
}

// text writes an override of the rule as a document has it; "" for none.
func (o *Override) text(r *Rule) string {
	if o == nil {
		return ""
	}
	facts := []fact{
		{"deny", onlyIf(o.Deny, "true")}, {"unlimited", onlyIf(o.Unlimited, "true")}, {"plan", word(o.Plan)}, {"capacity", o.capacities(r)},
	}
	limits := make([]string, len(o.Limits))
	for i := range o.Limits {
		facts := append(unusual(limitFacts(&o.Limits[i])), o.Costs[i].facts()...) // no cost is the rule's, which 1 may not be
		limits[i] = flow(append([]fact{{"name", o.Limits[i].Name}}, facts...))
	}
	facts = append(facts, fact{fieldLimits, onlyIf(o.Limits != nil, "["+strings.Join(limits, ", ")+"]")})
	if !o.Until.IsZero() {
		facts = append(facts, fact{"until", o.Until.UTC().Format(time.RFC3339Nano)})
	}
	return flow(append(facts, fact{"why", onlyIf(o.Why != "", strconv.Quote(o.Why))}))
}

// capacities writes that of a rule's only limit in one way, whether the override names the limit or not.
func (o *Override) capacities(r *Rule) string {
	limits := make([]limit.Limit, 0, len(o.Capacity))
	for _, name := range slices.Sorted(maps.Keys(o.Capacity)) {
		l := limit.Limit{Name: name, Capacity: o.Capacity[name]}
		if name == "" && r != nil && len(r.Limits) == 1 {
			l.Name = r.Limits[0].Name
		}
		limits = append(limits, l)
	}
	if len(limits) == 0 {
		return ""
	}
	return capacities(limits)
}
