package limit_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may lack the zones

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// zones change their clocks at midnight, by half an hour, by two hours, by a
// whole day, and not at all.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Asia/Kathmandu",
	"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Antarctica/Troll", "Africa/Monrovia",
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func drawZone(t *rapid.T) *time.Location {
	location, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// TestWindows checks the start and the end of the window that contains a time,
// where calendars are odd. TestZones has every zone.
func TestWindows(t *testing.T) {
	for _, test := range []struct {
		zone             string
		calendar         limit.Calendar
		at, starts, ends string
	}{
		{"UTC", limit.Calendar{Unit: limit.Day}, "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"Europe/Berlin", limit.Calendar{Unit: limit.Day}, "2024-03-31T12:00:00+02:00", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00"},
		{"Pacific/Apia", limit.Calendar{Unit: limit.Day}, "2011-12-29T23:59:59-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},             // there was no 30th
		{"America/Havana", limit.Calendar{Unit: limit.Day}, "2026-03-07T23:59:59.999999999-05:00", "2026-03-07T00:00:00-05:00", "2026-03-08T01:00:00-04:00"}, // no midnight
		{"America/Santiago", limit.Calendar{Unit: limit.Day}, "2026-04-04T23:30:00-04:00", "2026-04-04T00:00:00-03:00", "2026-04-05T00:00:00-04:00"},         // 23:00 twice, midnight once
		{"Atlantic/Azores", limit.Calendar{Unit: limit.Day}, "2026-10-24T23:30:00-01:00", "2026-10-25T00:00:00Z", "2026-10-26T00:00:00-01:00"},               // after the first of two midnights
		{"Pacific/Kwajalein", limit.Calendar{Unit: limit.Day}, "1969-09-30T12:00:00-12:00", "1969-09-30T00:00:00+11:00", "1969-10-01T00:00:00-12:00"},        // the 30th came twice
		{"UTC", limit.Calendar{Unit: limit.Week}, "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"},
		{"UTC", limit.Calendar{Unit: limit.Month}, "1969-12-31T00:00:00Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"UTC", limit.Calendar{Unit: limit.Month, Anchor: 28}, "2023-02-28T00:00:00Z", "2023-02-28T00:00:00Z", "2023-03-28T00:00:00Z"},
		{"UTC", limit.Calendar{Unit: limit.Month, Anchor: 29}, "2023-02-27T23:59:59Z", "2023-01-29T00:00:00Z", "2023-02-28T00:00:00Z"},
		{"UTC", limit.Calendar{Unit: limit.Month, Anchor: 31}, "2027-02-28T00:00:00Z", "2027-02-28T00:00:00Z", "2027-03-31T00:00:00Z"},
		{"UTC", limit.Calendar{Unit: limit.Month, Anchor: 31}, "2027-03-31T00:00:00Z", "2027-03-31T00:00:00Z", "2027-04-30T00:00:00Z"},
		{"America/New_York", limit.Calendar{Unit: limit.Month, Anchor: 15}, "2024-03-01T00:00:00-05:00", "2024-02-15T00:00:00-05:00", "2024-03-15T00:00:00-04:00"},
	} {
		of := test.calendar
		of.Location = zone(t, test.zone)
		l, at := calendar(1, &of), moment(t, test.at)
		window := l.SlotAt(at)
		starts, ends := at.Add(l.Until(window, at)), at.Add(l.Until(window+1, at))
		if !starts.Equal(moment(t, test.starts)) || !ends.Equal(moment(t, test.ends)) {
			t.Errorf("%s in %s: window from %s to %s, want from %s to %s", test.at, test.zone,
				starts.Format(time.RFC3339), ends.Format(time.RFC3339), test.starts, test.ends)
		}
	}
}

func moment(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestNumbersOfWindows fixes the numbers of windows, because stored counters
// contain them.
func TestNumbersOfWindows(t *testing.T) {
	for _, test := range []struct {
		unit limit.Unit
		at   time.Time
		want int64
	}{
		{limit.Day, time.Date(1970, time.January, 1, 23, 0, 0, 0, time.UTC), 0},
		{limit.Day, time.Date(1969, time.December, 31, 1, 0, 0, 0, time.UTC), -1},
		{limit.Day, time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC), 20778},
		{limit.Week, time.Date(1970, time.January, 4, 23, 0, 0, 0, time.UTC), 0}, // a Sunday
		{limit.Week, time.Date(1970, time.January, 5, 0, 0, 0, 0, time.UTC), 1},
		{limit.Week, time.Date(1969, time.December, 29, 0, 0, 0, 0, time.UTC), 0},
		{limit.Week, time.Date(1969, time.December, 28, 23, 0, 0, 0, time.UTC), -1},
		{limit.Month, time.Date(1970, time.January, 31, 0, 0, 0, 0, time.UTC), 0},
		{limit.Month, time.Date(1969, time.December, 31, 0, 0, 0, 0, time.UTC), -1},
		{limit.Month, time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC), 682},
	} {
		l := calendar(1, &limit.Calendar{Unit: test.unit, Location: time.UTC})
		if got := l.SlotAt(test.at); got != test.want {
			t.Errorf("unit %d: %v is in window %d, want %d", test.unit, test.at, got, test.want)
		}
	}
}

// FuzzCalendar checks that every time is in exactly one window, between the
// start and the end that Until returns.
func FuzzCalendar(f *testing.F) {
	for i := range zones {
		f.Add(int64(1_700_000_040_000_000_000), uint8(i), uint8(i), uint8(i))
	}
	f.Add(time.Date(2011, time.December, 30, 10, 0, 0, 0, time.UTC).UnixNano(), uint8(8), uint8(0), uint8(0)) // Apia skips a day
	f.Add(time.Date(2018, time.November, 4, 3, 0, 0, 0, time.UTC).UnixNano(), uint8(3), uint8(0), uint8(0))   // São Paulo, midnight
	f.Add(int64(-1), uint8(0), uint8(2), uint8(28))
	earliest, latest := time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	var locations []*time.Location
	for _, name := range zones {
		locations = append(locations, zone(f, name))
	}
	f.Fuzz(func(t *testing.T, ns int64, in, unit, anchor uint8) {
		at := time.Unix(0, min(max(ns, earliest), latest))
		of := &limit.Calendar{Unit: limit.Unit(unit % 3), Location: locations[int(in)%len(locations)]}
		if of.Unit == limit.Month {
			of.Anchor = int(anchor) % 32
		}
		l := calendar(1, of)
		window := l.SlotAt(at)
		starts, ends := l.Until(window, at), l.Until(window+1, at)
		if starts > 0 || ends <= 0 {
			t.Errorf("%v in %s is in window %d, which starts in %v and ends in %v", at, of.Location, window, starts, ends)
		}
		if next := l.SlotAt(at.Add(1)); next < window || ends > 1 && next != window {
			t.Errorf("%v in %s is in window %d, a nanosecond later in %d", at, of.Location, window, next)
		}
		if again := l.SlotAt(at.Add(ends)); again <= window {
			t.Errorf("%v in %s is in window %d, which ends in %v, when window %d has begun", at, of.Location, window, ends, again)
		}
	})
}
