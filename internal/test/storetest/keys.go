package storetest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/slidegate/slidegate/internal/limit"
)

// cloning charges keys that share memory with a decision.
func cloning(t *testing.T, h Harness) {
	if !h.ClonesKeys {
		return
	}
	store := h.Client(t)
	KeepsNoKey(t, freshKey(), func(key string) {
		// Two charges are admitted, and the third is denied. Stores keep
		// snapshots for either.
		for range 3 {
			c := limit.Charge{Key: key, Limits: []limit.Limit{Fixed(2, time.Minute)}, Costs: []int64{1}, Lease: 2, Borrowed: true}
			if err := store.Charge(t.Context(), epoch, &c, &limit.Verdict{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	runtime.KeepAlive(store)
}

// KeepsNoKey calls use with some keys that begin with a text, and fails if the
// memory of one is still in use afterwards. A key may share its memory with a
// decision, which is several times as large.
func KeepsNoKey(t *testing.T, prefix string, use func(key string)) {
	t.Helper()
	const keys = 10
	collected := make(chan struct{}, keys)
	for i := range keys {
		d := &decided{}
		runtime.AddCleanup(d, func(c chan struct{}) { c <- struct{}{} }, collected)
		use(unsafe.String(&d.text[0], copy(d.text[:], fmt.Sprintf("%s%d", prefix, i))))
	}
	for n := range keys {
		runtime.GC()
		select {
		case <-collected:
		case <-time.After(5 * time.Second):
			t.Fatalf("the memory of %d of %d keys is in use: clone the keys", keys-n, keys)
		}
	}
}

// decided stands for a decision that a key shares its memory with.
type decided struct{ text [128]byte }
