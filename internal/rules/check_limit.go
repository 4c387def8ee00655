package rules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// check puts the fields of a limit together, and decides what the document leaves open.
func (d *decoder) check(s *stated) {
	d.refuseMisplaced(s)
	l := &s.limit
	switch l.Algorithm {
	case limit.SlidingWindow:
		d.slots(s)
	case limit.FixedWindow:
		d.calendar(s)
		l.Granularity = l.Window
	case limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
		if problem := tooManyStamps(l); problem != "" {
			d.fail(s.capacity, "%s", problem)
		}
	case limit.TokenBucket:
		d.bucket(s, s.burst)
	case limit.LeakyBucket:
		d.bucket(s, s.queue)
	}
	if s.trial.stated() {
		if problem := whyNoCandidate(l, s.candidate); problem != "" {
			d.fail(s.trial, "%s", problem)
		}
	}
}

// slots checks how the window is cut into slots, or decides it where the document does not say.
func (d *decoder) slots(s *stated) {
	l := &s.limit
	if !s.granularity.stated() {
		if l.Granularity = defaultGranularity(l.Window); l.Granularity == 0 && l.Window != 0 {
			d.fail(s.window, "%s", noDefault(l.Window))
		}
		return
	}
	l.Granularity = d.duration(s.granularity, "")
	if l.Window == 0 || l.Granularity == 0 {
		return
	}
	if problem := checkGranularity(l.Window, l.Granularity); problem != "" {
		d.fail(s.granularity, "%s", problem)
	}
}

// bucket decides what a bucket or a queue holds: as much as its capacity, where the document does not say.
func (d *decoder) bucket(s *stated, holds value) {
	l := &s.limit
	l.Burst = l.Capacity
	if holds.stated() {
		l.Burst, _ = d.integer(holds)
	}
	if l.Capacity == 0 || l.Window == 0 {
		return
	}
	if problem := tooFast(l); problem != "" {
		d.fail(s.capacity, "%s", problem)
	} else if problem := tooSlow(l); problem != "" {
		d.fail(holds, "%s", problem)
	}
}

func tooManyStamps(l *limit.Limit) (problem string) {
	if l.Algorithm != limit.SlidingWindowLog || l.Capacity <= limit.MaxLog {
		return ""
	}
	return fmt.Sprintf("a %s keeps every request, and %d is the most: lower it, or write algorithm: %s", l.Algorithm, limit.MaxLog, limit.SlidingWindow)
}

func tooFast(l *limit.Limit) (problem string) {
	if !l.Bucket() || time.Duration(l.Capacity) <= l.Window {
		return ""
	}
	return fmt.Sprintf("%d in %s is more than one unit in a nanosecond, faster than a bucket counts: write at most %d",
		l.Capacity, formatDuration(l.Window), l.Window)
}

func tooSlow(l *limit.Limit) (problem string) {
	if !l.Bucket() || l.Burst <= int64(limit.MaxDrain/l.Interval()) {
		return ""
	}
	return fmt.Sprintf("at %d in %s, %d take more than ten years: write at most %d", l.Capacity, formatDuration(l.Window), l.Burst,
		limit.MaxDrain/l.Interval())
}

// maxPercent is the highest candidate in percent: one above the capacity says what a raise would let through.
const maxPercent = 1000

var percent = regexp.MustCompile(`^[1-9][0-9]{0,3}%$`)

// candidate returns nothing for what it has reported.
func (d *decoder) candidate(v value) Candidate {
	text := v.at.Value
	if !strings.HasSuffix(text, "%") {
		units, _ := d.integer(v)
		return Candidate{Units: units}
	}
	n, _ := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 64)
	if !percent.MatchString(text) || n > maxPercent {
		d.fail(v, "%q is out of range: write a percentage from 1%% to %d%%", text, maxPercent)
		return Candidate{}
	}
	return Candidate{Percent: n}
}

// whyNoCandidate says why a limit cannot try a capacity on the state that another one has left.
func whyNoCandidate(l *limit.Limit, c Candidate) (problem string) {
	tried := *l
	tried.Capacity = c.Units
	if l.Bucket() {
		return fmt.Sprintf("what a %s holds cannot be judged by another rate: try it as a rule of its own, with mode: shadow", l.Algorithm)
	}
	return tooManyStamps(&tried)
}
