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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// journal is a recorder and the lines that it logged. Tests run in a bubble,
// because the time of a line is the real one.
type journal struct {
	*oplog.Observer
	mu  sync.Mutex
	log bytes.Buffer
}

func newJournal() *journal {
	j := &journal{}
	j.Observer = oplog.NewObserver(slog.New(slog.NewJSONHandler(j, nil)))
	return j
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.Write(line)
}

// failed is a line of a failure.
type failed struct {
	Action, Rule, Key, Error string
	Suppressed               int
}

// take returns the lines since the last call, and the number of failures that
// they stand for.
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
		lines, count = append(lines, line), count+1+line.Suppressed
	}
}

func (j *journal) fail(action, rule, key string, err error) {
	j.StoreFailed(context.Background(), action, rule, key, err)
}

// throttled is an error of DynamoDB in an outage: its text is different each
// time.
func throttled(n int) error {
	return fmt.Errorf("table counters: %w (%w)", dynamo.ErrThrottled, fmt.Errorf("RequestID: %d", n))
}

// unanswered returns a store that never answers.
func unanswered() *fakestore.Store {
	calls := 0
	return fakestore.New(func(*fakestore.Call) error {
		calls++
		return throttled(calls)
	})
}

// broken are overrides whose items are all invalid.
type broken struct{}

func (broken) Override(_ context.Context, _ time.Time, rule, key string) (*rules.Override, error) {
	return nil, fmt.Errorf("%w: override of rule %s for key %s:1:2: capacty: unknown field", ruletable.ErrUnreadable, rule, key)
}

// TestFloodOfFailures sends 1,000 requests a second for half a minute, each
// with another key, while the store does not answer or no override is readable.
// A line at once and one in ten seconds stand for all failures.
func TestFloodOfFailures(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`rules: [{name: api, key: "ip:{ip}", overrides: true, on_error: allow, limits: [{capacity: 4, window: 60s}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]func() engine.Options{
		"on_error: allow":      func() engine.Options { return engine.Options{Store: unanswered()} },
		"read override: allow": func() engine.Options { return engine.Options{Store: memory.New(0), Overrides: broken{}} },
	} {
		synctest.Test(t, func(t *testing.T) {
			j, config := newJournal(), config()
			config.Rules, config.Observer = engine.Fixed{Set: set}, j.Observer
			e := app.NewEngine(config)
			const requests = 30_000
			for n := range requests {
				req := &request.Request{Method: "GET", Path: "/", IP: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})}
				if _, err := e.Decide(context.Background(), time.Now(), req); err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					if lines, _ := j.take(t); len(lines) != 1 || lines[0].Action != name || lines[0].Rule != "api" || lines[0].Key != "ip:10.0.0.0" {
						t.Fatalf("%s: at once %+v", name, lines)
					}
				}
				time.Sleep(time.Millisecond)
			}
			j.Flush(context.Background())
			lines, count := j.take(t)
			if len(lines) != 3 || count != requests-1 || lines[2].Key != fmt.Sprintf("ip:10.0.%d.%d", (requests-1)>>8, (requests-1)&255) {
				t.Errorf("%s: %d lines for %d failures, want 3 for the other %d: %+v", name, len(lines), count, requests-1, lines)
			}
		})
	}
}

// TestKindsOfFailures: a failure with another action, rule or cause is logged
// at once, and one with another key or text is not.
func TestKindsOfFailures(t *testing.T) {
	for name, test := range map[string]struct {
		action, rule, key string
		err               error
		logged            bool
	}{
		"the same":            {"settle", "api", "k", throttled(1), false},
		"another key":         {"settle", "api", "other", throttled(1), false},
		"another text":        {"settle", "api", "k", throttled(2), false},
		"a wrapped error":     {"settle", "api", "k", fmt.Errorf("again: %w", throttled(2)), false},
		"another action":      {"refund", "api", "k", throttled(1), true},
		"another rule":        {"settle", "chat", "k", throttled(1), true},
		"another cause":       {"settle", "api", "k", fmt.Errorf("table counters: %w", dynamo.ErrTimeout), true},
		"a bare cause":        {"settle", "api", "k", context.DeadlineExceeded, true},
		"a cause with others": {"settle", "api", "k", errors.Join(dynamo.ErrForeign, dynamo.ErrThrottled), true},
	} {
		j := newJournal()
		j.fail("settle", "api", "k", throttled(1))
		j.take(t)
		j.fail(test.action, test.rule, test.key, test.err)
		want := failed{test.action, test.rule, test.key, test.err.Error(), 0}
		if lines, _ := j.take(t); (len(lines) == 1) != test.logged || test.logged && lines[0] != want {
			t.Errorf("%s: logged %+v", name, lines)
		}
		j.Flush(context.Background())
		if !test.logged {
			if lines, _ := j.take(t); len(lines) != 1 || lines[0] != want {
				t.Errorf("%s: in the end logged %+v, want %+v", name, lines, want)
			}
		}
	}
}

// TestStaleOverrides: an override that does not fit its rule gives one line for
// each rule, whatever the key.
func TestStaleOverrides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		for n := range 300 {
			j.StaleOverride(context.Background(), time.Now(), fmt.Sprint("rule-", n%3), fmt.Sprint("k", n))
		}
		if lines, count := j.take(t); len(lines) != 3 || count != 3 || lines[2].Rule != "rule-2" || lines[2].Key != "k2" {
			t.Errorf("logged %+v, want one line for each of three rules", lines)
		}
		time.Sleep(10 * time.Second)
		j.StaleOverride(context.Background(), time.Now(), "rule-1", "k1")
		if lines, _ := j.take(t); len(lines) != 1 || lines[0].Rule != "rule-1" || lines[0].Suppressed != 99 {
			t.Errorf("ten seconds later logged %+v, want one line with 99 suppressed", lines)
		}
	})
}
