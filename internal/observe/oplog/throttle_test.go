package oplog

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
)

var epoch = time.Unix(1_700_000_040, 0)

// journal has a handler under test, and the lines that pass it.
type journal struct {
	*Handler
	now time.Time

	mu  sync.Mutex
	out strings.Builder
}

func newJournal(attrs ...string) *journal {
	j := &journal{now: epoch}
	j.Handler = NewHandler(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}), attrs...)
	return j
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.Write(line)
}

// log logs a line at the journal's time.
func (j *journal) log(t *testing.T, message string, args ...any) {
	t.Helper()
	r := slog.NewRecord(j.now, slog.LevelWarn, message, 0)
	r.Add(args...)
	if err := j.Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// taken returns the lines since the last call.
func (j *journal) taken() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.out.Reset()
	return strings.Split(strings.TrimSuffix(j.out.String(), "\n"), "\n")
}

// standsFor returns the number of lines, and of those that they stand for.
func (j *journal) standsFor(t *testing.T) (lines, count int) {
	t.Helper()
	for _, line := range j.taken() {
		if line == "" {
			continue
		}
		suppressed := 0
		if _, text, ok := strings.Cut(line, " suppressed="); ok {
			if _, err := fmt.Sscan(text, &suppressed); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
		}
		lines, count = lines+1, count+1+suppressed
	}
	return lines, count
}

// TestOneKind is a trace of lines of one kind without sweeps.
func TestOneKind(t *testing.T) {
	j := newJournal()
	for i, step := range []struct {
		after      time.Duration
		suppressed int
		ok         bool
	}{
		{0, 0, true}, // at once
		{0, 0, false},
		{9 * time.Second, 0, false},
		{time.Second, 2, true},
		{9999 * time.Millisecond, 0, false},
		{time.Hour, 1, true},
		{time.Hour, 0, true},
		{-9999 * time.Millisecond, 0, false}, // a request that runs side by side
		{-time.Hour, 1, true},                // the clock was set back
	} {
		j.now = j.now.Add(step.after)
		j.log(t, "m", "n", i)
		want := ""
		if step.ok {
			want = fmt.Sprintf("msg=m n=%d", i)
		}
		if step.suppressed > 0 {
			want += fmt.Sprintf(" suppressed=%d", step.suppressed)
		}
		if got := j.taken(); len(got) != 1 || got[0] != want {
			t.Errorf("step %d: logged %q, want %q", i, got, want)
		}
	}
}

// TestSweep is a trace of one kind: at each time a sweep, then some lines.
func TestSweep(t *testing.T) {
	j := newJournal()
	for i, step := range []struct {
		at    time.Duration
		log   int
		lines int
		count int
	}{
		{0, 3, 1, 1},
		{time.Second, 2, 0, 0},
		{10*time.Second - 1, 0, 0, 0},
		{10 * time.Second, 4, 1, 4}, // although no line came for nine seconds
		{11 * time.Second, 0, 0, 0},
		{20 * time.Second, 0, 1, 4},
		{29 * time.Second, 1, 0, 0},
		{30 * time.Second, 0, 1, 1},
		{39 * time.Second, 0, 0, 0},
		{40 * time.Second, 1, 1, 1}, // no line was suppressed for ten seconds
		{41 * time.Second, 1, 0, 0},
		{-time.Hour, 0, 1, 1},               // the clock was set back
		{-time.Hour - time.Second, 1, 0, 0}, // a request that runs side by side
		{-time.Hour + 10*time.Second, 0, 1, 1},
	} {
		j.now = epoch.Add(step.at)
		j.Sweep(t.Context(), j.now)
		for range step.log {
			j.log(t, "m")
		}
		if lines, count := j.standsFor(t); lines != step.lines || count != step.count {
			t.Errorf("step %d, %v: %d lines for %d, want %d for %d", i, step.at, lines, count, step.lines, step.count)
		}
	}
	j.Flush(t.Context())
	if lines, _ := j.standsFor(t); lines != 0 {
		t.Errorf("in the end logged %d lines again", lines)
	}
}

var errThrottled = errors.New("the table is throttled")

// throttled is an error whose text is different each time.
func throttled(n int) error {
	return fmt.Errorf("table counters: %w (%w)", errThrottled, fmt.Errorf("RequestID: %d", n))
}

// nothing claims to wrap errors, and has none.
type nothing struct{}

func (nothing) Error() string   { return "nothing" }
func (nothing) Unwrap() []error { return nil }

// TestKinds logs a line after another one: lines of another kind pass at once.
func TestKinds(t *testing.T) {
	for name, test := range map[string]struct {
		message, rule, key string
		err                error
		passes             bool
	}{
		"the same":                {"m", "api", "k", throttled(1), false},
		"another text":            {"m", "api", "k", throttled(2), false},
		"a wrapped error":         {"m", "api", "k", fmt.Errorf("again: %w", throttled(2)), false},
		"another message":         {"n", "api", "k", throttled(1), true},
		"another rule":            {"m", "chat", "k", throttled(1), true},
		"another cause":           {"m", "api", "k", fmt.Errorf("table counters: %w", context.Canceled), true},
		"a bare cause":            {"m", "api", "k", context.DeadlineExceeded, true},
		"a cause with others":     {"m", "api", "k", errors.Join(errors.New("foreign"), errThrottled), true},
		"an error without causes": {"m", "api", "k", nothing{}, true},
		"quotes in a value":       {"m", `api" key="k`, "k", throttled(1), true},
		"no error":                {"m", "api", "k", nil, true},
	} {
		j := newJournal("rule", "error")
		j.log(t, "m", "rule", "api", "key", "k", "error", throttled(1))
		j.taken()
		j.log(t, test.message, "rule", test.rule, "key", test.key, "error", test.err)
		if lines, _ := j.standsFor(t); (lines == 1) != test.passes {
			t.Errorf("%s: %d lines", name, lines)
		}
		j.Flush(t.Context())
		if lines, count := j.standsFor(t); (lines == 0) != test.passes || lines != count {
			t.Errorf("%s: in the end %d lines for %d", name, lines, count)
		}
	}
}

// TestBoundAttributes: attributes of a logger count like those of a line, and
// suppressed lines keep theirs.
func TestBoundAttributes(t *testing.T) {
	j := newJournal("rule")
	for range 2 {
		for _, rule := range []string{"api", "chat"} {
			for _, key := range []string{"a", "b"} {
				slog.New(j).With("rule", rule, "key", key).WithGroup("g").Warn("m", "n", 1)
			}
		}
	}
	want := []string{"msg=m rule=api key=a g.n=1", "msg=m rule=chat key=a g.n=1"}
	if got := j.taken(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged %q, want %q", got, want)
	}
	j.Flush(t.Context())
	got := strings.Join(j.taken(), "\n")
	for _, want := range []string{"msg=m rule=api key=b g.n=1 g.suppressed=2", "msg=m rule=chat key=b g.n=1 g.suppressed=2"} {
		if !strings.Contains(got, want) {
			t.Errorf("in the end logged %q, want %q", got, want)
		}
	}
}

// TestLevels: the level is part of the kind, and the other handler's level
// holds.
func TestLevels(t *testing.T) {
	j := newJournal()
	log := slog.New(j)
	log.Debug("m")
	log.Info("m")
	log.Error("m")
	log.Error("m")
	if lines, _ := j.standsFor(t); lines != 2 {
		t.Errorf("%d lines, want one each of levels info and error", lines)
	}
}

// TestKindsAreBounded: the first hundred kinds are separate, all others are
// one.
func TestKindsAreBounded(t *testing.T) {
	j := newJournal()
	for range 2 {
		for n := range 1000 {
			j.log(t, fmt.Sprint("m", n))
		}
	}
	if got := j.taken(); len(got) != 101 || got[100] != "msg=m100" {
		t.Errorf("%d lines at once, the last %q; want 101", len(got), got[len(got)-1])
	}
	j.now = epoch.Add(10 * time.Second)
	j.Sweep(t.Context(), j.now)
	if lines, count := j.standsFor(t); lines != 101 || count != 2000-101 {
		t.Errorf("after ten seconds %d lines for %d, want 101 for all others", lines, count)
	}
	j.now = epoch.Add(20 * time.Second)
	j.Sweep(t.Context(), j.now)
	if len(j.kinds.byKind) != 0 {
		t.Errorf("%d kinds are not forgotten", len(j.kinds.byKind))
	}
	j.log(t, "m999")
	if got := j.taken(); len(got) != 1 || got[0] != "msg=m999" {
		t.Errorf("logged %q", got)
	}
}

// TestSideBySide: no line is lost or counted twice.
func TestSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		log := slog.New(j)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for n := range 1000 {
					log.Warn(fmt.Sprint("m", n%3))
					time.Sleep(10 * time.Millisecond)
					j.Sweep(t.Context(), time.Now())
				}
			})
		}
		wg.Wait()
		j.Flush(t.Context())
		if _, count := j.standsFor(t); count != 8000 {
			t.Errorf("the lines stand for %d, want 8,000", count)
		}
	})
}

// TestOldKindsMakeRoom: the first line of a kind passes after a flood of other
// kinds, also if Sweep is never called.
func TestOldKindsMakeRoom(t *testing.T) {
	j := newJournal("error")
	for i := range 2 * maxKinds {
		j.log(t, "failed", "error", fmt.Sprint("port ", i))
	}
	j.now = j.now.Add(Every)
	j.taken()
	j.log(t, "failed", "error", "one")
	j.log(t, "failed", "error", "two")
	if got := j.taken(); len(got) != 2 {
		t.Errorf("wrote %q, want both lines", got)
	}
	if n := len(j.kinds.byKind); n > maxKinds {
		t.Errorf("%d kinds in memory, want at most %d", n, maxKinds)
	}
}
