package storetest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/slidegate/slidegate/internal/limit"
)

// holder is what a charge's key may share its memory with.
type holder struct {
	text [128]byte
	rest [4]*holder
}

// cloning charges keys that share memory with a decision. A store must not keep
// the decisions of all counters that it knows.
func cloning(t *testing.T, h Harness) {
	if !h.ClonesKeys {
		return
	}
	store, mark := h.Client(t), freshKey()
	const keys = 10
	collected := make(chan int, keys)
	for i := range keys {
		d := &holder{}
		runtime.AddCleanup(d, func(i int) { collected <- i }, i)
		name := fmt.Sprintf("%s%d", mark, i)
		key := unsafe.String(&d.text[0], copy(d.text[:], name))
		// Two charges are admitted, and the third is denied. Stores keep
		// snapshots for either.
		for range 3 {
			c := limit.Charge{Key: key, Limits: []limit.Limit{Fixed(2, time.Minute)}, Costs: []int64{1}, Lease: 2}
			if err := store.Charge(t.Context(), epoch, &c, &limit.Verdict{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := 0; n < keys; {
		runtime.GC()
		select {
		case <-collected:
			n++
		case <-time.After(5 * time.Second):
			t.Fatalf("the store keeps the decisions of %d of %d keys: clone the keys", keys-n, keys)
		}
	}
	runtime.KeepAlive(store)
}
