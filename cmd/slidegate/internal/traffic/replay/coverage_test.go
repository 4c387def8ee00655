package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// A rule covers the requests that it matches and that come to the rules, also if
// another one denies them or an override lifts it.
func TestCovered(t *testing.T) {
	log := strings.Join([]string{
		`{"time":1,"method":"PUT","path":"/other","ip":"203.0.113.9"}`,
		`{"time":5,"path":"/full","ip":"203.0.113.9"}`,
		`{"time":6,"path":"/health","ip":"203.0.113.9"}`,
		`{"time":7,"path":"/banned","ip":"203.0.113.9"}`,
		`{"time":8,"path":"/lifted","ip":"203.0.113.9"}`,
		`{"time":9,"path":"/users/7","route":"/users/{id}","ip":"203.0.113.9"}`,
	}, "\n")
	for _, tc := range []struct {
		name, rule string
		covers     bool
	}{
		{"a path of no request", "when: {path: /v1/**}", false},
		{"a method", "when: {path: /other, methods: [GET, POST]}", false},
		{"unless", "unless: {cidrs: [203.0.113.0/24]}", false},
		{"skip", "when: {path: /health}", false},
		{"deny", "when: {path: /banned}", false},
		{"a request that another rule denies", "when: {path: /full}", true},
		{"a request for which an override lifts it", "overrides: true, when: {path: /lifted}", true},
		{"a request by its route", "when: {route: '/users/{id}'}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, set := newEngine(t, fmt.Sprintf(`
skip: [{path: /health}]
deny: [{path: /banned}]
overrides: {r: {"ip:203.0.113.9": {unlimited: true}}, full: {"ip:203.0.113.9": {deny: true}}}
rules:
  - {name: full, when: {path: /full}, key: "ip:{ip}", overrides: true, limit: 1/minute}
  - {name: beside, when: {path: /lifted}, key: "ip:{ip}", limit: 1/minute}
  - {name: r, key: "ip:{ip}", limit: 1/minute, %s}`, tc.rule), memory.New(0), &Failures{})
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
			if err != nil {
				t.Fatal(err)
			}
			if r := report.Rules[2]; r.Covered != tc.covers {
				t.Errorf("covered: %v, want %v", r.Covered, tc.covers)
			}
		})
	}
}

// A rule that first covers a request late in a long log has covered one.
func TestARuleThatCoversLate(t *testing.T) {
	e, set := newEngine(t, "rules: [{name: r, when: {path: /late}, key: all, limit: 1/minute}]", memory.New(0), &Failures{})
	lines := strings.Repeat(requests("1 /"), 5000) + requests("1 /late") + strings.Repeat(requests("1 /"), 5000)
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(lines)}}, Options{Engine: e, Rules: set})
	if err != nil || !report.Rules[0].Covered {
		t.Errorf("%v, %+v", err, report.Rules[0])
	}
}

// Every field that a rule reads counts, for what it is read first. An empty value
// is none.
func TestLackingFields(t *testing.T) {
	e, set := newEngine(t, `
plan: {from: jwt.plan}
plans: {pro: {r: {units: 5}}}
rules:
  - name: r
    key: "{ip}|{header.x-user}|{query.q}|{path.id}|{stage}|{route}|{apikey}|{jwt.sub}|{method}"
    overrides: "user:{jwt.sub}|tenant:{jwt.tenant}"
    limits: [{name: units, capacity: 100, window: 1mo, anchor: {from: jwt.day}, cost: {from: header.x-cost, min: 1, max: 2}}]
`, memory.New(0), &Failures{})
	log := `{"time":1,"method":"PUT","path":"/?q=1","ip":"203.0.113.9","headers":{"X-User":"7","x-cost":"1"},"path_params":{"id":"7"},"stage":"prod","route":"/","apikey":"k",
		"jwt":{"sub":"7","plan":"free","day":3,"tenant":"t","roles":"user"}}`
	log = strings.ReplaceAll(log, "\n", "") + "\n" + `{"time":2,"path":"/?q=","headers":{"x-user":""}}` + "\n"
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	want := []Lack{
		{"ip", "key", 1}, {"header.x-user", "key", 1}, {"query.q", "key", 1}, {"path.id", "key", 1}, {"stage", "key", 1},
		{"route", "key", 1}, {"apikey", "key", 1}, {"jwt.sub", "key", 1}, {"method", "key", 1}, {"header.x-cost", "cost", 1},
		{"jwt.plan", "plan", 1},
	}
	if diff := cmp.Diff(want, report.Rules[0].Lacking); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fields := []string{
		"apikey", "header.x-cost", "header.x-user", "ip", "jwt.day", "jwt.plan", "jwt.roles", "jwt.sub", "jwt.tenant", "method", "path", "path.id", "route", "stage", "time",
	}
	if diff := cmp.Diff(fields, report.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Of a request whose method the log does not have, only rules without methods
// count anything: it is no GET.
func TestWithoutMethod(t *testing.T) {
	e, set := newEngine(t, `
skip: [{methods: [GET], path: /health}]
rules:
  - {name: reads, when: {methods: [GET]}, key: all, limit: 1/minute}
  - {name: writes, when: {methods: [POST]}, key: all, limit: 1/minute}
  - {name: but-reads, unless: {methods: [GET]}, key: all, limit: 2/minute}
  - {name: any, key: all, limit: 5/minute}
`, memory.New(0), &Failures{})
	log := `{"time":1,"method":"GET","path":"/a"}
{"time":2,"path":"/a"}
{"time":3,"method":"-","path":"/health"}
{"time":4,"method":null,"path":"/a"}`
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range report.Rules {
		got = append(got, fmt.Sprintf("%s %d/%d", r.Rule, r.Allowed, r.Denied))
	}
	want := "reads 1/0, writes 0/0, but-reads 2/1, any 3/0"
	if got := strings.Join(got, ", "); got != want || report.NoMethod != 3 {
		t.Errorf("%s, %d without a method; want %s, 3", got, report.NoMethod, want)
	}
}

// Requests at these seconds, and the most of them in any minute: to the
// nanosecond, and by slots of a second.
func TestPeaksOf(t *testing.T) {
	windows := []PeakWindow{
		ExactWindow(time.Minute), WindowOf(&limit.Limit{Window: time.Minute, Granularity: time.Second}),
		WindowOf(&limit.Limit{Algorithm: limit.FixedWindow, Window: time.Minute, Granularity: time.Minute}),
	}
	for _, tc := range []struct{ seconds, want string }{
		{"0", "1 at 0, by slots 1, from minute to minute 1"},
		{"0 59.999999999", "2 at 60, by slots 2, from minute to minute 2"},
		{"0 60", "1 at 0, by slots 2, from minute to minute 1"},     // the oldest slot counts in full
		{"0 60.999", "1 at 0, by slots 2, from minute to minute 1"}, // as long as the newest lasts
		{"0 61", "1 at 0, by slots 1, from minute to minute 1"},
		{"50 55 65 70 109.9 110", "5 at 110, by slots 6, from minute to minute 4"},
		{"10 5 69", "3 at 69, by slots 3, from minute to minute 2"}, // late: 5 counts at 10
		{"-0.5 0.5 59", "3 at 59, by slots 3, from minute to minute 2"},
	} {
		var c Peaks
		for _, text := range strings.Fields(tc.seconds) {
			d, err := time.ParseDuration(text + "s")
			if err != nil {
				t.Fatal(err)
			}
			c.Add(windows, time.Unix(0, int64(d)))
		}
		exact, at := c.Peak(0)
		slots, _ := c.Peak(1)
		fixed, _ := c.Peak(2)
		if got := fmt.Sprintf("%d at %.0f, by slots %d, from minute to minute %d", exact, float64(at.UnixNano())/1e9, slots, fixed); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.seconds, got, tc.want)
		}
	}
}

// limits are windows in the units of the property's times.
var limits = []limit.Limit{
	{Algorithm: limit.SlidingWindow, Window: 60, Granularity: 6},
	{Algorithm: limit.SlidingWindow, Window: 700, Granularity: 70},
	{Algorithm: limit.SlidingWindowLog, Window: 40, Granularity: limit.Exact},
	{Algorithm: limit.FixedWindow, Window: 50, Granularity: 50},
}

// TestBruteForce counts every window again, and has the limits themselves say
// from which capacity on they deny nothing: the peak.
func TestBruteForce(t *testing.T) {
	windows := []PeakWindow{ExactWindow(60), ExactWindow(700)}
	for i := range limits {
		windows = append(windows, WindowOf(&limits[i]))
	}
	rapid.Check(t, func(t *rapid.T) {
		var c Peaks
		var times, sent []int64
		at := int64(rapid.IntRange(-2000, 0).Draw(t, "start"))
		for i, step := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5, 30, 70, 71, 800, -20}), 1, 400).Draw(t, "steps") {
			at += int64(step)
			c.Add(windows, time.Unix(0, at))
			times, sent = append(times, at), append(sent, at)
			if i > 0 {
				times[i] = max(times[i], times[i-1])
			}
		}
		for i, length := range []int64{60, 700} {
			if got, _ := c.Peak(i); got != fullest(times, length) {
				t.Fatalf("exact %d: peak %d, want %d", length, got, fullest(times, length))
			}
		}
		for i, l := range limits {
			peak, _ := c.Peak(2 + i)
			if l.Capacity = peak; denied(&l, sent) {
				t.Fatalf("%v of %d: denied at a capacity of the peak, %d", l.Algorithm, l.Window, peak)
			}
			if l.Capacity = peak - 1; peak > 1 && !denied(&l, sent) {
				t.Fatalf("%v of %d: nothing denied below the peak, %d", l.Algorithm, l.Window, peak)
			}
		}
	})
}

// fullest is the most of the times in any half-open window of a length.
func fullest(times []int64, length int64) (most int64) {
	for _, end := range times {
		n := int64(0)
		for _, at := range times {
			if at <= end && at > end-length {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func denied(l *limit.Limit, sent []int64) bool {
	var state limit.State
	for _, at := range sent {
		if r := state.Decide(l, time.Unix(0, at), 1); !r.Allowed {
			return true
		}
		state.Take(l, time.Unix(0, at), 1)
	}
	return false
}

// A key that goes on for long keeps only the times in its longest window.
func TestMemory(t *testing.T) {
	var c Peaks
	windows := []PeakWindow{ExactWindow(time.Second), ExactWindow(time.Minute)}
	for i := range 1_000_000 {
		c.Add(windows, time.Unix(0, int64(i)*int64(time.Second)/10))
	}
	if got, _ := c.Peak(1); got != 600 || cap(c.times) > 4*600 {
		t.Errorf("peak %d with room for %d times; want 600 and at most 2,400", got, cap(c.times))
	}
}

// fleet hands each request to one of several processes at random, as API Gateway
// does. Each has a store with its own snapshots of one table.
type fleet struct {
	random  *rand.Rand
	engines []*engine.Engine
}

func (f *fleet) Decide(ctx context.Context, now time.Time, req *request.Request) (*engine.Decision, error) {
	return f.engines[f.random.IntN(len(f.engines))].Decide(ctx, now, req)
}

// TestCallsPerDecision has the figures of docs/accuracy.md: calls of DynamoDB per
// decision, for requests at random times by a limit of 100 in 60 seconds.
func TestCallsPerDecision(t *testing.T) {
	const perUser = "rules: [{name: per-user, key: 'user:{header.x-user}', limits: [{capacity: 100, window: 60s}]}]"
	for i, tc := range []struct {
		name              string
		processes, keys   int
		load, minutes     float64 // load is times the limit
		maxWrites, maxAll float64 // per decision
	}{
		{"flood, one process", 1, 3, 60, 3, 0.05, 0.05},
		{"flood, five processes", 5, 3, 60, 3, 0.05, 0.05},
		{"half load, one process", 1, 4, 0.5, 10, 1.01, 1.01},
		{"half load, five processes", 5, 4, 0.5, 10, 1.01, 1.01},
	} {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		table, f, stores := dynamomodel.New("counters", "k"), fleet{random: random}, []*dynamo.Store{}
		var failures Failures
		for range tc.processes {
			store := dynamo.New(table, "counters", dynamo.Options{Wall: time.Now})
			e, _ := newEngine(t, perUser, store, &failures)
			stores, f.engines = append(stores, store), append(f.engines, e)
		}
		var log strings.Builder
		for at := 0.0; at < tc.minutes*60; at += random.ExpFloat64() * 60 / (tc.load * 100 * float64(tc.keys)) {
			fmt.Fprintf(&log, `{"time":%.9f,"path":"/","headers":{"x-user":"%d"}}`+"\n", 1_767_225_600+at, random.IntN(tc.keys))
		}
		report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log.String())}}, Options{Engine: &f})
		if err != nil || failures.First() != nil {
			t.Fatal(err, failures.First())
		}
		var reads, writes float64
		for _, store := range stores {
			r, w := dynamo.Calls(store)
			reads, writes = reads+float64(r)/float64(report.Requests), writes+float64(w)/float64(report.Requests)
		}
		t.Logf("%s: %d requests, %d allowed; per decision %.4f writes, %.4f reads", tc.name, report.Requests, report.Allowed, writes, reads)
		if writes > tc.maxWrites || reads+writes > tc.maxAll || (tc.load > 1) != (report.Denied > report.Allowed) {
			t.Errorf("%s: want at most %g writes and %g calls", tc.name, tc.maxWrites, tc.maxAll)
		}
	}
}
