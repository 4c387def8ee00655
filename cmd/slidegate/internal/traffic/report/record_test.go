package report_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/report"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestCount: each charge that is made is a write of the units that its counter
// takes, and a denial that the store proves is none. The month has twice as many.
func TestCount(t *testing.T) {
	for document, want := range map[string]float64{
		`{name: a, key: "ip:{ip}", limit: 9/minute}, {name: b, counter: c, key: all, limit: 1/minute}`:              2 + 2,
		`{name: a, key: all, limit: 2/minute, atomic: true}, {name: b, key: b, limit: 9/minute, atomic: true}`:      4*2 + 4*2,
		`{name: a, key: all, limit: 9/minute, cost: 0}, {name: b, key: all, limit: 1/minute, mode: shadow}`:         2,
		`{name: a, key: all, limit: 9/minute}, {name: off, key: all, limit: 1/minute, mode: "off"}`:                 6,
		`{name: a, key: all, limits: [{name: m, capacity: 500, window: 1m}, {name: h, capacity: 500, window: 1h}]}`: 6 * 2,
		`{name: a, key: all, limit: {algorithm: sliding_window_log, capacity: 500, window: 1m}}`:                    6 * 4,
	} {
		s, err := rulefile.Parse("rules.yaml", []byte("rules: ["+document+"]"))
		if err != nil {
			t.Fatal(err)
		}
		counted := report.Count(memory.New(0), s)
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: s}, Store: counted, Local: memory.New(0)})
		for range 3 {
			req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")}
			if _, err := e.Decide(t.Context(), time.Unix(1e9, 0), req); err != nil {
				t.Fatal(err)
			}
		}
		if got := cost.NewBill(cost.Standard(), false, counted.Traffic(6, 0, 2)).Writes; got != want {
			t.Errorf("%s: %g, want %g", document, got, want)
		}
	}
}
