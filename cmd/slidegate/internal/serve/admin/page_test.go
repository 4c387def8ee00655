package admin

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// TestDenials: of a flood the observer keeps five requests a second, one a
// minute of each key, and fifty in all.
func TestDenials(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`{deny: [{path: /admin}], rules: [{name: api, key: 'u:{header.u}', limit: 1/day}]}`))
	if err != nil {
		t.Fatal(err)
	}
	kept := NewObserver(engine.NoObserver{})
	decide := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0), Observer: kept})
	send := func(second, n int, path, user string) {
		for range n {
			req := &request.Request{Method: "GET", Path: path, IP: netip.MustParseAddr("192.0.2.1"), Headers: map[string][]string{"U": {user}}}
			if _, err := decide.Decide(t.Context(), start.Add(time.Duration(second)*time.Second), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	shown := func() string {
		var all []string
		for _, d := range kept.list() {
			all = append(all, fmt.Sprintf("%d %s %s%s", d.ID, d.At.Format("05"), d.Reason, strings.TrimPrefix(" "+d.By+" "+d.Key, "  ")))
		}
		return strings.Join(all, ", ")
	}
	for _, step := range []struct {
		second, n  int
		path, user string
		want       string
	}{
		{0, 1, "/", "ada", ""},
		{0, 9, "/", "ada", "1 00 limited api u:ada"},
		{0, 3, "/admin", "ada", "2 00 banned, 1 00 limited api u:ada"},
		{1, 2, "/", "ada", "2 00 banned, 1 00 limited api u:ada"},
	} {
		send(step.second, step.n, step.path, step.user)
		if got := shown(); got != step.want {
			t.Fatalf("after %+v: %s", step, got)
		}
	}
	for user := range 8 {
		send(2, 3, "/", fmt.Sprint(user))
	}
	if kept.latest != 7 { // five of the eight keys
		t.Errorf("a second of eight keys left %d denials", kept.latest)
	}
	send(59, 1, "/", "ada")
	if kept.latest != 7 {
		t.Error("a key is listed twice in a minute")
	}
	send(60, 1, "/", "ada")
	if kept.latest != 8 {
		t.Error("a key that is denied for a minute is not listed again")
	}
	for second := 61; second < 121; second++ {
		send(second, 2, "/", fmt.Sprint("user", second))
	}
	_, first := kept.find(kept.latest - 50)
	last, found := kept.find(kept.latest - 49)
	if len(kept.kept) != 50 || len(kept.list()) != 20 || first || !found || last.ID != kept.latest-49 {
		t.Errorf("kept %d, listed %d, found %t %t", len(kept.kept), len(kept.list()), first, found)
	}
	if text := execute("denials", &view{Latest: kept.list()}); !strings.Contains(text, "The latest 20, ") || strings.Count(text, "<details") != 20 {
		t.Errorf("the page shows %s", text)
	}
	for _, id := range []int64{-1, 0, kept.latest + 1} {
		if _, found := kept.find(id); found {
			t.Errorf("found denial %d", id)
		}
	}
}

// TestRates: a bucket has what was decided in its five seconds. Ticks may come
// late, and those of a machine that slept have only the last ten minutes.
func TestRates(t *testing.T) {
	r, recorder := rates{until: start.Add(bucketTime)}, telemetry.NewRecorder(telemetry.Options{})
	for _, step := range []struct {
		at      float64 // seconds since the start
		decided int     // before it, and after the step before
		want    string  // of the last buckets, after the empty ones of the start
	}{
		{0, 0, "[]"},
		{4.9, 30, "[]"},
		{5, 10, "[40]"},
		{9.9, 10, "[40]"},
		{12, 20, "[40 30]"}, // the tick is two seconds late
		{15, 0, "[40 30 0]"},
		{31, 6, "[40 30 0 6 0 0]"},
		{5000, 24, fmt.Sprint(make([]int64, 120))},
	} {
		for range step.decided {
			recorder.Decided(t.Context(), start, nil, &engine.Decision{Allowed: true})
		}
		now := start.Add(time.Duration(step.at * float64(time.Second)))
		r.roll(now, recorder.Counted)
		got := make([]int64, 0, len(r.ended))
		for _, b := range r.ended {
			got = append(got, total(b).Allowed)
		}
		if fmt.Sprint(got) != step.want {
			t.Errorf("at %v: %v, want %s", step.at, got, step.want)
		}
		all, from := r.all()
		if end := from.Add(time.Duration(len(all)) * bucketTime); now.Sub(end) < 0 || now.Sub(end) >= bucketTime || len(all) < fewBuckets {
			t.Errorf("at %v: %d buckets from %v", step.at, len(all), from)
		}
	}
}

// TestRatesByRule: each rule counts what it allowed, what it would have denied in
// shadow or with a candidate, and what it denied. Of a denied request, only the
// rule that denied it counts, and nobody counts a ban.
func TestRatesByRule(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`
deny: [{path: /admin}]
rules:
- {name: api, key: all, limits: [{name: day, capacity: 4, window: 1d, candidate: 3}]}
- {name: next, mode: shadow, key: all, limit: 1/day}
- {name: last, key: all, limits: [{name: day, capacity: 9, window: 1d, candidate: 1}, {name: hour, capacity: 9, window: 1h, candidate: 1}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	seen := telemetry.NewRecorder(telemetry.Options{})
	decide := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0), Observer: seen})
	r := rates{until: start.Add(bucketTime), last: seen.Counted()}
	for _, path := range []string{"/", "/", "/", "/", "/", "/", "/admin"} {
		if _, err := decide.Decide(t.Context(), start, &request.Request{Method: "GET", Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	r.roll(start.Add(bucketTime), seen.Counted)
	buckets, _ := r.all()
	got := buckets[len(buckets)-1]
	for name, want := range map[string]replay.Counts{
		"api":  {Allowed: 3, WouldDeny: 1, Denied: 2},
		"next": {Allowed: 1, WouldDeny: 3},
		"last": {WouldDeny: 4}, // each candidate would deny three
	} {
		if counts := ofRule(got, set.Document().Rule(name)); counts != want {
			t.Errorf("rule %s: %+v, want %+v", name, counts, want)
		}
	}
	if want := (replay.Counts{Allowed: 1, WouldDeny: 3, Denied: 3}); total(got) != want {
		t.Errorf("all: %+v, want %+v", total(got), want)
	}
}
