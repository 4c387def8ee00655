package rules

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
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
		c.name(at, "name", l.Name, limitName, taken)
		ch := c.limit(at, l, in)
		ch.place = len(charges)
		charges = append(charges, ch)
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	return charges
}

// limit compiles a limit. What depends on a field that is wrong is not checked.
func (c *compiler) limit(path problem.Path, d *ruledoc.Limit, in limitContext) charge {
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
		c.window(path, d, l)
		c.refuseMisplaced(path, d, l.Algorithm)
		c.detail(path, d, l)
		field, wrong := outOfRange(l)
		c.check(path.To(field), wrong)
		ch.candidate = c.candidate(path, d, l)
	}
	ch.cost = c.price(path, d, l, in)
	return ch
}

// detail compiles the fields that only some algorithms have.
func (c *compiler) detail(path problem.Path, d *ruledoc.Limit, l *limit.Limit) {
	switch l.Algorithm {
	case limit.SlidingWindow:
		l.Granularity = c.duration(path.To("granularity"), d.Granularity, "")
		if d.Granularity == "" && l.Window != 0 {
			c.check(path.To("window"), noDefault(l.Window))
		}
	case limit.FixedWindow:
		c.calendar(path, d, l)
		l.Granularity = l.Window
	case limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
	case limit.TokenBucket, limit.LeakyBucket:
		if l.Capacity != 0 && !c.isWrong(path.To(SizeField(l.Algorithm))) {
			l.Burst = max(d.Burst, d.Queue) // only one of them is allowed
		}
	}
}

// duration compiles a length of time; it returns 0 for what it has reported.
// besides names other values that the field allows.
func (c *compiler) duration(path problem.Path, text, besides string) time.Duration {
	length, ok := ruledoc.ParseDuration(text)
	switch {
	case text == "":
	case strings.Trim(text, "0123456789") == "":
		c.fail(path, problem.NeedsUnit, text)
	case !ok:
		c.fail(path, problem.Malformed, strconv.Quote(text), "length of time",
			"numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d"+besides)
	case length < ruledoc.MinWindow || length > ruledoc.MaxWindow:
		c.check(path, outOfBounds(text))
	default:
		return length
	}
	return 0
}

// outOfBounds is the fault of a length of time that no window or slot can have.
func outOfBounds(text string) problem.Fault {
	return problem.New(problem.OutOfBounds, text, ruledoc.FormatDuration(ruledoc.MinWindow), ruledoc.FormatDuration(ruledoc.MaxWindow))
}

// candidate compiles a capacity to try.
func (c *compiler) candidate(path problem.Path, d *ruledoc.Limit, l *limit.Limit) Candidate {
	at := path.To("candidate")
	if d.Candidate == nil || c.isWrong(at) {
		return Candidate{}
	}
	tried := *l
	tried.Capacity = d.Candidate.Units
	if l.Bucket() {
		c.fail(at, problem.CandidateBucket, algorithm(l.Algorithm))
	} else if field, wrong := outOfRange(&tried); field == "capacity" {
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
		c.fail(path.To(f.name), problem.NotOfAlgorithm, algorithm(a), problem.Field(f.name), instead, algorithm(f.owner))
	}
}
