package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

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
