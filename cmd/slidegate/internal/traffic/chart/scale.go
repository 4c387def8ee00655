package chart

import (
	"math"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// ticks returns the marks of an axis from 0 to at least most: 4 to 8 multiples
// of 1, 2 or 5 times a power of ten, and of at least 1, because all values are
// counts.
func ticks(most float64, atMost int) []float64 {
	most = max(most, 1)
	step := math.Pow(10, math.Floor(math.Log10(most/float64(atMost))))
	for _, m := range []float64{1, 2, 5, 10} {
		if s := max(step*m, 1); most/s <= float64(atMost) {
			step = s
			break
		}
	}
	var marks []float64
	for v := 0.0; ; v += step {
		marks = append(marks, v)
		if v >= most {
			return marks
		}
	}
}

// short writes a number for an axis: 9,500, 12k, 1.5M.
func short(v float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if v >= unit.of {
			if unit.name == "k" {
				unit.of = 1e3
			}
			return strconv.FormatFloat(math.Round(v/unit.of*10)/10, 'f', -1, 64) + unit.name
		}
	}
	return text.Thousands(int64(math.Round(v)))
}

// exact writes a value in full: 12,345 or, of a rate, 0.6.
func exact(v float64) string {
	if v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return text.Thousands(int64(v))
}

const day = 24 * time.Hour

// timeSteps are the distances that a time axis has between its marks.
var timeSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 365 * day, 3650 * day, 36500 * day,
}

// timeTicks returns the marks of a time axis, and how to write them.
func timeTicks(from, until time.Time, room float64) (marks []time.Time, labels []string) {
	span := until.Sub(from)
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if float64(span)/float64(s)*(width(layout(s))+14) <= room {
			step = s
			break
		}
	}
	at := from.UTC().Truncate(step)
	if at.Before(from) {
		at = at.Add(step)
	}
	for ; !at.After(until); at = at.Add(step) {
		format := layout(step)
		if step < day && at.Equal(at.Truncate(day)) {
			format = "2 Jan"
		}
		marks, labels = append(marks, at), append(labels, at.Format(format))
	}
	return marks, labels
}

// layout is how a mark is written, as a layout of package time.
func layout(step time.Duration) string {
	switch {
	case step < time.Minute:
		return "15:04:05"
	case step < day:
		return "15:04"
	case step < 91*day:
		return "2 Jan"
	}
	return "Jan 2006"
}

// extent writes two times, to the second if they are close.
func extent(from, until time.Time) string {
	format := "2006-01-02 15:04"
	if until.Sub(from) < 10*time.Minute {
		format += ":05"
	}
	return from.UTC().Format(format) + " – " + until.UTC().Format(format) + " UTC"
}
