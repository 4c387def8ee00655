package dynamo_test

import (
	"fmt"
	"math/rand/v2"
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

// busyBucket has processes charge in turn, A first, one unit a second, a bucket
// that is behind by three units. With four processes or more, the snapshot of
// each shows it full by its turn, and each learns by six refusals. busyBucket
// returns the second of the next turn.
func busyBucket(w *world, processes int64, rounds int64) (second int64) {
	w.must(true, "first", 0, 2)
	for ; second < rounds*processes; second++ {
		w.must(true, string(rune('A'+second%processes)), second, 1)
	}
	return second
}

// TestSharedBucketTakesOneWriteEach: processes that have learned that others
// charge a bucket take one write for each charge.
func TestSharedBucketTakesOneWriteEach(t *testing.T) {
	w := newBucketWorld(t)
	const processes = 4
	second := busyBucket(w, processes, 7)
	for n := range processes {
		w.calls(string(rune('A' + n)))
	}
	for range 10 * processes {
		name := string(rune('A' + second%processes))
		w.must(true, name, second, 1)
		w.cost(name, 0, 1)
		second++
	}
}

// TestGuessThatIsWrong costs a second write, and ends the guessing of a bucket
// that is no busier than a guess takes. A process alone never guesses.
func TestGuessThatIsWrong(t *testing.T) {
	w := newBucketWorld(t)
	second := busyBucket(w, 4, 8)
	w.calls("A")
	for n, step := range []struct {
		after, writes int64
		why           string
	}{
		{100, 2, "the bucket is full: the guess is wrong"},
		{100, 1, "no guess any more"},
		{0, 1, "its own snapshot shows the bucket draining"},
		{100, 1, "which is no reason to guess"},
	} {
		second += step.after
		w.must(true, "A", second, 1)
		if _, writes := w.calls("A"); writes != step.writes {
			t.Errorf("step %d: %d writes, want %d: %s", n, writes, step.writes, step.why)
		}
	}
}

// TestGuessesOfRandomLoad has processes charge at random times. A bucket that is
// full at most times must cost no more writes than without guesses: those for
// which it was not. One that is seldom full must cost fewer.
func TestGuessesOfRandomLoad(t *testing.T) {
	for load, most := range map[float64]float64{0.1: 1.13, 0.3: 1.33, 0.5: 1.53, 0.9: 1.26} {
		w := newWorld(t, 1, 1)
		w.limit = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100, Window: 100 * time.Second, Burst: 100}
		random := rand.New(rand.NewPCG(1, 1))
		now, writes := epoch, int64(0)
		const requests = 1000
		for range requests {
			now = now.Add(time.Duration(random.ExpFloat64() / load * float64(time.Second)))
			name := fmt.Sprint(random.IntN(8))
			var v limit.Verdict
			if err := w.caller(name).Charge(t.Context(), now, w.charge(1), &v); err != nil || !v.Allowed {
				t.Fatalf("allowed %t, error %v", v.Allowed, err)
			}
		}
		for name := range w.callers {
			_, n := w.calls(name)
			writes += n
		}
		if each := float64(writes) / requests; each > most {
			t.Errorf("load %.1f: %.2f writes each, want at most %.2f", load, each, most)
		}
	}
}

// TestReadShowsDraining has a process learn from reads as well.
func TestReadShowsDraining(t *testing.T) {
	w := newBucketWorld(t)
	w.must(true, "A", 0, 10)
	for second := int64(11); second < 17; second++ { // full at 13, 15 … 23
		w.must(true, "B", second, 2)
		if err := w.caller("A").Peek(t.Context(), w.time(second), w.charge(1), &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	w.must(true, "B", 17, 2) // 25
	w.calls("A")
	w.must(true, "A", 24, 1)
	w.cost("A", 0, 1)
}

// TestOwnChargesAreNoGuess has a process that is alone read and charge its
// counter while its own charges keep the bucket draining. They say nothing of
// others.
func TestOwnChargesAreNoGuess(t *testing.T) {
	for name, read := range map[string]func(w *world, second int64){
		"a peek": func(w *world, second int64) {
			if err := w.caller("A").Peek(t.Context(), w.time(second), w.charge(1), &limit.Verdict{}); err != nil {
				t.Error(err)
			}
		},
		"a charge":                 func(w *world, second int64) { w.must(true, "A", second, 1) },
		"a denial that is too old": func(w *world, second int64) { w.must(false, "A", second, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newBucketWorld(t)
			w.limit.Window *= 10 // a unit in 10 seconds
			w.must(true, "A", 0, 10)
			for n := range int64(8) {
				read(w, 11*(n+1))
			}
			w.calls("A")
			w.must(true, "A", 200, 1)
			w.cost("A", 0, 1)
		})
	}
}
