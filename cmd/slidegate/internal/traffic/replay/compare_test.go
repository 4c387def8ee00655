package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// compare sends a log through two documents.
func compare(t *testing.T, current, next, log string) *Comparison {
	t.Helper()
	a, _ := newEngine(t, current, memory.New(0), &Failures{})
	b, nextRules := newEngine(t, next, memory.New(0), &Failures{})
	c, err := Compare(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, a, b, nextRules)
	if err != nil {
		t.Fatal(err)
	}
	c.Next = nil // as of a replay of the next rules
	return c
}

const perIP = "rules: [{name: per-ip, key: 'ip:{ip}', limits: [{algorithm: fixed_window, capacity: %d, window: 10s}]}]"

func TestCompare(t *testing.T) {
	log := requests("0 /a", "1 /a", "2 /b", "3 /a", "11 /a", "12 /a", "13 /a")
	var (
		two, three = fmt.Sprintf(perIP, 2), fmt.Sprintf(perIP, 3)
		open       = "rules: []"
		extent     = logs.Extent{Order: logs.ByTime, Requests: 7, First: time.Unix(0, 0), Last: time.Unix(13, 0), Fields: fieldsOfRequests}
	)
	for _, tc := range []struct {
		name, current, next string
		want                Comparison
	}{
		{"the same", two, two, Comparison{}},
		{"tighter", three, two, Comparison{
			ToDenied: 2, Rules: []Change{{"per-ip", "", 2, 0}}, Keys: []Change{{"per-ip", "ip:203.0.113.9", 2, 0}},
		}},
		{"looser", two, three, Comparison{
			ToAllowed: 2, Rules: []Change{{"per-ip", "", 0, 2}}, Keys: []Change{{"per-ip", "ip:203.0.113.9", 0, 2}},
		}},
		{"first rules", open, two, Comparison{
			ToDenied: 3, Rules: []Change{{"per-ip", "", 3, 0}}, Keys: []Change{{"per-ip", "ip:203.0.113.9", 3, 0}},
		}},
		{"no rules any more", two, open, Comparison{
			ToAllowed: 3, Rules: []Change{{"per-ip", "", 0, 3}}, Keys: []Change{{"per-ip", "ip:203.0.113.9", 0, 3}},
		}},
		{"a shadow rule alone", open, "rules: [{name: r, key: all, mode: shadow, limits: [{capacity: 1, window: 1h}]}]", Comparison{}},
		{"deny", open, "deny: [{path: /b}]\nrules: []", Comparison{ToDenied: 1, Rules: []Change{{"deny", "", 1, 0}}}},
		{"no deny", "deny: [{path: /b}]\nrules: []", open, Comparison{ToAllowed: 1, Rules: []Change{{"deny", "", 0, 1}}}},
		{"unmatched", open, "unmatched: deny\nskip: [{path: /a}]\nrules: []", Comparison{ToDenied: 1, Rules: []Change{{"unmatched", "", 1, 0}}}},
		{"an override", three, three + "\noverrides: {per-ip: {'ip:203.0.113.9': {deny: true}}}", Comparison{
			ToDenied: 6, Rules: []Change{{"per-ip", "", 6, 0}}, Keys: []Change{{"per-ip", "ip:203.0.113.9", 6, 0}},
		}},
		{
			// The current rules deny at 2 s and 13 s, the next from 11 s to 13 s.
			"both ways", two, "rules: [{name: late, key: all, limits: [{algorithm: fixed_window, capacity: 4, window: 60s}]}]",
			Comparison{
				ToDenied: 2, ToAllowed: 2, Rules: []Change{{"late", "", 2, 0}, {"per-ip", "", 0, 2}},
				Keys: []Change{{"late", "all", 2, 0}, {"per-ip", "ip:203.0.113.9", 0, 2}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Extent = extent
			if diff := cmp.Diff(&tc.want, compare(t, tc.current, tc.next, log), cmpopts.IgnoreUnexported(logs.Extent{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Requests with ambiguous paths count under the setting that denies them.
func TestCompareAmbiguousPaths(t *testing.T) {
	const byPath = "skip: [{path: /b}]\nrules: []"
	c := compare(t, "rules: []", byPath, requests("0 /a", "1 /a//b", "2 /b;x"))
	want := &Comparison{
		Extent:   logs.Extent{Order: logs.ByTime, Requests: 3, First: time.Unix(0, 0), Last: time.Unix(2, 0), Fields: fieldsOfRequests},
		ToDenied: 2, Rules: []Change{{"ambiguous_paths", "", 2, 0}},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(logs.Extent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each engine gets the request as it was sent, though an engine replaces the
// client's address as its rules say.
func TestCompareGivesEachItsOwnRequest(t *testing.T) {
	const one = "rules: [{name: r, key: 'ip:{ip}', limits: [{algorithm: fixed_window, capacity: 1, window: 1h}]}]"
	line := func(second int, client string) string {
		return fmt.Sprintf(`{"time":%d,"method":"GET","path":"/","ip":"203.0.113.9","headers":{"x-forwarded-for":"%s"}}`+"\n", second, client)
	}
	c := compare(t, "client_ip: {trusted_hops: 1}\n"+one, one, line(1, "192.0.2.1")+line(2, "192.0.2.2")+line(3, "192.0.2.1"))
	want := &Comparison{
		Extent: logs.Extent{
			Order: logs.ByTime, Requests: 3, First: time.Unix(1, 0), Last: time.Unix(3, 0), Fields: []string{"header.x-forwarded-for", "ip", "method", "path", "time"},
		},
		ToDenied: 1,
		Rules:    []Change{{"r", "", 1, 0}}, Keys: []Change{{"r", "ip:203.0.113.9", 1, 0}},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(logs.Extent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c = compare(t, one, "client_ip: {trusted_hops: 1}\n"+one, line(1, "unknown")+line(2, "192.0.2.2"))
	if c.NoAddress != 1 || c.FirstEntry != "x-forwarded-for: unknown" {
		t.Errorf("%d requests without an address, first %q", c.NoAddress, c.FirstEntry)
	}
}

func TestCompareReadsALogOnce(t *testing.T) {
	opened := 0
	log := logs.Log{Name: "log", Format: logs.JSONL, Open: func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader(requests("1 /a") + "broken\n" + requests("2 /b"))), nil
	}}
	var a, b []string
	var last logs.Progress
	c, err := Compare(t.Context(), &logs.Traffic{Logs: []logs.Log{log}, Progress: func(p logs.Progress) { last = p }}, allowAll(&a), allowAll(&b), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 /a", "2 /b"}
	if opened != 1 || !cmp.Equal(a, want) || !cmp.Equal(b, want) || last.Requests != 2 {
		t.Errorf("opened %d times, decided %q and %q, reported %d requests", opened, a, b, last.Requests)
	}
	if c.Skipped != 1 || c.FirstSkipped == nil || c.FirstSkipped.Line != 2 {
		t.Errorf("%d lines skipped, the first %v", c.Skipped, c.FirstSkipped)
	}
}

func TestCompareThatFails(t *testing.T) {
	broken := errors.New("no rules")
	fails := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) { return nil, broken })
	degraded := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
		return &engine.Decision{Allowed: true, Degraded: true}, nil
	})
	shadow := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
		return &engine.Decision{Allowed: true, Shadows: []engine.Verdict{{}, {Degraded: true}}}, nil
	})
	allows := allowAll(new([]string))
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tc := range []struct {
		name          string
		ctx           context.Context
		log           string
		current, next Decider
		want          error
	}{
		{"the current engine", t.Context(), requests("1 /"), fails, allows, broken},
		{"the next engine", t.Context(), requests("1 /"), allows, fails, broken},
		{"the current store", t.Context(), requests("1 /", "2 /"), degraded, fails, ErrDegraded}, // before the next one is called
		{"the next store", t.Context(), requests("1 /", "2 /"), allows, degraded, ErrDegraded},
		{"a shadow rule", t.Context(), requests("1 /", "2 /"), allows, shadow, ErrDegraded},
		{"nothing readable", t.Context(), "x\ny\n", allows, allows, logs.ErrUnreadable},
		{"interrupted", ended, requests("1 /"), allows, allows, context.Canceled},
	} {
		c, err := Compare(tc.ctx, &logs.Traffic{Logs: []logs.Log{text(tc.log)}}, tc.current, tc.next, nil)
		if !errors.Is(err, tc.want) || c == nil || c.Requests != 0 {
			t.Errorf("%s: %v, %+v", tc.name, err, c)
		}
	}
}

// fakeSource has overrides by rule and key, and records the time of each
// lookup.
type fakeSource struct {
	overrides map[string]*rules.Override
	lookups   map[string][]time.Time
}

func (s *fakeSource) Override(_ context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	name := rule + " " + key
	if s.lookups == nil {
		s.lookups = map[string][]time.Time{}
	}
	s.lookups[name] = append(s.lookups[name], now)
	if name == "api broken" {
		return nil, errDown
	}
	return s.overrides[name], nil
}

func capacityOf(n int64) map[string]int64 { return map[string]int64{"": n} }

// Overrides and grants end by the log's clock, but are looked up at one time.
func TestOverridesFollowTheLogsClock(t *testing.T) {
	at := time.Unix(2_000_000_000, 0)
	source := &fakeSource{overrides: map[string]*rules.Override{
		"api raised": {Capacity: capacityOf(2)},
		"api ends":   {Capacity: capacityOf(2), Until: time.Unix(130, 0)},
		"api granted": {Grants: []rules.Grant{
			{Add: 1, From: time.Unix(60, 0), Until: time.Unix(120, 0)}, {Add: 1, From: time.Unix(120, 0), Until: time.Unix(240, 0)},
			{Add: 1, From: time.Unix(180, 0), Until: time.Unix(240, 0)},
		}},
		"api undated": {Grants: []rules.Grant{{Add: 1, Until: time.Unix(120, 0)}}},
		"plan moved":  {Plan: "pro", Until: time.Unix(120, 0)},
	}}
	set, err := rulefile.Parse("rules.yaml", []byte(`
plan: {from: jwt.plan, overrides: "{jwt.sub}"}
plans: {pro: {api: 2}}
rules: [{name: api, key: "{jwt.sub}", overrides: true, limits: [{algorithm: fixed_window, capacity: 1, window: 60s}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: set}, Overrides: Overrides{Source: source, At: at}, Store: memory.New(0), Local: memory.New(0), Observer: &Failures{},
	})
	keys := []string{"plain", "raised", "ends", "granted", "undated", "moved"}
	var log strings.Builder
	for _, minute := range []string{"0", "60", "120", "180"} {
		for _, key := range keys {
			log.WriteString(strings.Repeat(`{"time":`+minute+`,"path":"/","jwt":{"sub":"`+key+`"}}`+"\n", 5))
		}
	}
	got := map[string][4]int{} // how many of five were allowed in each minute
	decide := deciderFunc(func(now time.Time, req *request.Request) (*engine.Decision, error) {
		d, err := e.Decide(t.Context(), now, req)
		if err == nil && d.Allowed {
			sub := req.Claims["sub"].(string)
			n := got[sub]
			n[now.Unix()/60]++
			got[sub] = n
		}
		return d, err
	})
	if _, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log.String())}}, Options{Engine: decide}); err != nil {
		t.Fatal(err)
	}
	want := map[string][4]int{
		"plain": {1, 1, 1, 1}, "raised": {2, 2, 2, 2}, "ends": {2, 2, 2, 1},
		"granted": {1, 2, 2, 3}, "undated": {2, 2, 1, 1}, "moved": {2, 2, 1, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, times := range source.lookups {
		for _, lookup := range times {
			if !lookup.Equal(at) {
				t.Errorf("%s was looked up at %v, want %v", name, lookup, at)
			}
		}
	}
	if n := len(source.overrides["api granted"].Grants); n != 3 {
		t.Errorf("the shared override has %d grants left", n)
	}
}
