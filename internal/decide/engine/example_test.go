package engine_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// fixed is a RuleSource with one set of rules.
type fixed struct{ set *rules.Set }

func (f fixed) Rules(context.Context, time.Time) (*rules.Set, error) { return f.set, nil }

// An engine decides requests by rules, and counts them in a store.
func Example() {
	set, err := rulefile.Parse("rules.yaml", []byte(`
rules:
  - {name: per-ip, key: "ip:{ip}", limit: 2/minute}
`))
	if err != nil {
		log.Fatal(err)
	}
	store := memory.New(1000)
	e := engine.New(engine.Options{Rules: fixed{set}, Store: store, Local: store})
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	for range 3 {
		d, err := e.Decide(context.Background(), now, &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")})
		if err != nil {
			log.Fatal(err)
		}
		v, i := d.Tightest()
		fmt.Printf("allowed: %t, remaining: %d, retry after: %v\n", d.Allowed, v.Limits[i].Remaining, v.RetryAfter)
		now = now.Add(10 * time.Second)
	}
	// Output:
	// allowed: true, remaining: 1, retry after: 0s
	// allowed: true, remaining: 0, retry after: 0s
	// allowed: false, remaining: 0, retry after: 41s
}
