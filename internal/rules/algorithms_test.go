package rules

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine may have no zone database

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
)

const days = 24 * time.Hour

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameLimits compares locations by their names.
var sameLimits = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

// Each algorithm has its own fields and its own defaults.
func TestAlgorithms(t *testing.T) {
	calendar := func(unit limit.Unit, zone string, anchor int) *limit.Calendar {
		return &limit.Calendar{Unit: unit, Location: place(t, zone), Anchor: anchor}
	}
	for _, tt := range []struct {
		fields string
		want   limit.Limit
	}{
		{"algorithm: sliding_window_counter, capacity: 100, window: 60s",
			limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 100, Window: time.Minute, Granularity: time.Minute}},
		{"algorithm: sliding_window_counter, capacity: 1, window: 100ms",
			limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 1, Window: 100 * time.Millisecond, Granularity: 100 * time.Millisecond}},
		{"algorithm: sliding_window_counter, capacity: 1, window: 61s", // no default granularity to look for
			limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 1, Window: 61 * time.Second, Granularity: 61 * time.Second}},
		{"algorithm: sliding_window_log, capacity: 1000, window: 3650d",
			limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 1000, Window: 3650 * days, Granularity: limit.Exact}},
		{"algorithm: token_bucket, capacity: 100, window: 60s",
			limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100, Window: time.Minute, Burst: 100}},
		{"algorithm: token_bucket, capacity: 100, window: 60s, burst: 1",
			limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100, Window: time.Minute, Burst: 1}},
		{"algorithm: token_bucket, capacity: 1, window: 3650d",
			limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1, Window: 3650 * days, Burst: 1}},
		{"algorithm: token_bucket, capacity: 4294967295, window: 3650d",
			limit.Limit{Algorithm: limit.TokenBucket, Capacity: limit.MaxCapacity, Window: 3650 * days, Burst: limit.MaxCapacity}},
		{"algorithm: token_bucket, capacity: 100000000, window: 100ms", // one in a nanosecond
			limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100_000_000, Window: 100 * time.Millisecond, Burst: 100_000_000}},
		{"algorithm: leaky_bucket, capacity: 5, window: 1s",
			limit.Limit{Algorithm: limit.LeakyBucket, Capacity: 5, Window: time.Second, Burst: 5}},
		{"algorithm: leaky_bucket, capacity: 5, window: 1s, queue: 50",
			limit.Limit{Algorithm: limit.LeakyBucket, Capacity: 5, Window: time.Second, Burst: 50}},

		{"algorithm: fixed_window, capacity: 9, window: 1d", // 24 hours, which are the days of UTC
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: days, Granularity: days}},
		{"algorithm: fixed_window, capacity: 9, window: 1d, timezone: UTC",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: days, Granularity: days}},
		{"algorithm: fixed_window, capacity: 9, window: 1d, timezone: Europe/Berlin",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: days, Granularity: days, Calendar: calendar(limit.Day, "Europe/Berlin", 0)}},
		{"algorithm: fixed_window, capacity: 9, window: 7d", // from Thursday to Thursday, as the epoch was one
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 7 * days, Granularity: 7 * days}},
		{"algorithm: fixed_window, capacity: 9, window: 1w",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 7 * days, Granularity: 7 * days, Calendar: calendar(limit.Week, "UTC", 0)}},
		{"algorithm: fixed_window, capacity: 9, window: 1w, timezone: America/Port-au-Prince",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 7 * days, Granularity: 7 * days, Calendar: calendar(limit.Week, "America/Port-au-Prince", 0)}},
		{"algorithm: fixed_window, capacity: 9, window: 1mo",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 30 * days, Granularity: 30 * days, Calendar: calendar(limit.Month, "UTC", 0)}},
		{"algorithm: fixed_window, capacity: 9, window: '1mo', timezone: Etc/GMT+5, anchor: 28",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 30 * days, Granularity: 30 * days, Calendar: calendar(limit.Month, "Etc/GMT+5", 28)}},
		{"capacity: 9, window: 1w", // no other algorithm follows the calendar
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 7 * days, Granularity: 7 * days, Calendar: calendar(limit.Week, "UTC", 0)}},
		{"capacity: 9, window: 1mo, timezone: Asia/Tokyo, anchor: 3",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 30 * days, Granularity: 30 * days, Calendar: calendar(limit.Month, "Asia/Tokyo", 3)}},
		{"capacity: 9, window: 1d, timezone: Asia/Tokyo",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: days, Granularity: days, Calendar: calendar(limit.Day, "Asia/Tokyo", 0)}},
		{"capacity: 9, window: 1d", // 24 hours, which any algorithm can count
			limit.Limit{Capacity: 9, Window: days, Granularity: 24 * time.Minute}},
		{"algorithm: fixed_window, capacity: 9, window: 1mo, anchor: 1",
			limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: 30 * days, Granularity: 30 * days, Calendar: calendar(limit.Month, "UTC", 1)}},
	} {
		got := parse(t, "rules: [{name: r, key: all, limits: [{"+tt.fields+"}]}]").Rules[0].Limits
		if diff := cmp.Diff([]limit.Limit{tt.want}, got, sameLimits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
		if err := (&limit.Charge{Key: "k", Limits: got, Costs: []int64{1}}).Check(); err != nil {
			t.Errorf("%s: %v", tt.fields, err)
		}
	}
}

// Time zones whose name depends on the machine are refused.
func TestTimezones(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{"UTC", true}, {"Europe/Berlin", true}, {"America/Argentina/Buenos_Aires", true}, {"EST5EDT", true}, {"Etc/GMT-14", true},
		{"Local", false}, {"''", false}, {"localtime", false}, {"right/UTC", false}, {"posix/UTC", false}, {"europe/berlin", false},
		{"Europe/Berln", false}, {"../UTC", false}, {"/etc/localtime", false}, {"+02:00", false}, {"CEST", false}, {"Europe/", false},
	} {
		s, err := read(t, "f", "rules: [{name: r, key: all, limits: [{algorithm: fixed_window, capacity: 1, window: 1mo, timezone: "+tt.name+"}]}]")
		switch {
		case tt.name == "''" && err != nil && strings.HasSuffix(err.Error(), "timezone: is empty: write text, such as Europe/Berlin"):
		case !tt.ok && (err == nil || !strings.HasSuffix(err.Error(), "write a name of the IANA time zone database, such as Europe/Berlin or UTC")):
			t.Errorf("%s: error %v", tt.name, err)
		case tt.ok && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.ok && s.Rules[0].Limits[0].Calendar.Location.String() != tt.name:
			t.Errorf("%s: got %v", tt.name, s.Rules[0].Limits[0].Calendar.Location)
		}
	}
}

// With over: clamp, a cost above the limit's capacity takes all of it.
func TestClamp(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   []int64
	}{
		{"limits: [{capacity: 10, window: 1s, cost: 11, over: clamp}]", []int64{10}},
		{"limits: [{capacity: 10, window: 1s, cost: 10, over: clamp}]", []int64{10}},
		{"limits: [{capacity: 10, window: 1s, cost: 0, over: clamp}]", []int64{0}},
		{"cost: 4294967295, limits: [{over: clamp, algorithm: token_bucket, capacity: 10, burst: 3, window: 1s}]", []int64{3}},
		{"cost: 99, limits: [{over: clamp, algorithm: leaky_bucket, capacity: 10, queue: 30, window: 1s}]", []int64{30}},
		{"cost: 20, limits: [{name: b, capacity: 20, window: 1s}, {name: a, capacity: 5, window: 1s, over: clamp}]", []int64{5, 20}},
	} {
		r := parse(t, "rules: [{name: r, key: all, "+tt.fields+"}]").Rules[0]
		if diff := cmp.Diff(tt.want, costs(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

func TestAtomic(t *testing.T) {
	const rest = "key: all, limits: [{capacity: 1, window: 1s}]}"
	s := parse(t, "rules: [{name: a, atomic: true, "+rest+", {name: b, atomic: false, "+rest+", {name: c, "+rest+"]")
	if !s.Rules[0].Atomic || s.Rules[1].Atomic || s.Rules[2].Atomic {
		t.Errorf("got %t, %t and %t", s.Rules[0].Atomic, s.Rules[1].Atomic, s.Rules[2].Atomic)
	}
	for text, is := range map[string]string{"yes": "text: write true", "1": "a number", "'true'": "text: write true", "": "empty", "[true]": "a list"} {
		_, err := read(t, "f", "rules: [{name: a, atomic: "+text+", "+rest+"]")
		if want := "f:1:27: rules[0].atomic: must be true or false, and is " + is; err == nil || !strings.HasSuffix(err.Error(), want[len("f:1:27"):]) {
			t.Errorf("atomic: %s: got %v, want %s", text, err, want)
		}
	}
}
