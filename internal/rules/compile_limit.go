package rules

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// limitContext is what all limits of a rule or an override share.
type limitContext struct {
	cost     *Cost  // of the rule; nil for none, or a wrong one
	costPath string // of that cost
	override bool   // they are an override's
}

// charge is a limit with what belongs to it.
type charge struct {
	limit     limit.Limit
	cost      Cost
	candidate Candidate
	anchored  key.Part // the source of the anchor's day; a literal for a fixed day
	path      string
}

// limits compiles limits and puts them in the order of their names.
func (c *compiler) limits(each iter.Seq2[string, *ruledoc.Limit], in limitContext) (charges []charge) {
	taken := map[string]string{}
	for at, l := range each {
		c.name(at+".name", l.Name, limitName, taken)
		charges = append(charges, c.limit(at, l, in))
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	return charges
}

// limit compiles a limit. What depends on a field that is wrong is not checked.
func (c *compiler) limit(path string, d *ruledoc.Limit, in limitContext) charge {
	ch := charge{path: path, limit: limit.Limit{Name: d.Name, Capacity: d.Capacity}}
	l := &ch.limit
	if c.wrong[path+".capacity"] {
		l.Capacity = 0
	}
	if in.override && d.Candidate != nil {
		c.fail(path+".candidate", "is for limits of rules: remove it")
	}
	switch {
	case d.Anchor == nil || d.Anchor.From == "":
	case in.override:
		c.fail(path+".anchor", "a claim decides in rules alone: write the day of the month, such as 15")
	default:
		var problem string
		ch.anchored, problem = key.ParseTrusted(d.Anchor.From)
		c.check(path+".anchor.from", problem)
	}
	var known bool
	if l.Algorithm, known = limit.ParseAlgorithm(d.Algorithm); known {
		c.window(path, d, l)
		c.refuseMisplaced(path, d, l.Algorithm)
		c.detail(path, d, l)
		field, problem := outOfRange(l)
		c.check(path+"."+field, problem)
		ch.candidate = c.candidate(path, d, l)
	}
	ch.cost = c.price(path, d, l, in)
	return ch
}

// detail compiles the fields that only some algorithms have.
func (c *compiler) detail(path string, d *ruledoc.Limit, l *limit.Limit) {
	switch l.Algorithm {
	case limit.SlidingWindow:
		l.Granularity = c.duration(path+".granularity", d.Granularity, "")
		if d.Granularity == "" && l.Window != 0 {
			c.fail(path+".window", "%s", noDefault(l.Window))
		}
	case limit.FixedWindow:
		c.calendar(path, d, l)
		l.Granularity = l.Window
	case limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
	case limit.TokenBucket, limit.LeakyBucket:
		if l.Capacity != 0 && !c.wrong[path+"."+SizeField(l.Algorithm)] {
			l.Burst = max(d.Burst, d.Queue) // only one of them is allowed
		}
	}
}

// duration compiles a length of time; it returns 0 for what it has reported.
// besides names other values that the field allows.
func (c *compiler) duration(path, text, besides string) time.Duration {
	length, ok := ruledoc.ParseDuration(text)
	switch {
	case text == "":
	case strings.Trim(text, "0123456789") == "":
		c.fail(path, "needs a unit: write %ss for seconds", text)
	case !ok:
		c.fail(path, "%q is no length of time: write numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d%s", text, besides)
	case length < ruledoc.MinWindow || length > ruledoc.MaxWindow:
		c.fail(path, "%s is out of range: write %s to %s", text, ruledoc.FormatDuration(ruledoc.MinWindow),
			ruledoc.FormatDuration(ruledoc.MaxWindow))
	default:
		return length
	}
	return 0
}

// outOfRange returns the field of a limit that its algorithm cannot count, and
// what to write instead. The problem is empty for a good limit, and for one that
// lacks a field.
func outOfRange(l *limit.Limit) (field, problem string) {
	window, width := ruledoc.FormatDuration(l.Window), l.Granularity
	switch {
	case l.Algorithm == limit.SlidingWindowLog && l.Capacity > limit.MaxLog:
		return "capacity", fmt.Sprintf("a %s keeps every request, and %d is the most: lower it, or write algorithm: %s",
			l.Algorithm, limit.MaxLog, limit.SlidingWindow)
	case l.Window == 0 || l.Bucket() && l.Capacity == 0:
	case l.Algorithm == limit.SlidingWindow && width != 0 && l.Window%width != 0:
		return "granularity", fmt.Sprintf("the window of %s is no whole multiple of %s: write %s",
			window, ruledoc.FormatDuration(width), NearestGranularity(l.Window, width))
	case l.Algorithm == limit.SlidingWindow && width != 0 && l.Window/width > limit.MaxSlots:
		return "granularity", fmt.Sprintf("cuts the window of %s into %d slots, and %d is the most: write %s",
			window, l.Window/width, limit.MaxSlots, NearestGranularity(l.Window, width))
	case l.Bucket() && time.Duration(l.Capacity) > l.Window:
		return "capacity", fmt.Sprintf("%d in %s is more than one unit in a nanosecond, faster than a bucket counts: write at most %d",
			l.Capacity, window, l.Window)
	case l.Bucket() && l.Burst > int64(limit.MaxDrain/l.Interval()):
		return SizeField(l.Algorithm), fmt.Sprintf("at %d in %s, %d take more than ten years: write at most %d",
			l.Capacity, window, l.Burst, limit.MaxDrain/l.Interval())
	}
	return "", ""
}

// candidate compiles a capacity to try.
func (c *compiler) candidate(path string, d *ruledoc.Limit, l *limit.Limit) Candidate {
	at := path + ".candidate"
	if d.Candidate == nil || c.wrong[at] {
		return Candidate{}
	}
	tried := *l
	tried.Capacity = d.Candidate.Units
	if l.Bucket() {
		c.fail(at, "the state of a %s cannot be evaluated at another rate: try it as a rule of its own, with mode: shadow", l.Algorithm)
	} else if field, problem := outOfRange(&tried); field == "capacity" {
		c.fail(at, "%s", problem)
	}
	return *d.Candidate
}

// refuseMisplaced reports fields that mean nothing to the limit's algorithm.
// To ignore them would leave a person with another limit than was written.
func (c *compiler) refuseMisplaced(path string, d *ruledoc.Limit, a limit.Algorithm) {
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
		c.fail(path+"."+f.name, "a %s has no %s: %s, or write algorithm: %s", a, f.name, instead, f.owner)
	}
}
