package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestAllocations bounds the allocations of a decision: a rule that does not
// cover the request adds none.
func TestAllocations(t *testing.T) {
	const bound = 6
	for _, rules := range []int{1, 100} {
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
