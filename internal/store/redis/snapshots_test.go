package redis

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
)

// machine is a machine's clocks, for tests to set.
type machine struct {
	clock.Reading
	calls int
	// took is how long each call takes, by both clocks.
	took time.Duration
	// reply is the answer to the next call.
	reply string
}

func (m *machine) read() clock.Reading { return m.Reading }

func (m *machine) pass(d time.Duration) {
	m.Wall = m.Wall.Add(d)
	m.Mono += d
}

func (m *machine) Process(_ context.Context, cmd goredis.Cmder) error {
	m.calls++
	m.pass(m.took)
	cmd.(once).SetVal(m.reply)
	return nil
}

const serverStart = 1_000_000 // by the server's clock, in seconds

// full is a denial by a window of nine requests a minute, which is full until its
// only slot leaves it, 61 s after serverStart.
func full(at float64) string {
	return reply(0, at, 0, packCounter("x", PackWindow(serverStart, 0, 9, 0), ""))
}

func minutely() *limit.Charge {
	return &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{perMinute}, Costs: []int64{1}}
}

// flooded returns a store that has been answered with a denial, 55 s after the
// window's only slot began: the window opens in 6 s. The call took 20 ms.
func flooded(t *testing.T) (*Store, *machine) {
	m := &machine{Reading: clock.Reading{Wall: time.Unix(5_000_000, 0)}, took: 20 * time.Millisecond, reply: full(serverStart + 55)}
	store := New(m, Options{Clock: m.read})
	var v limit.Verdict
	if err := store.Charge(t.Context(), m.Wall, minutely(), &v); err != nil || v.Allowed || v.RetryAfter != 6*time.Second {
		t.Fatalf("%+v, %v", v.Result, err)
	}
	return store, m
}

// TestDenialsWithoutCalls: until the server's clock may have reached the opening
// of the window, a denial costs no call. Its wait is never too short, even if the
// server's clock is slow.
func TestDenialsWithoutCalls(t *testing.T) {
	store, m := flooded(t)
	for _, step := range []struct {
		passed time.Duration
		local  bool
	}{
		{0, true}, {time.Second, true}, {4 * time.Second, true},
		{970 * time.Millisecond, true},  // 5.97 s: the server is at 5.97 s to 5.99 s, and the drift is 1.2 ms
		{9 * time.Millisecond, false},   // 5.979 s: the server may be at 6.0002 s
		{20 * time.Millisecond, false},  // 5.999 s
		{100 * time.Millisecond, false}, // the window is open
	} {
		m.pass(step.passed)
		since := m.Mono - m.took // since the answer
		var v limit.Verdict
		if got := store.Denies(m.Wall, minutely(), &v); got != step.local {
			t.Errorf("%v after the answer: a local denial %v, want %v", since, got, step.local)
		} else if got && (v.Allowed || v.RetryAfter < 6*time.Second-since+since/5000 || v.RetryAfter > 6*time.Second-since+2*time.Millisecond || v.Remaining != 0) {
			t.Errorf("%v after the answer: %+v", since, v.Result)
		}
	}
	if m.calls != 1 {
		t.Errorf("%d calls, want one", m.calls)
	}
}

// TestWholeMicroseconds: the server's clock tells whole microseconds, so it was up
// to one further than it said.
func TestWholeMicroseconds(t *testing.T) {
	for left, local := range map[time.Duration]bool{time.Microsecond: false, 2 * time.Microsecond: true} {
		store, m := flooded(t)
		m.took, m.reply = 0, reply(0, serverStart+60, float64(time.Second-left), packCounter("x", PackWindow(serverStart, 0, 9, 0), ""))
		if err := store.Peek(t.Context(), m.Wall, minutely(), &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
		m.pass(1)
		if got := store.Denies(m.Wall, minutely(), &limit.Verdict{}); got != local {
			t.Errorf("%v before the window opens: a local denial %v, want %v", left, got, local)
		}
	}
}

// TestClocksOfTheMachine: the clock that has moved further decides. The wall clock
// may have been set back, and the monotonic clock stands still while a process is
// frozen.
func TestClocksOfTheMachine(t *testing.T) {
	for name, test := range map[string]struct {
		wall, mono time.Duration
		local      bool
	}{
		"set back by an hour, in the window":  {-time.Hour, time.Second, true},
		"set back by an hour, after the wait": {-time.Hour, 6 * time.Second, false},
		"set back a little, after the wait":   {time.Second, 6 * time.Second, false},
		"frozen, in the window":               {time.Second, 0, true},
		"frozen, after the wait":              {6 * time.Second, 0, false},
		"set forward a little":                {3 * time.Second, time.Second, true},
		"set forward":                         {time.Hour, time.Second, false},
	} {
		store, m := flooded(t)
		m.Wall, m.Mono = m.Wall.Add(test.wall), m.Mono+test.mono
		var v limit.Verdict
		if got := store.Denies(m.Wall, minutely(), &v); got != test.local {
			t.Errorf("%s: a local denial %v, want %v", name, got, test.local)
		}
		if v.RetryAfter != 0 && v.RetryAfter < 6*time.Second-max(0, min(test.wall, test.mono)) {
			t.Errorf("%s: retry after %v is too short", name, v.RetryAfter)
		}
		if v.RetryAfter > 6*time.Second {
			t.Errorf("%s: retry after %v is longer than the server said", name, v.RetryAfter)
		}
	}
}

// TestStaleSnapshot: after ten seconds the store asks again, so that a reset or a
// refund by another process shows. From then on the new answer counts.
func TestStaleSnapshot(t *testing.T) {
	hourly := limit.Limit{Capacity: 9, Window: time.Hour, Granularity: time.Minute}
	c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{hourly}, Costs: []int64{1}}
	const minute = serverStart / 60
	m := &machine{Reading: clock.Reading{Wall: time.Unix(0, 0)}, reply: reply(0, serverStart, 0, packCounter("x", PackWindow(minute, 0, 9, 0), ""))}
	store := New(m, Options{Clock: m.read})
	charge := func(calls int, allowed bool) {
		t.Helper()
		var v limit.Verdict
		if err := store.Charge(t.Context(), m.Wall, c, &v); err != nil || v.Allowed != allowed || m.calls != calls {
			t.Errorf("%+v, error %v after %d calls, want allowed %v after %d", v.Result, err, m.calls, allowed, calls)
		}
	}
	charge(1, false)
	m.pass(9 * time.Second)
	charge(1, false)
	m.pass(time.Second)
	m.reply = reply(1, serverStart+10, 0, packCounter("y", PackWindow(minute, 0, 1, 0), ""))
	charge(2, true)
	charge(3, true) // the denial of before is forgotten
}

// TestSummedSlots: an answer that gives the older slots of a limit as a sum is not
// kept, even if the charge has taken the last room of another limit. The sum would
// deny longer than the slots do.
func TestSummedSlots(t *testing.T) {
	m := &machine{Reading: clock.Reading{Wall: time.Unix(0, 0)}}
	m.reply = reply(1, serverStart, 0, packCounter("x", PackWindow(serverStart, 0, 9, 0), "", PackWindow(serverStart, 0, 1, 1), ""))
	store, c := New(m, Options{Clock: m.read}), minutely()
	c.Limits, c.Costs = append(c.Limits, perMinute), append(c.Costs, 1)
	var v limit.Verdict
	if err := store.Charge(t.Context(), m.Wall, c, &v); err != nil || !v.Allowed {
		t.Fatalf("%+v, %v", v.Result, err)
	}
	if store.Denies(m.Wall, c, &v) {
		t.Errorf("denied without a call: %+v", v.Result)
	}
}

// TestOtherLimits: a snapshot of another number of limits proves nothing.
func TestOtherLimits(t *testing.T) {
	store, m := flooded(t)
	c := minutely()
	c.Limits, c.Costs = append(c.Limits, perMinute), append(c.Costs, 1)
	if store.Denies(m.Wall, c, &limit.Verdict{}) {
		t.Error("denied without a call")
	}
}

// TestNeverRoom: a snapshot proves that a cost above the capacity is denied, even
// once its window is open again.
func TestNeverRoom(t *testing.T) {
	store, m := flooded(t)
	m.pass(7 * time.Second)
	c := minutely()
	c.Costs[0] = 10
	var v limit.Verdict
	if !store.Denies(m.Wall, c, &v) || v.RetryAfter != limit.Never {
		t.Errorf("%+v", v.Result)
	}
}

// TestPlacesWithoutCalls: that there is no place in flight proves a denial for one
// second. The retry-after of a place says nothing of another limit's wait.
func TestPlacesWithoutCalls(t *testing.T) {
	place := PackHold(9, (serverStart+90)*1000, 0, 1)
	for name, test := range map[string]struct {
		units float64 // of the window, which opens after six seconds
		holds string
		after map[time.Duration]bool // since the answer: a local denial
	}{
		"a window and a place": {9, PackHold(9, (serverStart+90)*1000, 0, 1, serverStart, 1), map[time.Duration]bool{0: true, 3 * time.Second: true, 5979 * time.Millisecond: false, 7 * time.Second: false}},
		"a place":              {1, place, map[time.Duration]bool{-2 * time.Second: false, 0: true, 979 * time.Millisecond: true, 981 * time.Millisecond: false, 3 * time.Second: false}},
		"a place about to end": {1, PackHold(9, (serverStart+52)*1000+500, 0, 1), map[time.Duration]bool{400 * time.Millisecond: true, 600 * time.Millisecond: false}},
	} {
		for after, local := range test.after {
			limits := []limit.Limit{{Algorithm: limit.InFlight, Capacity: 1, Window: 90 * time.Second}}
			fields := []string{"", ""}
			if test.units == 9 {
				limits, fields = append(limits, perMinute), append(fields, PackWindow(serverStart, 0, 9, 0), "")
			}
			m := &machine{Reading: clock.Reading{Wall: time.Unix(5_000_000, 0)}, took: 20 * time.Millisecond}
			m.reply = reply(0, serverStart+55, 0, packCounter("x", append(fields, "", test.holds)...))
			store := New(m, Options{Clock: m.read})
			c := &limit.Charge{Key: "rule|a|s", Limits: limits, Costs: []int64{1, 1}[:len(limits)], Hold: limit.Opening{ID: 7, For: 90 * time.Second}}
			var v limit.Verdict
			if err := store.Charge(t.Context(), m.Wall, c, &v); err != nil || v.Allowed {
				t.Fatalf("%s: %+v, %v", name, v, err)
			}
			m.pass(after)
			if got := store.Denies(m.Wall, c, &v); got != local || got && v.Allowed {
				t.Errorf("%s: %v after the answer: a local denial %v, want %v", name, after, got, local)
			}
			if c.Hold.ID = 9; name != "a place about to end" && store.Denies(m.Wall, c, &v) {
				t.Errorf("%s: a charge made before is denied %v after the answer", name, after)
			}
		}
	}
}

// TestNoHoldIsNoDenial: a charge that was made without its hold says nothing of the
// next one. A state without holds proves nothing of a charge that may have been
// made before.
func TestNoHoldIsNoDenial(t *testing.T) {
	m := &machine{Reading: clock.Reading{Wall: time.Unix(5_000_000, 0)}}
	store, c := New(m, Options{Clock: m.read}), minutely()
	c.Hold = limit.Opening{ID: 7, For: time.Minute, Most: 1}
	m.reply = reply(1, serverStart, 0, packCounter("x", PackWindow(serverStart, 0, 1, 0), "", "", PackHold(9, (serverStart+90)*1000, serverStart, 1)))
	var v limit.Verdict
	if err := store.Charge(t.Context(), m.Wall, c, &v); err != nil || !v.Allowed || !v.ByHolds || v.Receipt.Hold != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if store.Denies(m.Wall, c, &v) {
		t.Error("denied though made without a hold before")
	}
	store, m = flooded(t)
	if store.Denies(m.Wall, c, &v) || !store.Denies(m.Wall, minutely(), &v) {
		t.Error("a state without holds denies a charge with one, or no other")
	}
}
