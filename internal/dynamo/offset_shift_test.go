package dynamo

import (
	"testing"
	"time"
)

// TestShiftKeepsTheAge sets a wall clock back by an hour. The interval moves
// with it, and widens by the ten seconds until the next answer, not by the hour.
func TestShiftKeepsTheAge(t *testing.T) {
	var o offset
	o.observe(start, start, start)
	o.observe(start.Add(600*ms), start.Add(600*ms), start)
	back := o
	back.shift(time.Hour)
	date := start.Add(10 * second)
	at := date.Add(300 * ms)
	o.observe(at, at, date)
	back.observe(at.Add(-time.Hour), at.Add(-time.Hour), date)
	if o.interval.shift(time.Hour); back.interval != o.interval {
		t.Errorf("the interval is %+v, want %+v", back.interval, o.interval)
	}
}
