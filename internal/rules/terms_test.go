package rules

import (
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine may have no zone database

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// Overrides and grants change the terms of a rule. What does not fit is ignored and
// reported as stale.
func TestTerms(t *testing.T) {
	s := parse(t, kinds+`
  journal: {all: {capacity: 1000}}
`)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	grant := func(limit string, add int64, lasts time.Duration) Grant {
		return Grant{Limit: limit, Add: add, Until: now.Add(lasts)}
	}
	for _, tt := range []struct {
		name, rule, plan string
		o                Override
		stale            bool
		want             string
	}{
		{"no override", "api", "", Override{}, false, "100/1m0s cost 1"},
		{"a grant", "api", "", Override{Grants: []Grant{grant("", 50, 1)}}, false, "150/1m0s cost 1"},
		{"two grants", "api", "", Override{Grants: []Grant{grant("", 50, 1), grant("", 7, time.Hour)}}, false, "157/1m0s cost 1"},
		{"a grant that has ended", "api", "", Override{Grants: []Grant{grant("", 50, 0)}}, false, "100/1m0s cost 1"},
		{"on top of a plan", "api", "pro", Override{Grants: []Grant{grant("", 50, 1)}}, false, "6050/1m0s cost 1"},
		{"on top of a capacity", "api", "", Override{Capacity: map[string]int64{"": 7}, Grants: []Grant{grant("", 50, 1)}}, false, "57/1m0s cost 1"},
		{"up to what can be counted", "api", "", Override{Grants: []Grant{grant("", 1<<50, 1)}}, false, "999999999999999/1m0s cost 1"},
		{"beyond what can be counted", "api", "", Override{Grants: []Grant{grant("", math.MaxInt64, 1)}}, false, "999999999999999/1m0s cost 1"},
		{"more than a log keeps", "journal", "", Override{Grants: []Grant{grant("", 999, 1)}}, true, "10/1m0s cost 1"},
		{"to a limit that is gone", "chat", "", Override{Grants: []Grant{grant("words", 9, 1)}}, true, "requests 10/1m0s cost 5, tokens 4000/1m0s cost 5"},
		{"a capacity of a limit that is gone", "chat", "", Override{Capacity: map[string]int64{"words": 9, "tokens": 8}}, true,
			"requests 10/1m0s cost 5, tokens 8/1m0s cost 5"},
		{"a capacity that is beyond a log", "journal", "", Override{Capacity: map[string]int64{"": 1001}}, true, "10/1m0s cost 1"},
		{"a grant for a client's key", "partner", "", Override{Grants: []Grant{grant("", 9, 1)}}, true, "100/1m0s cost 1"},
		{"a client's key raises nothing", "partner", "", Override{Capacity: map[string]int64{"": 1000}}, false, "100/1m0s cost 1"},
		{"a client's key is not unlimited", "partner", "", Override{Unlimited: true}, true, "100/1m0s cost 1"},
		{"a client's key has no limits of its own", "partner", "", Override{Limits: []limit.Limit{{Capacity: 999, Window: time.Second}}}, true, "100/1m0s cost 1"},
		{"a client's key lowers a limit", "partner", "", Override{Capacity: map[string]int64{"": 10}}, false, "10/1m0s cost 1"},
		{"a client's key lowers a plan", "partner", "pro", Override{Capacity: map[string]int64{"": 150}}, false, "150/1m0s cost 1"},
		{"ended", "api", "", Override{Capacity: map[string]int64{"": 7}, Until: now}, false, "100/1m0s cost 1"},
		{"not ended", "api", "", Override{Capacity: map[string]int64{"": 7}, Until: now.Add(1)}, false, "7/1m0s cost 1"},
	} {
		r, _ := s.Rule(tt.rule)
		terms := r.Terms(&request.Request{}, tt.plan, &tt.o, now)
		if got := describeTerms(terms); got != tt.want || terms.Stale != tt.stale {
			t.Errorf("%s: %s, stale %t; want %s, %t", tt.name, got, terms.Stale, tt.want, tt.stale)
		}
		if before := own(r); r.Item("k", terms) != r.Item("k", before) {
			t.Errorf("%s: another counter", tt.name)
		}
	}
}

// Once an override's limits have ended, months start again on the request's day.
func TestAnchorAfterOverride(t *testing.T) {
	r := parse(t, "rules: [{name: r, key: k, overrides: true, limits: [{capacity: 9, window: 1mo, anchor: {from: jwt.day}}]}]").Rules[0]
	o, err := parseOverride("o", []byte("{limits: [{capacity: 1, window: 1s}], until: 2026-01-01T00:00:00Z}"))
	if err != nil {
		t.Fatal(err)
	}
	req := user("GET", "/", claimSet{"day": "7"})
	for now, want := range map[time.Time]string{
		o.Until.Add(-1): "1/1s cost 1",
		o.Until:         "9/720h0m0s from day 7 cost 1",
	} {
		terms := r.Terms(req, "", o, now)
		if got := describeTerms(terms); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	s := parse(t, `
plan: {from: jwt.plan}
plans: {pro: {r: {a: 999999999999999, b: 50, c: 3}}}
rules:
- name: r
  key: k
  limits:
  - {name: a, capacity: 100, window: 1s, candidate: 150%}
  - {name: b, capacity: 100, window: 1s, candidate: 80}
  - {name: c, capacity: 100, window: 1s, candidate: 1%}
  - {name: d, capacity: 100, window: 1s}`)
	for plan, want := range map[string][4]int64{"": {150, 80, 1, 0}, "pro": {999999999999999, 0, 1, 0}} {
		terms := s.Rules[0].Terms(&request.Request{}, plan, nil, time.Time{})
		for i := range want {
			if got, ok := terms.Candidate(i); got != want[i] || ok != (want[i] > 0) {
				t.Errorf("plan %q, limit %d: %d, %t; want %d", plan, i, got, ok, want[i])
			}
		}
	}
	terms := own(s.Rules[0])
	if _, ok := terms.Candidate(7); ok {
		t.Error("an unknown limit has a candidate")
	}
}

func TestResolvePlan(t *testing.T) {
	s := parse(t, threePlans)
	pro := &request.Request{Claims: claimSet{"plan": "pro"}}
	for _, tt := range []struct {
		name    string
		o       *Override
		inForce bool
		plan    string
		denied  bool
		stale   bool
	}{
		{"none", nil, false, "pro", false, false},
		{"another plan", &Override{Plan: "enterprise"}, true, "enterprise", false, false},
		{"a plan that is gone", &Override{Plan: "gold"}, true, "", false, true},
		{"a plan that is gone, ended", &Override{Plan: "gold"}, false, "pro", false, false},
		{"an override without a plan", &Override{Unlimited: true}, true, "pro", false, true},
		{"ended", &Override{Plan: "enterprise"}, false, "pro", false, false},
		{"denied", &Override{Deny: true, Plan: "gold"}, true, "", true, false},
	} {
		if plan, denied, stale := s.ResolvePlan(pro, tt.o, tt.inForce); plan != tt.plan || denied != tt.denied || stale != tt.stale {
			t.Errorf("%s: %q, denied %t, stale %t; want %q, %t, %t", tt.name, plan, denied, stale, tt.plan, tt.denied, tt.stale)
		}
	}
	for _, req := range []*request.Request{{}, {Claims: claimSet{"plan": "gold"}}, {Claims: claimSet{"plan": []any{"pro"}}}, {Rejected: true, Claims: claimSet{"plan": "pro"}}} {
		if plan := s.Plan(req); plan != "" {
			t.Errorf("%+v: plan %q", req, plan)
		}
	}
	without := parse(t, "rules: []")
	if _, ok := without.AppendPlanKey(nil, pro); ok || without.Plan(pro) != "" {
		t.Error("a document without plans has some")
	}
}

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
		{"algorithm: token_bucket, capacity: 999999999999999, window: 3650d",
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

// A cost may be 0, and may be the whole capacity. With over: clamp, one above it
// takes all of it.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   []int64
	}{
		{"limits: [{capacity: 10, window: 1s}]", []int64{1}},
		{"limits: [{capacity: 10, window: 1s, cost: 0}]", []int64{0}},
		{"cost: 10, limits: [{capacity: 10, window: 1s}]", []int64{10}},
		{"cost: 30, limits: [{name: b, capacity: 10, window: 1s, cost: 1}, {name: a, capacity: 10, window: 1s, cost: 7}]", []int64{7, 1}},
		{"limits: [{capacity: 10, window: 1s, cost: 11, over: clamp}]", []int64{10}},
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
