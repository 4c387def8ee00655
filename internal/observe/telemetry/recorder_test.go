package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

var (
	epoch   = time.Unix(1_700_000_040, 0)
	errDown = errors.New("store is down")
)

// counts are counters that are not 0, by metric, or by rule and metric.
type counts map[string]int64

// TestCounts: what each metric counts, by requests for paths one after another.
func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		rules  string
		hook   fakestore.Hook
		paths  string
		finish *engine.Outcome // of each allowed request; nil for none
		want   counts
	}{
		"denied by a rule": {
			rules: `rules: [{name: api, key: all, limit: 3/hour}]`,
			paths: "/ / / / /",
			want:  counts{"Decisions": 5, "Denied": 2, "api Denied": 2, "NearLimit": 1, "api NearLimit": 1},
		},
		"the second of two rules denies": {
			rules: `rules: [{name: wide, key: all, limit: 100/hour}, {name: narrow, key: all, limit: 1/hour}]`,
			paths: "/ / /",
			want:  counts{"Decisions": 3, "Denied": 2, "narrow Denied": 2, "NearLimit": 1, "narrow NearLimit": 1, "SnapshotDenials": 2},
		},
		"refunded, because a later rule denies": {
			rules: `rules: [{name: wide, key: all, limit: 100/hour}, {name: narrow, key: all, limit: 1/hour}]`,
			hook:  fakestore.Down(errDown, "narrow"),
			paths: "/ /",
			want:  counts{"Decisions": 2, "Denied": 1, "narrow Denied": 1, "Degraded": 2, "Refunded": 1},
		},
		"denied by no rule": {
			rules: `{unmatched: deny, deny: [{path: /banned}], rules: [{name: api, when: {path: /api}, key: all, limit: 9/hour}]}`,
			paths: "/banned /other /api",
			want:  counts{"Decisions": 3, "Denied": 2},
		},
		"units around 80% of a limit": {
			rules: `rules: [{name: api, key: all, limits: [{capacity: 100, window: 1h, cost: {from: header.x-cost, min: 1, max: 100}}]}]`,
			paths: "/?78 /?5 /?2 /?20 /?15",
			want:  counts{"Decisions": 5, "Denied": 1, "api Denied": 1, "NearLimit": 3 + 2 + 15, "api NearLimit": 20},
		},
		"units of a bucket": {
			rules: `rules: [{name: api, key: all, limits: [{algorithm: token_bucket, capacity: 10, window: 1h, burst: 5}]}]`,
			paths: "/ / / / /",
			want:  counts{"Decisions": 5, "NearLimit": 1, "api NearLimit": 1},
		},
		"shadow rules and candidates": {
			rules: `rules: [
				{name: strict, mode: shadow, key: all, limit: 1/hour}, {name: stricter, mode: shadow, key: all, limit: 1/hour},
				{name: api, key: all, limits: [{capacity: 20, window: 1h, candidate: 2}]}]`,
			paths: "/ / /",
			want:  counts{"Decisions": 3, "ShadowDenied": 2, "strict ShadowDenied": 2, "stricter ShadowDenied": 2, "api candidate ShadowDenied": 1},
		},
		"degraded": {
			rules: `{defaults: {instances: 1}, rules: [{name: api, on_error: local, key: all, limit: 2/hour}]}`,
			hook:  fakestore.Fail(errDown),
			paths: "/ / /",
			want:  counts{"Decisions": 3, "Degraded": 3, "Denied": 1, "api Denied": 1},
		},
		"settled": {
			rules:  `rules: [{name: chat, key: all, limits: [{capacity: 100, window: 1h, cost: {from: header.x-cost, min: 1, max: 9, settle: true}}]}]`,
			finish: &engine.Outcome{Status: 200, Costs: map[string]int64{"chat": 3}},
			paths:  "/?1 /?3 /?9",
			want:   counts{"Decisions": 3, "Settled": 2},
		},
		"refunded by the outcome": {
			rules:  `rules: [{name: api, key: all, refund_on: 5xx, limit: 100/hour}]`,
			finish: &engine.Outcome{Status: 503},
			paths:  "/ /",
			want:   counts{"Decisions": 2, "Refunded": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := telemetry.NewRecorder(telemetry.Options{})
			e := newEngine(t, test.rules, test.hook, recorder)
			for path := range strings.FieldsSeq(test.paths) {
				if d := decide(t, e, epoch, path); d.Allowed && test.finish != nil {
					e.Finish(t.Context(), epoch, d, test.finish)
				}
			}
			if diff := cmp.Diff(test.want, flat(recorder.Snapshot(epoch))); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

func newEngine(t testing.TB, rules string, hook fakestore.Hook, o engine.Observer) *engine.Engine {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(hook), Local: memory.New(0), Observer: o})
}

// decide makes a request for a path. Its query is the field x-cost.
func decide(t testing.TB, e *engine.Engine, now time.Time, path string) *engine.Decision {
	t.Helper()
	path, cost, _ := strings.Cut(path, "?")
	d, err := e.Decide(context.Background(), now, &request.Request{
		Method: "GET", Path: path, IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"x-cost": {cost}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func flat(s *telemetry.Snapshot) counts {
	all := counts{}
	for name, n := range s.Counters {
		if n > 0 {
			all[name] = n
		}
	}
	for rule, by := range s.Rules {
		for name, n := range by {
			all[rule+" "+name] = n
		}
	}
	return all
}

// TestRequests: requests to DynamoDB count as writes or reads, and each as an
// attempt with its time. Other stores count by calls.
func TestRequests(t *testing.T) {
	recorder := telemetry.NewRecorder(telemetry.Options{})
	for operation, took := range map[string]time.Duration{
		"UpdateItem": 125 * time.Millisecond, "TransactWriteItems": 126 * time.Millisecond, "GetItem": time.Minute, "DescribeTable": 0,
	} {
		recorder.Sent(operation, took)
	}
	s := recorder.Snapshot(epoch)
	if diff := cmp.Diff(counts{"StoreAttempts": 4, "Writes": 2, "Reads": 1}, flat(s)); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	if got, want := buckets(s), "0.1ms 1, 125ms 1, 160ms 1, more 1"; got != want {
		t.Errorf("times: %s, want %s", got, want)
	}

	now := epoch
	recorder = telemetry.NewRecorder(telemetry.Options{Now: func() time.Time { now = now.Add(2 * time.Millisecond); return now }})
	e := newEngine(t, `rules: [{name: api, key: all, limit: 1/hour}]`, nil, recorder)
	decide(t, e, epoch, "/")
	s = recorder.Snapshot(epoch)
	if diff := cmp.Diff(counts{"Decisions": 1, "NearLimit": 1, "api NearLimit": 1, "StoreAttempts": 1}, flat(s)); diff != "" || buckets(s) != "2ms 1" {
		t.Errorf("times: %s, counters (-want +got):\n%s", buckets(s), diff)
	}
}

// buckets lists the buckets of the store's times that are not empty.
func buckets(s *telemetry.Snapshot) string {
	var all []string
	for i, n := range s.Latency.Counts {
		if n == 0 {
			continue
		}
		end := "more"
		if bounds := telemetry.Bounds(); i < len(bounds) {
			end = fmt.Sprintf("%gms", float64(bounds[i].Microseconds())/1000)
		}
		all = append(all, fmt.Sprintf("%s %d", end, n))
	}
	return strings.Join(all, ", ")
}

// TestStates: a snapshot has the states of its own moment. What is taken has the
// most that a decision saw, however much later it is taken.
func TestStates(t *testing.T) {
	var confirmed time.Time
	open := true
	recorder := telemetry.NewRecorder(telemetry.Options{
		RulesConfirmed: func() time.Time { return confirmed }, BreakerOpen: func() bool { return open }, RulesBreakerOpen: func() bool { return !open }, LocalKeys: func() int { return 7 },
	})
	e := newEngine(t, `rules: []`, nil, recorder)
	for _, step := range []struct {
		at, confirmed time.Duration // since the start; confirmed is 0 for never
		open          bool
		age, breaker  float64
	}{
		{0, 0, true, 0, 1}, {5 * time.Second, 0, true, 5, 1}, {20 * time.Second, 18 * time.Second, false, 2, 0}, {time.Minute, 18 * time.Second, false, 42, 0},
	} {
		if open = step.open; step.confirmed > 0 {
			confirmed = epoch.Add(step.confirmed)
		}
		decide(t, e, epoch.Add(step.at), "/")
		open = !open
		got, later := recorder.Take().Gauges, recorder.Snapshot(epoch.Add(step.at+time.Hour)).Gauges
		want := map[string]float64{metric.RulesVersion: 0, metric.RulesAge: step.age, metric.BreakerOpen: step.breaker, metric.RulesBreakerOpen: 1 - step.breaker, metric.LocalKeys: 7}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("taken at %s (-want +got):\n%s", step.at, diff)
		}
		want[metric.RulesAge], want[metric.BreakerOpen], want[metric.RulesBreakerOpen] = step.age+3600, 1-step.breaker, step.breaker
		if diff := cmp.Diff(want, later); diff != "" {
			t.Errorf("an hour after %s (-want +got):\n%s", step.at, diff)
		}
	}
}

// TestTopKeys: a snapshot lists the keys that were denied most and those nearest
// their limits, of the latest one to two minutes.
func TestTopKeys(t *testing.T) {
	recorder := telemetry.NewRecorder(telemetry.Options{})
	e := newEngine(t, `rules: [{name: api, key: "user:{header.x-cost}", limit: 10/day}]`, nil, recorder)
	for user, requests := range map[string]int{"a": 15, "b": 12, "c": 9, "d": 8} {
		for range requests {
			decide(t, e, epoch, "/?"+user)
		}
	}
	next := epoch.Add(time.Minute)
	decide(t, e, next, "/?a")
	denied := []telemetry.TopKey{{Rule: "api", Key: "user:a", Count: 6}, {Rule: "api", Key: "user:b", Count: 2}}
	near := []telemetry.TopKey{
		{Rule: "api", Key: "user:a", Count: 2, Share: 1}, {Rule: "api", Key: "user:b", Count: 2, Share: 1}, {Rule: "api", Key: "user:c", Count: 1, Share: .9},
	}
	s := recorder.Snapshot(next)
	if diff := cmp.Diff(denied, s.TopDenied) + cmp.Diff(near, s.TopNear); diff != "" {
		t.Errorf("top keys (-want +got):\n%s", diff)
	}
	if s := recorder.Snapshot(next.Add(2 * time.Minute)); len(s.TopDenied)+len(s.TopNear) > 0 {
		t.Errorf("two minutes later there are %v and %v", s.TopDenied, s.TopNear)
	}
}

// TestCallsThatSendNothing: a call that a snapshot or an open breaker kept from
// the store is no request to it.
func TestCallsThatSendNothing(t *testing.T) {
	r := telemetry.NewRecorder(telemetry.Options{Now: time.Now})
	for _, err := range []error{nil, errors.New("refused"), limit.ErrNotAsked, fmt.Errorf("redis: %w", breaker.ErrOpen)} {
		r.StoreCall(t.Context(), engine.CallCharge)(err)
	}
	if s := r.Snapshot(time.Now()); s.Counters[metric.StoreAttempts] != 2 || s.Latency.Count() != 2 {
		t.Errorf("counted %v", s.Counters)
	}
}

// TestPlaces: to renew a place and to give it back are requests to the store, and
// correct no charge.
func TestPlaces(t *testing.T) {
	r := telemetry.NewRecorder(telemetry.Options{Now: time.Now})
	for _, call := range []string{engine.CallCharge, engine.CallRenew, engine.CallClose} {
		r.StoreCall(t.Context(), call)(nil)
	}
	if c := r.Snapshot(time.Now()).Counters; c[metric.StoreAttempts] != 3 || c[metric.Settled]+c[metric.Refunded] != 0 {
		t.Errorf("counted %v", c)
	}
}

// TestParts: a snapshot while requests go on has no more denials than decisions.
func TestParts(t *testing.T) {
	recorder := telemetry.NewRecorder(telemetry.Options{})
	e := newEngine(t, `rules: [{name: api, key: all, limit: 1/hour}]`, nil, recorder)
	decide(t, e, epoch, "/")
	var flood sync.WaitGroup
	for range 4 {
		flood.Go(func() {
			for range 2000 {
				decide(t, e, epoch, "/")
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		flood.Wait()
		close(ended)
	}()
	for under := true; under; {
		select {
		case <-ended:
			under = false
		default:
		}
		s := recorder.Snapshot(epoch)
		free, denied, all := s.Counters[metric.SnapshotDenials], s.Counters[metric.Denied], s.Counters[metric.Decisions]
		if free > denied || denied > all || !under && denied != all-1 {
			t.Fatalf("%d denied by a snapshot, %d denied, %d decided", free, denied, all)
		}
	}
}
