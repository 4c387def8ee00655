package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	recording "github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/request"
)

// TestAllocations: a decision by up to three rules takes one allocation, for all
// verdicts and the names of their counters.
func TestAllocations(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: 1, 3: 1, 4: 4} {
		var document strings.Builder
		document.WriteString("plan: {from: jwt.plan}\nplans: {pro: {}}\nrules:\n")
		for i := range n {
			fmt.Fprintf(&document, "  - {name: r%d, key: 'ip:{ip}', overrides: true, limits: [{capacity: 1000000, window: 60s}]}\n", i)
		}
		e := engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, document.String())}, Store: memory.New(0), Local: memory.New(0),
			Recorder: recording.New(slog.New(slog.DiscardHandler)),
		})
		req := request.Request{Method: "GET", Path: "/v1/items/42", IP: netip.MustParseAddr("203.0.113.9"), Claims: map[string]any{"plan": "pro"}}
		got := testing.AllocsPerRun(100, func() {
			sent := req
			if d, err := e.Decide(context.Background(), epoch, &sent); err != nil || !d.Allowed || len(d.Verdicts) != n {
				t.Fatalf("%+v, error %v", d, err)
			}
		})
		if got != want {
			t.Errorf("%d rules: %v allocations, want %v", n, got, want)
		}
	}
}
