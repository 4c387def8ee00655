package memory

import (
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestHomes: each place of a table is the home of some hash, or counters would
// crowd and be slow to find.
func TestHomes(t *testing.T) {
	table := table{places: make([]*counter, 8)}
	for hash := range uint32(32) {
		if got := table.home(hash); got != int(hash%8) {
			t.Errorf("the home of hash %d is place %d of 8", hash, got)
		}
	}
}

// TestHashesDiffer: keys of one shard have other hashes, for its table.
func TestHashesDiffer(t *testing.T) {
	s, hashes := NewSequential(0), map[uint32]bool{}
	for i := range 100 {
		_, hash := s.shard(fmt.Sprint(i))
		hashes[hash] = true
	}
	if len(hashes) < 99 {
		t.Errorf("100 keys have %d hashes", len(hashes))
	}
}

// TestMarksDiffer: of two keys that share their place, a Fallback knows the one
// that was noted last.
func TestMarksDiffer(t *testing.T) {
	f := NewFallback(0)
	first, _ := f.known.place("first")
	for i := 0; ; i++ {
		key := fmt.Sprint(i)
		if at, _ := f.known.place(key); at != first {
			continue
		}
		f.Note("first")
		f.Note(key)
		if f.known.has("first") || !f.known.has(key) {
			t.Errorf("first is known: %t; the later key is: %t", f.known.has("first"), f.known.has(key))
		}
		return
	}
}

// TestOneLimitIsInTheCounter: only a counter of several limits has states beside
// it, so that most keys take the memory that DefaultMaxKeys states.
func TestOneLimitIsInTheCounter(t *testing.T) {
	for n, beside := range map[int]bool{1: false, 2: true} {
		ct := newCounter(&limit.Charge{Limits: make([]limit.Limit, n)}, 0, 0)
		if (ct.several != nil) != beside || len(ct.states()) != n {
			t.Errorf("a counter of %d limits has %d states, beside it: %t", n, len(ct.states()), ct.several != nil)
		}
	}
}
