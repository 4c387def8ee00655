package limittest_test

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// newLimiter returns a limiter on a store, with an error policy that hides
// nothing.
func newLimiter(t *testing.T, store *limittest.Store, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(append([]slidegate.Option{
		slidegate.FixedWindow(10, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailError(), slidegate.WithClock(limittest.NewClock(noon).Now),
		slidegate.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// TestScript: each call takes the next answer, and the last one stays.
func TestScript(t *testing.T) {
	down := errors.New("down")
	store := limittest.NewStore(limittest.Allow(), limittest.Deny(7*time.Second), limittest.Deny(slidegate.Never),
		limittest.Fail(down), limittest.Undecided(), limittest.Count())
	lim := newLimiter(t, store)
	for i, want := range []struct {
		allowed          bool
		remaining        int64
		resetIn, retryIn time.Duration
		err              error
	}{
		{true, 7, time.Minute, 0, nil},
		{false, 0, 7 * time.Second, 7 * time.Second, nil},
		{false, 0, 0, slidegate.Never, nil},
		{false, 0, 0, 0, down},
		{false, 0, 0, 0, slidegate.ErrUndecided},
		{true, 7, time.Minute, 0, nil}, // counts from nothing
		{true, 4, time.Minute, 0, nil},
	} {
		r, err := lim.AllowN(t.Context(), "k", 3)
		if !errors.Is(err, want.err) || r.Allowed != want.allowed || r.Remaining != want.remaining || r.ResetAfter != want.resetIn || r.RetryAfter != want.retryIn {
			t.Errorf("call %d: %+v, %v; want %+v", i+1, r, err, want)
		}
	}
	store.Script(limittest.Deny(time.Second))
	if r, err := lim.AllowN(t.Context(), "k", 0); err != nil || !r.Allowed {
		t.Errorf("zero units: %+v, %v", r, err)
	}
	store.Script()
	if r, err := lim.AllowN(t.Context(), "k", 3); err != nil || r.Remaining != 1 {
		t.Errorf("counting again: %+v, %v", r, err)
	}
}

// TestOps: every call of a limiter takes an answer, and is noted.
func TestOps(t *testing.T) {
	down := errors.New("down")
	for _, answer := range []struct {
		name   string
		script []limittest.Answer
		want   error
	}{
		{"Count", nil, nil},
		{"Allow", []limittest.Answer{limittest.Allow()}, nil},
		{"Fail", []limittest.Answer{limittest.Allow(), limittest.Fail(down)}, down},
		{"Undecided", []limittest.Answer{limittest.Allow(), limittest.Undecided()}, slidegate.ErrUndecided},
	} {
		store := limittest.NewStore(answer.script...)
		lim := newLimiter(t, store, slidegate.SlidingWindow(100, time.Minute).WithName("z"), slidegate.FixedWindow(100, time.Hour).WithName("a"))
		reserved, err := lim.Reserve(t.Context(), "k", 1, 5, 7)
		if err != nil {
			t.Fatal(err)
		}
		_, peeked := lim.Peek(t.Context(), "k")
		_, charged := lim.Allow(t.Context(), "k")
		for op, err := range map[string]error{
			"charge": charged, "peek": peeked, "settle": reserved.Settle(t.Context(), 1, 2, 8), "reset": lim.Reset(t.Context(), "k"),
		} {
			if !errors.Is(err, answer.want) {
				t.Errorf("%s: %s: %v; want %v", answer.name, op, err, answer.want)
			}
		}
		key := store.Calls()[0].Key
		want := []limittest.Call{ // in the order of the names: a, per-minute, z
			{Op: "charge", Key: key, Units: []int64{7, 1, 5}}, {Op: "peek", Key: key, Units: []int64{0, 0, 0}},
			{Op: "charge", Key: key, Units: []int64{1, 1, 1}}, {Op: "settle", Key: key, Units: []int64{1, 0, -3}}, {Op: "reset", Key: key},
		}
		if got := store.Calls(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: calls %+v; want %+v", answer.name, got, want)
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	for want, answer := range map[string]func(){
		"limittest.Deny(0s): the time must be positive, or slidegate.Never":  func() { limittest.Deny(0) },
		"limittest.Deny(-1s): the time must be positive, or slidegate.Never": func() { limittest.Deny(-time.Second) },
		"limittest.Fail: the error is nil":                                   func() { limittest.Fail(nil) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%v; want %s", got, want)
				}
			}()
			answer()
		}()
	}
}

// TestConcurrent: the race detector finds nothing, and no call is lost.
func TestConcurrent(t *testing.T) {
	clock, store := limittest.NewClock(noon), limittest.NewStore(limittest.Allow(), limittest.Count())
	var recorder limittest.Recorder
	lim := newLimiter(t, store, slidegate.WithClock(clock.Now), slidegate.WithObserver(recorder.Observe))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := lim.Allow(t.Context(), fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
				clock.Advance(time.Second)
				_, _ = recorder.Events(), store.Calls()
			}
		})
	}
	wg.Wait()
	if events, calls := len(recorder.Events()), len(store.Calls()); events != 400 || calls != 400 {
		t.Errorf("%d events and %d calls; want 400", events, calls)
	}
	if want := noon.Add(400 * time.Second); !clock.Now().Equal(want) {
		t.Errorf("the clock says %v; want %v", clock.Now(), want)
	}
	if clock.Set(noon); !clock.Now().Equal(noon) {
		t.Errorf("a clock that was set says %v", clock.Now())
	}
	if recorder.Reset(); len(recorder.Events()) != 0 {
		t.Error("a reset recorder has events")
	}
}
