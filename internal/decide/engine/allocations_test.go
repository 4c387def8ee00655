package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestAllocations bounds the allocations of a decision: a rule that does not
// cover the request adds none.
func TestAllocations(t *testing.T) {
	for rules, bound := range map[int]float64{1: 6, 100: 6} {
		var document strings.Builder
		document.WriteString("plan: {from: jwt.plan}\nplans: {pro: {}}\nrules:\n")
		for i := range rules {
			fmt.Fprintf(&document, "  - {name: r%d, when: {path: /v%[1]d/**}, key: 'ip:{ip}', overrides: true, "+
				"limits: [{capacity: 1000000, window: 60s}]}\n", i)
		}
		e := engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, document.String())}, Store: memory.New(0), Local: memory.New(0),
			Observer: oplog.NewObserver(slog.New(slog.DiscardHandler)),
		})
		req := request.Request{Method: "GET", Path: "/v0/items/42", IP: netip.MustParseAddr("203.0.113.9"), Claims: map[string]any{"plan": "pro"}}
		got := testing.AllocsPerRun(100, func() {
			sent := req
			if d, err := e.Decide(context.Background(), epoch, &sent); err != nil || !d.Allowed || len(d.Verdicts) != 1 {
				t.Fatalf("%+v, error %v", d, err)
			}
		})
		if got > bound {
			t.Errorf("%d rules: %v allocations, want at most %v", rules, got, bound)
		}
	}
}

// BenchmarkDecide decides a request that one of so many rules covers, in
// memory: by its path, its method, its caller and a capacity of the caller's
// plan.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			var plans, list strings.Builder
			for i := range n {
				fmt.Fprintf(&plans, "    service-%d: 4000000000\n", i)
				fmt.Fprintf(&list, "  - {name: service-%d, when: {methods: [GET], path: /v1/service-%[1]d/**, caller: known}, "+
					"key: 'user:{jwt.sub}', limits: [{capacity: 1000000000, window: 60s}]}\n", i)
			}
			set := parse(b, "plan: {from: jwt.plan}\nplans:\n  pro:\n"+plans.String()+"rules:\n"+list.String())
			e := engine.New(engine.Options{
				Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0),
				Observer: oplog.NewObserver(slog.New(slog.DiscardHandler)),
			})
			req := request.Request{
				Method: "GET", Path: fmt.Sprintf("/v1/service-%d/items/42", n-1), IP: netip.MustParseAddr("203.0.113.9"),
				Claims: map[string]any{"sub": "7", "plan": "pro"},
			}
			b.ReportAllocs()
			for b.Loop() {
				sent := req
				if d, err := e.Decide(context.Background(), time.Now(), &sent); err != nil || !d.Allowed || len(d.Verdicts) != 1 {
					b.Fatalf("%+v, error %v", d, err)
				}
			}
		})
	}
}
