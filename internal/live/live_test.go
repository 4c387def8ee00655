package live

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/telemetry"
	"github.com/slidegate/slidegate/internal/telemetry/metric"
)

var start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// TestDenials: of a flood the observer keeps five requests a second, each of
// another key, and fifty in all.
func TestDenials(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`{deny: [{path: /admin}], rules: [{name: api, key: 'u:{header.u}', limit: 1/day}]}`))
	if err != nil {
		t.Fatal(err)
	}
	kept := NewDenials(engine.NoObserver{})
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
		{1, 2, "/", "ada", "3 01 limited api u:ada, 2 00 banned, 1 00 limited api u:ada"},
	} {
		send(step.second, step.n, step.path, step.user)
		if got := shown(); got != step.want {
			t.Fatalf("after %+v: %s", step, got)
		}
	}
	for user := range 8 {
		send(2, 3, "/", fmt.Sprint(user))
	}
	if kept.latest != 8 { // five of the eight keys
		t.Errorf("a second of eight keys left %d denials", kept.latest)
	}
	for second := 3; second < 63; second++ {
		send(second, 2, "/", "ada")
	}
	_, first := kept.find(kept.latest - 50)
	last, found := kept.find(kept.latest - 49)
	if len(kept.ring) != 50 || len(kept.list()) != 20 || first || !found || last.ID != kept.latest-49 {
		t.Errorf("kept %d, listed %d, found %t %t", len(kept.ring), len(kept.list()), first, found)
	}
	for _, id := range []int64{-1, 0, kept.latest + 1} {
		if _, found := kept.find(id); found {
			t.Errorf("found denial %d", id)
		}
	}
}

// TestRates: a bucket has what was counted in its five seconds. Ticks may come
// late, and those of a machine that slept have only the last ten minutes.
func TestRates(t *testing.T) {
	var r rates
	for _, step := range []struct {
		at        float64 // seconds since the start
		decisions int64   // since the start
		want      string  // of the last buckets, after the empty ones of the start
	}{
		{0, 100, "[]"}, // serve decided before
		{4.9, 130, "[]"},
		{5, 140, "[40]"},
		{9.9, 150, "[40]"},
		{12, 170, "[40 30]"},
		{15, 170, "[40 30 0]"},
		{31, 176, "[40 30 0 6 0 0]"},
		{5000, 200, fmt.Sprint(make([]int64, 120))},
	} {
		now := start.Add(time.Duration(step.at * float64(time.Second)))
		s := &telemetry.Snapshot{Counters: map[string]int64{metric.Decisions: step.decisions}}
		r.sample(now, s)
		got := make([]int64, 0, len(r.buckets))
		for _, b := range r.buckets {
			got = append(got, b.decisions)
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

// TestRatesByRule: buckets have rules that denied, also those that were new.
func TestRatesByRule(t *testing.T) {
	b := difference(
		&telemetry.Snapshot{Rules: map[string]map[string]int64{"a": {metric.Denied: 9}, "b": {metric.ShadowDenied: 3}, "c": {metric.Denied: 5}}},
		&telemetry.Snapshot{Rules: map[string]map[string]int64{"a": {metric.Denied: 2}, "c": {metric.Denied: 5}}})
	if got := fmt.Sprint(b.rules); got != "map[a:{0 7 0} b:{0 0 3}]" {
		t.Errorf("got %s", got)
	}
}
