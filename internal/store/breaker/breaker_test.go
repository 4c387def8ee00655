package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
)

var (
	errDown    = errors.New("no answer")
	errRefused = errors.New("refused")
)

// subject is a breaker over a store whose state a test sets.
type subject struct {
	*breaker.Breaker
	mu      sync.Mutex
	changes []breaker.Change
	calls   int
	answer  error
	takes   time.Duration
}

func newSubject(now func() time.Time) *subject {
	s := &subject{}
	s.Breaker = breaker.New(now, func(c breaker.Change) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changes = append(s.changes, c)
	})
	return s
}

func (s *subject) do(ctx context.Context) error {
	return s.Do(ctx, func() error {
		s.mu.Lock()
		s.calls++
		answer, takes := s.answer, s.takes
		s.mu.Unlock()
		select {
		case <-time.After(takes):
			return answer
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(err error) bool { return errors.Is(err, errRefused) })
}

// times makes a number of calls, one after another, and returns the last error.
func (s *subject) times(n int) (err error) {
	for range n {
		err = s.do(context.Background())
	}
	return err
}

func (s *subject) made(t *testing.T, want int) {
	t.Helper()
	if s.calls != want {
		t.Errorf("%d calls reached the store, want %d", s.calls, want)
	}
	s.calls = 0
}

// TestOutage follows a breaker through an outage: it opens after five calls,
// probes once a second, and closes with the first answer. It reports two
// changes, whatever the number of probes.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(time.Now)
		s.times(100)
		s.answer = errDown
		s.times(4)
		s.answer = nil
		s.times(1) // an answer in between
		s.answer = errDown
		s.made(t, 105)
		if err := s.times(5); !errors.Is(err, errDown) || len(s.changes) != 1 || !s.changes[0].Open || !s.Open() || !errors.Is(s.changes[0].Cause, errDown) {
			t.Fatalf("error %v, changes %v", err, s.changes)
		}
		s.made(t, 5)
		for range 3 {
			time.Sleep(breaker.ProbeEvery - time.Nanosecond)
			if err := s.times(100); !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("while it is open: %v", err)
			}
			s.made(t, 0)
			time.Sleep(time.Nanosecond)
			s.times(100)
			s.made(t, 1)
			if !s.Open() {
				t.Error("a probe without an answer has closed it")
			}
		}
		s.answer = nil
		time.Sleep(breaker.ProbeEvery)
		if err := s.times(100); err != nil || len(s.changes) != 2 || s.changes[1].Open || s.Open() {
			t.Errorf("afterwards: error %v, changes %v", err, s.changes)
		}
		s.made(t, 100)
	})
}

// TestNoFailures: answers that refuse a call, and callers who give up, leave a
// breaker closed. A probe whose caller gives up leaves the next one to another.
func TestNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		short := func() context.Context {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}
		s := newSubject(time.Now)
		s.answer, s.takes = errRefused, time.Second
		for range 20 {
			if err := s.do(context.Background()); !errors.Is(err, errRefused) {
				t.Fatalf("a refusal: %v", err)
			}
			if err := s.do(cancelled); !errors.Is(err, context.Canceled) {
				t.Fatalf("a caller who hung up: %v", err)
			}
			if err := s.do(short()); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a caller with a deadline: %v", err)
			}
		}
		s.made(t, 60)
		for range 5 {
			ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, limit.ErrDeadline)
			_ = s.do(ctx)
			cancel()
		}
		if err := s.times(1); !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("after five deadlines of the limiter: %v", err)
		}
		time.Sleep(breaker.ProbeEvery)
		_, _ = s.do(cancelled), s.do(short())
		s.answer = nil
		if err := s.times(1); err != nil || len(s.changes) != 2 {
			t.Errorf("the probe after two that gave up: %v, changes %v", err, s.changes)
		}
	})
}

// TestNeutral: a call that says nothing about the store neither counts as a
// failure nor as an answer, and its probe leaves the next one to another.
func TestNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(time.Now)
		neutral := fmt.Errorf("%w: lost with another call", breaker.ErrNeutral)
		for range 4 {
			s.answer = errDown
			s.times(1)
			s.answer = neutral
			if err := s.times(9); !errors.Is(err, neutral) {
				t.Fatal(err)
			}
		}
		s.answer = errDown
		s.times(1)
		if err := s.times(1); !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("after five failures, with neutral calls in between: %v", err)
		}
		time.Sleep(breaker.ProbeEvery)
		s.answer = neutral
		s.times(9)
		s.answer = errDown
		if err := s.times(1); !errors.Is(err, errDown) || len(s.changes) != 1 {
			t.Errorf("the probe after neutral ones: %v, changes %v", err, s.changes)
		}
	})
}

// TestOneProbe: of many requests at once, one probes a store that hangs, and the
// others do not wait.
func TestOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(time.Now)
		s.answer = errDown
		s.times(5)
		s.takes = time.Minute
		time.Sleep(breaker.ProbeEvery)
		s.calls = 0
		started, waited := time.Now(), 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := s.do(context.Background()); errors.Is(err, breaker.ErrOpen) && time.Since(started) == 0 {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				waited++
			})
		}
		all.Wait()
		if s.made(t, 1); waited != 1 {
			t.Errorf("%d requests waited, want the probe alone", waited)
		}
	})
}

// TestClocks: a probe is due by either clock. In a frozen Lambda the monotonic
// one stands still; the wall clock may be set back.
func TestClocks(t *testing.T) {
	wall := time.Unix(1_700_000_000, 0) // without a monotonic reading
	for name, step := range map[string]time.Duration{"a thaw": breaker.ProbeEvery, "a clock set back": -time.Hour} {
		now := wall
		s := newSubject(func() time.Time { return now })
		s.answer = errDown
		s.times(6)
		s.made(t, 5)
		now = now.Add(step)
		s.times(1)
		if s.made(t, 1); t.Failed() {
			t.Error("after ", name)
		}
	}
}

func TestLogChanges(t *testing.T) {
	var lines strings.Builder
	changed := breaker.LogChanges(slog.New(slog.NewTextHandler(&lines, nil)), "dynamodb://counters")
	changed(breaker.Change{Open: true, Cause: errDown})
	changed(breaker.Change{})
	if got := lines.String(); strings.Count(got, "store=dynamodb://counters") != 2 || strings.Count(got, "\n") != 2 || !strings.Contains(got, `error="no answer"`) || !strings.Contains(got, "answers again") {
		t.Errorf("logged %q", got)
	}
}
