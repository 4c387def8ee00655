package exact

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// TestMeasure measures limiters whose fullest windows are known, by the time of
// a bubble.
func TestMeasure(t *testing.T) {
	limit := measure.Limit{Capacity: 20, Window: time.Second, Slots: 10}
	for _, c := range []struct {
		subject measure.Subject
		want    []float64
	}{
		{measure.Subject{Name: "fixed window", Open: fixedWindow}, []float64{1, 1, 2, 1.95, 1.95}},
		{measure.Subject{Name: "everything", Open: everything}, []float64{2, 2, 2, 2, 3.55}},
		{measure.Subject{Name: "Slidegate", Open: subject.OpenMemory(subject.Sliding, 0)}, []float64{1, 1, 1, 1, 1}},
	} {
		t.Run(c.subject.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := Measure(t.Context(), "memory", &c.subject, limit)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Fullest, c.want) {
					t.Errorf("%v of the capacity in the fullest window, want %v", got.Fullest, c.want)
				}
			})
		})
	}
}

func everything(context.Context, measure.Limit) (*measure.Limiter, error) {
	return &measure.Limiter{Decide: func(context.Context, string) (bool, error) { return true, nil }}, nil
}

func fixedWindow(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	counts := map[string]map[time.Time]int64{}
	for i := range patterns {
		counts[string(rune('0'+i))] = map[time.Time]int64{}
	}
	return &measure.Limiter{Decide: func(_ context.Context, key string) (bool, error) {
		count, window := counts[key[len(key)-1:]], time.Now().Truncate(l.Window)
		count[window]++
		return count[window] <= l.Capacity, nil
	}}, nil
}

// TestMost counts only decisions that certainly lie in one window.
func TestMost(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	decisions := []span{{at(0), at(10)}, {at(20), at(30)}, {at(995), at(1005)}, {at(1018), at(1019)}}
	if n := most(decisions, time.Second); n != 3 { // from 20 to 1019
		t.Errorf("%d decisions in one window, want 3", n)
	}
}
