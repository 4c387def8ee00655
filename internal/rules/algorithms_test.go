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

// Each mistake has one message: fields of other algorithms, and numbers out of range.
func TestAlgorithmErrors(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{"capacity: 1, window: 60s, algorithm: sliding_window_counter, granularity: 60s", "granularity: a sliding_window_counter has no granularity: remove it, or write algorithm: sliding_window"},
		{"capacity: 1, window: 60s, algorithm: sliding_window_log, granularity: 1s", "granularity: a sliding_window_log has no granularity: remove it, or write algorithm: sliding_window"},
		{"capacity: 1, window: 60s, algorithm: token_bucket, granularity: 1s", "granularity: a token_bucket has no granularity: remove it, or write algorithm: sliding_window"},
		{"capacity: 1, window: 60s, algorithm: leaky_bucket, granularity: 1s", "granularity: a leaky_bucket has no granularity: remove it, or write algorithm: sliding_window"},
		{"capacity: 1, window: 60s, burst: 5", "burst: a sliding_window has no burst: remove it, or write algorithm: token_bucket"},
		{"capacity: 1, window: 60s, algorithm: leaky_bucket, burst: 5", "burst: a leaky_bucket has no burst: write queue, or write algorithm: token_bucket"},
		{"capacity: 1, window: 60s, algorithm: fixed_window, queue: 5", "queue: a fixed_window has no queue: remove it, or write algorithm: leaky_bucket"},
		{"capacity: 1, window: 60s, algorithm: token_bucket, queue: 5", "queue: a token_bucket has no queue: write burst, or write algorithm: leaky_bucket"},
		{"capacity: 1, window: 60s, timezone: Europe/Berlin", "timezone: a sliding_window has no timezone: remove it, or write algorithm: fixed_window"},
		{"capacity: 1, window: 60s, algorithm: token_bucket, anchor: 15", "anchor: a token_bucket has no anchor: remove it, or write algorithm: fixed_window"},

		{"capacity: 1, window: 1w, algorithm: sliding_window", "window: a sliding_window does not follow the calendar: write 7d, or algorithm: fixed_window"},
		{"capacity: 1, window: 1mo, algorithm: leaky_bucket", "window: a leaky_bucket does not follow the calendar: write 30d, or algorithm: fixed_window"},
		{"capacity: 1, window: 2w, algorithm: fixed_window", `window: "2w" is no length of time: write numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d, or the calendar's 1w or 1mo`},
		{"capacity: 1, window: 60s, algorithm: fixed_window, timezone: Europe/Berlin", "timezone: goes with the windows 1d, 1w and 1mo: write one of them, or remove timezone"},
		{"capacity: 1, window: 24h, algorithm: fixed_window, timezone: UTC", "timezone: goes with the windows 1d, 1w and 1mo: write one of them, or remove timezone"},
		{"capacity: 1, window: 1w, algorithm: fixed_window, anchor: 3", "anchor: is the day on which months start: write window: 1mo, or remove anchor"},
		{"capacity: 1, window: 1d, algorithm: fixed_window, timezone: Europe/Berlin, anchor: 3", "anchor: is the day on which months start: write window: 1mo, or remove anchor"},
		{"capacity: 1, window: 1mo, algorithm: fixed_window, anchor: 29", "anchor: 29 is out of range: write a number from 1 to 28"},
		{"capacity: 1, window: 1mo, algorithm: fixed_window, anchor: 0", "anchor: 0 is out of range: write a number from 1 to 28"},
		{"capacity: 1, window: 1mo, anchor: {from: jwt.day, default: 29}", "anchor.default: 29 is out of range: write a number from 1 to 28"},
		{"capacity: 1, window: 1mo, anchor: {default: 3}", "anchor: from is missing: write the claim that holds the day, such as from: jwt.billing_day"},
		{"capacity: 1, window: 1mo, anchor: {from: header.x-day}", "anchor.from: header.x-day can be set by any client: use a claim such as jwt.plan, apikey or stage"},
		{"capacity: 1, window: 1mo, anchor: {from: ip}", "anchor.from: ip does not tell callers apart: use a claim such as jwt.plan, apikey or stage"},
		{"capacity: 1, window: 1mo, anchor: {from: jwt}", "anchor.from: jwt needs a name: write jwt.NAME"},
		{"capacity: 1, window: 1mo, anchor: {from: 7}", `anchor.from: must be text, and is a number: write "7"`},
		{"capacity: 1, window: 1w, anchor: {from: jwt.day}", "anchor: is the day on which months start: write window: 1mo, or remove anchor"},
		{"capacity: 1, window: 1mo, algorithm: fixed_window, timezone: 1", `timezone: must be text, and is a number: write "1"`},

		{"capacity: 1001, window: 60s, algorithm: sliding_window_log", "capacity: a sliding_window_log keeps every request, and 1000 is the most: lower it, or write algorithm: sliding_window"},
		{"capacity: 1, window: 99ms, algorithm: sliding_window_counter", "window: 99ms is out of range: write 100ms to 3650d"},
		{"capacity: 9, window: 60s, algorithm: token_bucket, burst: 0", "burst: 0 is out of range: write a number from 1 to 4294967295"},
		{"capacity: 9, window: 60s, algorithm: leaky_bucket, queue: many", "queue: must be a whole number in plain digits without quotes, such as 10"},
		{"capacity: 1, window: 1d, algorithm: token_bucket, burst: 3661", "burst: at 1 in 1d, 3661 take more than ten years: write at most 3660"},
		{"capacity: 7, window: 3650d, algorithm: leaky_bucket, queue: 4294967295", "queue: at 7 in 3650d, 4294967295 take more than ten years: write at most 7"},
		{"capacity: 100000001, window: 100ms, algorithm: token_bucket", "capacity: 100000001 in 100ms is more than one unit in a nanosecond, faster than a bucket counts: write at most 100000000"},

		{"capacity: 5, window: 60s, cost: 6", "cost: 6 is above the capacity 5 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
		{"capacity: 9, window: 60s, algorithm: token_bucket, burst: 5, cost: 6", "cost: 6 is above the burst 5 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the burst, or write over: clamp in the limit"},
		{"capacity: 9, window: 60s, algorithm: leaky_bucket, queue: 5, cost: 6", "cost: 6 is above the queue 5 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the queue, or write over: clamp in the limit"},
		{"capacity: 5, window: 60s, over: deny", `over: unknown value "deny": write clamp`},

		// One mistake, one message: what depends on a field that is wrong is not looked at.
		{"capacity: 1, window: 60s, algorithm: token-bucket, burst: 5, cost: 3", `algorithm: unknown value "token-bucket": did you mean token_bucket?`},
		{"capacity: 1, window: 1mo, algorithm: fixed, timezone: Europe/Berlin", `algorithm: unknown value "fixed": write sliding_window, fixed_window, sliding_window_counter, sliding_window_log, token_bucket or leaky_bucket`},
		{"capacity: 0, window: 60s, algorithm: token_bucket, cost: 6", "capacity: 0 is out of range: write a number from 1 to 4294967295"},
		{"capacity: 5, window: 60, algorithm: leaky_bucket, queue: 7", "window: needs a unit: write 60s for seconds"},
		{"capacity: 5, window: 60, algorithm: fixed_window, timezone: Europe/Berlin", "window: needs a unit: write 60s for seconds"},
	} {
		_, err := read(t, "f", "rules: [{name: r, key: all, limits: [{"+tt.fields+"}]}]")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": rules[0].limits[0]."+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
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
	for text, is := range map[string]string{"yes": "text", "1": "a number", "'true'": "text", "": "empty", "[true]": "a list"} {
		_, err := read(t, "f", "rules: [{name: a, atomic: "+text+", "+rest+"]")
		if want := "f:1:27: rules[0].atomic: must be true or false, and is " + is; err == nil || !strings.HasSuffix(err.Error(), want[len("f:1:27"):]) {
			t.Errorf("atomic: %s: got %v, want %s", text, err, want)
		}
	}
}
