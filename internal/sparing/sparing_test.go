package sparing

import (
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	var l Line
	now := time.Unix(1_700_000_040, 0)
	for i, step := range []struct {
		after time.Duration
		held  int
		ok    bool
	}{
		{0, 0, true}, // at once
		{0, 0, false},
		{9 * time.Second, 0, false},
		{time.Second, 2, true},
		{9999 * time.Millisecond, 0, false},
		{time.Hour, 1, true},
		{time.Hour, 0, true},
		{-9999 * time.Millisecond, 0, false}, // a request beside
		{-time.Hour, 1, true},                // the clock is put back
	} {
		now = now.Add(step.after)
		if held, ok := l.Due(now); held != step.held || ok != step.ok {
			t.Errorf("step %d: %d held back, %t; want %d, %t", i, held, ok, step.held, step.ok)
		}
	}
}
