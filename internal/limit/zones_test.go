package limit_test

import (
	"archive/zip"
	"flag"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

var wide = flag.Bool("wide", false, "check every zone with every day on which months can start, as make test-wide does")

const day = 24 * time.Hour

// TestZones checks windows around each change of clocks from 1930 to 2199, and
// around the ends of years, in the zones that Go embeds as time/tzdata. Windows
// are those of the latest date that the zone's clocks have shown, and begin when
// they first show it.
func TestZones(t *testing.T) {
	for i, location := range embedded(t) {
		if !*wide && i%16 != 0 && !slices.Contains(zones, location.String()) {
			continue
		}
		h := newHistory(location)
		for _, at := range h.times() {
			for _, of := range calendars(location, at) {
				h.check(t, of, at)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// embedded returns the zones that differ from those before them, by name.
func embedded(t *testing.T) (distinct []*time.Location) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	seen := map[string]bool{}
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		source, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(source)
		if err != nil {
			t.Fatal(err)
		}
		location, err := time.LoadLocationFromTZData(file.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		if !seen[string(data)] || slices.Contains(zones, file.Name) {
			distinct = append(distinct, location)
		}
		seen[string(data)] = true
	}
	return distinct
}

// calendars returns the calendars of a zone whose windows may begin about a time.
func calendars(location *time.Location, at time.Time) (cs []limit.Calendar) {
	cs = []limit.Calendar{{Unit: limit.Day, Location: location}, {Unit: limit.Week, Location: location}}
	near := []int{at.In(location).Day(), at.Add(day).In(location).Day(), 31}
	for anchor := range 32 {
		if *wide || slices.Contains(near, anchor) {
			cs = append(cs, limit.Calendar{Unit: limit.Month, Location: location, Anchor: anchor})
		}
	}
	return cs
}

// history is what the clocks of a zone have shown.
type history struct {
	location *time.Location
	changes  []change
}

// change is a change of clocks, before which they showed dates up to latest.
type change struct {
	at     time.Time
	latest int64
}

// newHistory finds the changes by looking at each day.
func newHistory(location *time.Location) *history {
	offset := func(seconds int64) int {
		_, offset := time.Unix(seconds, 0).In(location).Zone()
		return offset
	}
	h := &history{location: location}
	from, to := time.Date(1930, 1, 2, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2199, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	latest := int64(-1 << 62)
	for s := from; s < to; s += 86400 {
		low, high := s, s+86400
		before := offset(low)
		if before == offset(high) {
			continue
		}
		for high-low > 1 {
			if middle := (low + high) / 2; offset(middle) == before {
				low = middle
			} else {
				high = middle
			}
		}
		at := time.Unix(high, 0)
		latest = max(latest, date(at.Add(-1).In(location)))
		h.changes = append(h.changes, change{at, latest})
	}
	return h
}

// times returns the times to check.
func (h *history) times() (at []time.Time) {
	for _, c := range h.changes {
		for _, off := range []time.Duration{-day, -time.Hour, -1, 0, 1, time.Hour, day} {
			at = append(at, c.at.Add(off))
		}
	}
	for year := 1931; year < 2199; year++ {
		at = append(at, time.Date(year, 12, 31, 12, 0, 0, 0, time.UTC))
	}
	return at
}

// date returns the days from 1 January 1970 to a local date.
func date(local time.Time) int64 {
	year, month, day := local.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// latest returns the latest date that the clocks have shown by a time.
func (h *history) latest(at time.Time) int64 {
	latest := date(at.In(h.location))
	for i := len(h.changes) - 1; i >= 0; i-- {
		if c := h.changes[i]; !c.at.After(at) {
			return max(latest, c.latest)
		}
	}
	return latest
}

// expected returns the window of a date.
func expected(of limit.Calendar, date int64) int64 {
	switch of.Unit {
	case limit.Day:
		return date
	case limit.Week:
		return (date+3+7*10_000)/7 - 10_000
	}
	d := time.Unix(date*86400, 0).UTC()
	window := int64(d.Year()-1970)*12 + int64(d.Month()) - 1
	if d.Day() < of.Anchor && d.Month() == d.Add(day).Month() { // the last day always begins one
		window--
	}
	return window
}

func (h *history) check(t *testing.T, of limit.Calendar, at time.Time) {
	t.Helper()
	l := calendar(1, &of)
	window := l.SlotAt(at)
	if want := expected(of, h.latest(at)); window != want {
		t.Errorf("unit %d, anchor %d: %v is in window %d, want %d", of.Unit, of.Anchor, at.In(h.location), window, want)
	}
	shown := expected(of, date(at.In(h.location)))
	if l.Until(shown, at) >= l.Until(shown+1, at) {
		t.Errorf("unit %d, anchor %d: the window of %v is empty", of.Unit, of.Anchor, at.In(h.location))
	}
	for w := window; w <= window+1; w++ {
		start := at.Add(l.Until(w, at))
		length := l.Until(w+1, start)
		if before, then := l.SlotAt(start.Add(-1)), l.SlotAt(start); before >= w || then < w || then == w != (length > 0) {
			t.Errorf("unit %d, anchor %d: window %d is from %v for %v, but a nanosecond earlier is in window %d and this in %d",
				of.Unit, of.Anchor, w, start.In(h.location), length, before, then)
		}
		if first := expected(of, date(start.In(h.location))); length > 0 && first != w {
			t.Errorf("unit %d, anchor %d: window %d starts at %v, a date of window %d", of.Unit, of.Anchor, w, start.In(h.location), first)
		}
	}
}
