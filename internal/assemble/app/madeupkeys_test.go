package app_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var wide = flag.Bool("wide", false, "flood a rule with a million made-up keys, as make test-wide does, instead of 200,000")

// TestMadeUpKeys floods a rule with made-up keys for a minute. Limited
// clients stay limited, memory stays bounded, and after the minute all clients
// are allowed again.
func TestMadeUpKeys(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`rules: [{name: user, key: "user:{header.x-user}", limits: [{capacity: 1, window: 60s}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	const bound = 20_000
	flood := 200_000
	if *wide {
		flood = 1_000_000
	}
	store := memory.New(bound)
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store})
	start := time.Unix(1_700_000_040, 0)
	allowed := func(after time.Duration, user string) bool {
		t.Helper()
		req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"X-User": {user}}}
		d, err := e.Decide(t.Context(), start.Add(after), req)
		if err != nil {
			t.Fatal(err)
		}
		return d.Allowed
	}
	if !allowed(0, "victim") || allowed(0, "victim") {
		t.Fatal("want one request allowed, and the second denied")
	}
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	admitted := 0
	for i := range flood {
		if allowed(time.Duration(i)*59*time.Second/time.Duration(flood), fmt.Sprintf("%x", random.Uint64())) {
			admitted++
		}
	}
	if admitted > bound {
		t.Errorf("%d made-up keys were admitted: the bound is %d", admitted, bound)
	}
	if grown := heap() - before; grown > bound*1000 {
		t.Errorf("memory grew by %d bytes: more than a kilobyte for each of %d keys", grown, bound)
	}
	if allowed(59*time.Second, "victim") {
		t.Error("after the flood, a limited client is allowed again")
	}
	if !allowed(122*time.Second, "victim") || !allowed(122*time.Second, "another") {
		t.Error("a minute later, clients are denied")
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
