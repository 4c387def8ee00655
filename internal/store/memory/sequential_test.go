package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestSequential: the same charges get the same verdicts from each store, also
// if clocks go back by weeks and the store is full at times.
func TestSequential(t *testing.T) {
	verdicts := func() (allowed []bool) {
		store, ctx := memory.NewSequential(300), context.Background()
		for week := range 4 {
			for i := range 2000 {
				at := epoch.Add(time.Duration(-week)*7*24*time.Hour + time.Duration(i)*20*time.Second)
				var v limit.Verdict
				err := store.Charge(ctx, at, charge(fmt.Sprint("key-", i*i%701), perMinute, 40), &v)
				allowed = append(allowed, err == nil && v.Allowed)
			}
		}
		return allowed
	}
	first := verdicts()
	if !slices.Contains(first, false) || !slices.Contains(first, true) {
		t.Error("the charges do not differ")
	}
	for range 3 {
		if !slices.Equal(verdicts(), first) {
			t.Fatal("another store has other verdicts")
		}
	}
}
