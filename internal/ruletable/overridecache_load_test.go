package ruletable_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/ruletable"
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

// TestHitAllocatesNothing: a cached override costs a request no allocation.
func TestHitAllocatesNothing(t *testing.T) {
	api := &shelf{}
	api.put("k", `{"capacity": 5}`)
	cache, _ := newCache(api, ruletable.DefaultMaxOverrides)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		for _, key := range []string{"k", "none"} {
			if _, err := cache.Override(ctx, epoch, "api", key); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestManyOverrides: with 100,000 overrides in the table, a request costs the
// same.
func TestManyOverrides(t *testing.T) {
	const many = 100_000
	client, name := newTable(t)
	imported(t, ruletable.Imported{Written: many})(ruletable.New(client, name).ImportOverrides(t.Context(), "api", numbered(many), note(0, "the list"), nil))
	api := &counting{API: client}
	cache := ruletable.NewOverrideCache(ruletable.New(api, name), ruletable.DefaultMaxOverrides, func(err error) { t.Error(err) })
	for at := range 3 {
		for range 100 {
			for i := range 20 { // half of them are absent
				o, err := cache.Override(t.Context(), epoch.Add(time.Duration(at)*10*time.Second), "api", fmt.Sprintf("user:%06d", many-10+i))
				if err != nil || (o == nil) != (i >= 10) {
					t.Fatalf("key %d: %+v, error %v", i, o, err)
				}
			}
		}
		if reads := api.count("GetItem"); reads != 20*(at+1) || api.count("Query") != 0 {
			t.Errorf("%d reads, %d queries after %d lifetimes", reads, api.count("Query"), at+1)
		}
	}
}
