package ruletable_test

import (
	"fmt"
	"testing"
)

// TestFlood looks up made-up keys between the keys of known callers. The cache
// keeps its bound, each made-up key costs one read, and known keys cost few.
func TestFlood(t *testing.T) {
	const size, known, made, times = 500, 50, 20_000, 400
	api := &shelf{}
	cache, _ := newCache(api, size)
	lookUp := func(key string) {
		if _, err := cache.Override(t.Context(), epoch, "api", key); err != nil {
			t.Fatal(err)
		}
	}
	for i := range known * times {
		lookUp(fmt.Sprint("known:", i%known))
		lookUp(fmt.Sprint("made:", i%made))
	}
	reads := 0
	for i := range known {
		reads += api.read(fmt.Sprint("known:", i))
	}
	if n := api.readInAll() - reads; n != made {
		t.Errorf("%d reads for %d made-up keys", n, made)
	}
	if reads > known*times/20 { // eviction is partly random; by age alone it would evict all of them
		t.Errorf("%d reads for %d known keys, each looked up %d times", reads, known, times)
	}
	if n := cache.Len(); n > size {
		t.Errorf("%d entries, want %d at most", n, size)
	}
}
