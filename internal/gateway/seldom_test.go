package gateway

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seldom
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
		} {
			time.Sleep(step.after)
			if held, ok := s.due(); held != step.held || ok != step.ok {
				t.Errorf("step %d: %d held back, %t; want %d, %t", i, held, ok, step.held, step.ok)
			}
		}
	})
}
