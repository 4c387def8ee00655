package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

var monday = time.Unix(1_700_000_040, 0)

// journal is a recorder and the lines that it has logged.
type journal struct {
	*app.Recorder
	mu  sync.Mutex
	log bytes.Buffer
}

func newJournal() *journal {
	j := &journal{}
	j.Recorder = app.NewRecorder(slog.New(slog.NewJSONHandler(j, nil)), true)
	return j
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.Write(line)
}

// failed is a line of a failure; HeldBack is 0 on the first.
type failed struct {
	Action, Rule, Key, Error string
	HeldBack                 int `json:"held_back"`
}

// take returns the lines since it was asked last, and for how many failures they stand.
func (j *journal) take(t *testing.T) (lines []failed, count int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for from := json.NewDecoder(&j.log); ; {
		var line failed
		if err := from.Decode(&line); errors.Is(err, io.EOF) {
			return lines, count
		} else if err != nil {
			t.Fatal(err)
		}
		lines, count = append(lines, line), count+max(1, line.HeldBack)
	}
}

// decide is a decision about nothing that is on trial.
func (j *journal) decide(after time.Duration) {
	j.Decided(context.Background(), monday.Add(after), &engine.Decision{})
}

func (j *journal) fail(action, rule, key string, err error) {
	j.StoreFailed(context.Background(), action, rule, key, err)
}

// throttled is what DynamoDB says in an outage: no two errors read the same.
func throttled(n int) error {
	return fmt.Errorf("table counters: %w (%w)", dynamo.ErrThrottled, fmt.Errorf("RequestID: %d", n))
}

// throttling is a store that cannot be asked.
type throttling struct {
	engine.Store
	asked int
}

func (s *throttling) Charge(context.Context, time.Time, *limit.Charge, *limit.Verdict) error {
	s.asked++
	return throttled(s.asked)
}

// broken are overrides of which every item is broken.
type broken struct{}

func (broken) Override(_ context.Context, _ time.Time, rule, key string) (*rules.Override, error) {
	return nil, fmt.Errorf("%w: override of rule %s for key %s:1:2: capacty: unknown field", ruletable.ErrUnreadable, rule, key)
}

// TestFloodOfFailures sends 1,000 requests a second for half a minute, each with a key of its own, while the store cannot
// be asked or no override can be read: a line at once and one in ten seconds stand for all of them.
func TestFloodOfFailures(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`rules: [{name: api, key: "ip:{ip}", overrides: true, on_error: allow, limits: [{capacity: 4, window: 60s}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]app.Config{
		"on_error: allow":      {Store: &throttling{}},
		"read override: allow": {Store: memory.New(0), Overrides: broken{}},
	} {
		j := newJournal()
		config.Rules, config.Recorder = engine.Fixed{Set: set}, j.Recorder
		e := app.NewEngine(config)
		const requests = 30_000
		for n := range requests {
			req := &rules.Request{Method: "GET", Path: "/", IP: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})}
			if _, err := e.Decide(context.Background(), monday.Add(time.Duration(n)*time.Millisecond), req); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if lines, _ := j.take(t); len(lines) != 1 || lines[0].Action != name || lines[0].Rule != "api" || lines[0].Key != "ip:10.0.0.0" {
					t.Fatalf("%s: at once %+v", name, lines)
				}
			}
		}
		j.Flush(context.Background())
		lines, count := j.take(t)
		if len(lines) != 3 || count != requests-1 || lines[2].Key != fmt.Sprintf("ip:10.0.%d.%d", (requests-1)>>8, (requests-1)&255) {
			t.Errorf("%s: %d lines for %d failures, want 3 for the other %d: %+v", name, len(lines), count, requests-1, lines)
		}
	}
}

// TestKindsOfFailures: what differs in more than its key and its words is told at once.
func TestKindsOfFailures(t *testing.T) {
	for name, test := range map[string]struct {
		action, rule, key string
		err               error
		told              bool
	}{
		"the same":              {"settle", "api", "k", throttled(1), false},
		"another key":           {"settle", "api", "other", throttled(1), false},
		"in other words":        {"settle", "api", "k", throttled(2), false},
		"seen from elsewhere":   {"settle", "api", "k", fmt.Errorf("again: %w", throttled(2)), false},
		"another action":        {"give back", "api", "k", throttled(1), true},
		"another rule":          {"settle", "chat", "k", throttled(1), true},
		"another reason":        {"settle", "api", "k", fmt.Errorf("table counters: %w", dynamo.ErrTimeout), true},
		"nobody's reason":       {"settle", "api", "k", context.DeadlineExceeded, true},
		"a reason with reasons": {"settle", "api", "k", errors.Join(dynamo.ErrForeign, dynamo.ErrThrottled), true},
		"what wraps nothing":    {"settle", "api", "k", nothing{}, true},
	} {
		j := newJournal()
		j.fail("settle", "api", "k", throttled(1))
		j.take(t)
		j.fail(test.action, test.rule, test.key, test.err)
		want := failed{test.action, test.rule, test.key, test.err.Error(), 0}
		if lines, _ := j.take(t); (len(lines) == 1) != test.told || test.told && lines[0] != want {
			t.Errorf("%s: logged %+v", name, lines)
		}
		j.Flush(context.Background())
		if want.HeldBack = 1; !test.told {
			if lines, _ := j.take(t); len(lines) != 1 || lines[0] != want {
				t.Errorf("%s: in the end logged %+v, want %+v", name, lines, want)
			}
		}
	}
}

// nothing says that it wraps errors, and has none.
type nothing struct{}

func (nothing) Error() string   { return "nothing" }
func (nothing) Unwrap() []error { return nil }

// TestFailuresInTime is a trace of one kind: after which decision, how many fail then, and what is logged by that.
func TestFailuresInTime(t *testing.T) {
	j := newJournal()
	for i, step := range []struct {
		at    time.Duration // of the decision that comes first
		fail  int
		lines int
		count int
	}{
		{0, 3, 1, 1},
		{time.Second, 2, 0, 0}, // ten seconds begin
		{11*time.Second - 1, 0, 0, 0},
		{11 * time.Second, 4, 1, 4}, // though nothing has failed of late
		{12 * time.Second, 0, 0, 0},
		{21 * time.Second, 0, 1, 4},
		{30 * time.Second, 1, 0, 0},
		{31 * time.Second, 0, 1, 1},
		{40 * time.Second, 0, 0, 0},
		{41 * time.Second, 1, 1, 1}, // it had not failed for ten seconds
		{42 * time.Second, 1, 0, 0},
		{-time.Hour, 0, 1, 1},               // the clock is put back
		{-time.Hour - time.Second, 1, 0, 0}, // as far as requests side by side may differ
		{-time.Hour + 10*time.Second, 0, 1, 1},
	} {
		j.decide(step.at)
		for n := range step.fail {
			j.fail("settle", "api", "k", throttled(n))
		}
		if lines, count := j.take(t); len(lines) != step.lines || count != step.count {
			t.Errorf("step %d, %v: %d lines for %d failures, want %d for %d", i, step.at, len(lines), count, step.lines, step.count)
		}
	}
	j.Flush(context.Background())
	if lines, _ := j.take(t); len(lines) != 0 {
		t.Errorf("in the end logged %+v again", lines)
	}
}

// TestKindsAreBounded: a hundred kinds are told apart, all others are one.
func TestKindsAreBounded(t *testing.T) {
	j := newJournal()
	for range 2 {
		for n := range 1000 {
			j.fail("settle", fmt.Sprint("rule-", n), "k", throttled(n))
		}
	}
	lines, _ := j.take(t)
	if len(lines) != 101 || lines[100].Rule != "rule-100" {
		t.Errorf("%d lines at once, want 101", len(lines))
	}
	j.decide(0)
	j.decide(10 * time.Second)
	lines, count := j.take(t)
	if len(lines) != 101 || count != 2000-101 {
		t.Errorf("after ten seconds %d lines for %d failures, want 101 for all others", len(lines), count)
	}
	j.decide(20 * time.Second)
	j.fail("settle", "rule-999", "k", throttled(0))
	if lines, _ := j.take(t); len(lines) != 1 || lines[0].Rule != "rule-999" {
		t.Errorf("logged %+v: the kinds were not forgotten", lines)
	}
}

// TestFailuresSideBySide: none is lost and none told twice, however they come together.
func TestFailuresSideBySide(t *testing.T) {
	j := newJournal()
	var wg sync.WaitGroup
	var clock atomic.Int64 // in hundredths of a second
	for range 8 {
		wg.Go(func() {
			for n := range 1000 {
				j.fail("settle", fmt.Sprint("rule-", n%3), "k", throttled(n))
				j.decide(time.Duration(clock.Add(1)) * 10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	j.Flush(context.Background())
	lines, count := j.take(t)
	if count != 8000 {
		t.Errorf("%d lines for %d failures, want them to stand for 8,000", len(lines), count)
	}
	for _, line := range lines {
		if line.Action != "settle" || !strings.Contains(line.Error, "throttles") {
			t.Errorf("logged %+v", line)
		}
	}
}
