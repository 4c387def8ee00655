package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// newBucketWorld returns a token bucket of 10 units that refills one a second.
func newBucketWorld(t *testing.T) *world {
	w := newWorld(t, 10, 10)
	w.limit = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 10, Window: 10 * time.Second, Burst: 10}
	return w
}

// TestSharedBucketTakesOneWriteEach has processes charge in turn, one unit a
// second, a bucket that is behind by as many units as they are. The snapshot of
// each shows it full by then. Each learns once that the others charge it too.
func TestSharedBucketTakesOneWriteEach(t *testing.T) {
	w := newBucketWorld(t)
	const processes = 4
	name := func(n int64) string { return fmt.Sprint("process-", n%processes) }
	w.must(true, "first", 0, 2)
	second := int64(0)
	for ; second < 2*processes; second++ {
		w.must(true, name(second), second, 1)
	}
	for n := range int64(processes) {
		w.calls(name(n))
	}
	for ; second < 20*processes; second++ {
		w.must(true, name(second), second, 1)
		w.cost(name(second), 0, 1)
	}
}

// TestGuessThatIsWrong costs a second write, and a second one ends the guessing.
// A process alone never guesses.
func TestGuessThatIsWrong(t *testing.T) {
	w := newBucketWorld(t)
	w.must(true, "B", 0, 3)
	w.must(true, "A", 0, 1)
	w.cost("A", 0, 2) // it had no snapshot
	for _, step := range []struct {
		second, writes int64
		why            string
	}{
		{10, 2, "the bucket is full: the guess is wrong"},
		{20, 2, "wrong again"},
		{30, 1, "no guess any more"},
		{40, 1, ""},
		{40, 1, "its own snapshot shows the bucket draining"},
		{50, 1, "which is no reason to guess"},
	} {
		w.must(true, "A", step.second, 1)
		if _, writes := w.calls("A"); writes != step.writes {
			t.Errorf("at %d s: %d writes, want %d: %s", step.second, writes, step.writes, step.why)
		}
	}
}

// TestReadShowsDraining has a process learn from a read as well.
func TestReadShowsDraining(t *testing.T) {
	w := newBucketWorld(t)
	w.must(true, "A", 0, 10)
	w.must(true, "B", 11, 9) // full at 20
	w.must(true, "B", 11, 1) // 21
	w.calls("A")
	var v limit.Verdict
	if err := w.caller("A").Peek(t.Context(), w.time(11), w.charge(1), &v); err != nil {
		t.Fatal(err)
	}
	w.calls("A")
	w.must(true, "B", 12, 1) // 22
	w.must(true, "A", 21, 1)
	w.cost("A", 0, 1)
}

// TestOwnChargesAreNoGuess has a process that is alone read its counter while
// its own charges keep the bucket draining. They say nothing of others.
func TestOwnChargesAreNoGuess(t *testing.T) {
	for name, read := range map[string]func(*testing.T, *world){
		"a peek": func(t *testing.T, w *world) {
			if err := w.caller("A").Peek(t.Context(), w.time(1), w.charge(1), &limit.Verdict{}); err != nil {
				t.Error(err)
			}
		},
		"a denial that is too old": func(_ *testing.T, w *world) { w.must(false, "A", 11, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newBucketWorld(t)
			w.limit.Window *= 10 // a unit in 10 seconds
			w.must(true, "A", 0, 10)
			read(t, w)
			w.calls("A")
			w.must(true, "A", 200, 1)
			w.cost("A", 0, 1)
		})
	}
}
