package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// This file checks a --decisions file without any code of the limiter.

// decision is a line of the file.
type decision struct {
	stamp      int64 // Unix nanoseconds
	counter    string
	allowed    bool
	remaining  int64
	retryAfter int64 // nanoseconds
}

func readDecisions(text string) ([]decision, error) {
	var all []decision
	for line := range strings.Lines(text) {
		var d decision
		var rule, key string
		var allowed int
		if _, err := fmt.Sscanf(line, "%d\t%s\t%s\t%d\t%d\t%d\n", &d.stamp, &rule, &key, &allowed, &d.remaining, &d.retryAfter); err != nil {
			return nil, fmt.Errorf("line %d is %q: %w", len(all)+1, line, err)
		}
		d.counter, d.allowed = rule+"\t"+key, allowed == 1
		all = append(all, d)
	}
	return all, nil
}

// bound is a sliding window in slots.
type bound struct {
	capacity     int
	window, slot time.Duration
}

// check proves that no window at any position, both ends included, has more
// admissions than the capacity for any key: of an ascending list of admissions,
// no two that are capacity apart lie within a window of each other. A line's time
// is its stamp, or the newest stamp of its key if that is later.
func (b bound) check(decisions []decision) error {
	newest := map[string]int64{}
	admitted := map[string][]int64{}
	for i, d := range decisions {
		at, ok := newest[d.counter]
		if !ok || d.stamp > at {
			at = d.stamp
		}
		newest[d.counter] = at
		if !d.allowed {
			continue
		}
		times := append(admitted[d.counter], at)
		admitted[d.counter] = times
		if n := len(times) - 1; n >= b.capacity && times[n]-times[n-b.capacity] <= int64(b.window) {
			return fmt.Errorf("line %d: admission %d of %q within %v", i+1, b.capacity+1, d.counter, b.window)
		}
	}
	return nil
}

// recount computes every decision again, the slow way: all admissions of a key in
// a list, each in its slot. The first decision that differs is an error, be it an
// admission too many or a denial too many.
func (b bound) recount(decisions []decision) error {
	admitted := map[string][]int64{} // slots, ascending
	for i, d := range decisions {
		slots := admitted[d.counter]
		now := d.stamp / int64(b.slot)
		if n := len(slots); n > 0 {
			now = max(now, slots[n-1])
		}
		first := now - int64(b.window/b.slot)
		for len(slots) > 0 && slots[0] < first {
			slots = slots[1:]
		}
		want := decision{stamp: d.stamp, counter: d.counter, allowed: len(slots) < b.capacity}
		if want.allowed {
			slots = append(slots, now)
		} else {
			want.retryAfter = (slots[0]+int64(b.window/b.slot)+1)*int64(b.slot) - d.stamp
		}
		want.remaining = int64(b.capacity - len(slots))
		admitted[d.counter] = slots
		if d != want {
			return fmt.Errorf("line %d is %+v, want %+v", i+1, d, want)
		}
	}
	return nil
}

// The checkers find admissions and denials that are too many.
func TestCheckers(t *testing.T) {
	b := bound{2, 10 * time.Second, time.Second}
	line := func(second int, key string, allowed, remaining, retry int) string {
		return fmt.Sprintf("%d\trule\t%s\t%d\t%d\t%d\n", second*1e9, key, allowed, remaining, retry*1e9)
	}
	for _, tc := range []struct {
		name, decisions  string
		checks, recounts bool
	}{
		{"full and free again", line(0, "a", 1, 1, 0) + line(5, "a", 1, 0, 0) + line(10, "a", 0, 0, 1) + line(11, "a", 1, 0, 0), true, true},
		{"out of order", line(9, "a", 1, 1, 0) + line(5, "a", 1, 0, 0) + line(19, "a", 0, 0, 1) + line(20, "a", 1, 1, 0), true, true},
		{"one too many", line(0, "a", 1, 1, 0) + line(5, "a", 1, 0, 0) + line(9, "a", 1, 0, 0), false, false},
		{"one too many, hidden by a late stamp", line(9, "a", 1, 1, 0) + line(5, "a", 1, 0, 0) + line(16, "a", 1, 0, 0), false, false},
		{"one too few", line(0, "a", 1, 1, 0) + line(5, "a", 1, 0, 0) + line(11, "a", 0, 0, 1), true, false},
		{"wrong remaining", line(0, "a", 1, 2, 0), true, false},
		{"retry too early", line(0, "a", 1, 1, 0) + line(0, "a", 1, 0, 0) + line(5, "a", 0, 0, 5), true, false},
	} {
		decisions, err := readDecisions(tc.decisions)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.check(decisions); (err == nil) != tc.checks {
			t.Errorf("%s: check returns %v", tc.name, err)
		}
		if err := b.recount(decisions); (err == nil) != tc.recounts {
			t.Errorf("%s: recount returns %v", tc.name, err)
		}
	}
}
