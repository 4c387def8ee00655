package cost_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestCount: each charge that is made is a write, by the rule that the counter
// belongs to, and a denial that the store proves is none.
func TestCount(t *testing.T) {
	for rules, want := range map[string]string{
		`{name: a, key: "ip:{ip}", limit: 9/minute}, {name: b, counter: c, key: all, limit: 1/minute}`:              "a 2×1, b 2×1",
		`{name: a, key: all, limit: 2/minute, atomic: true}, {name: b, key: b, limit: 9/minute, atomic: true}`:      "a 4×2, b 4×2",
		`{name: a, key: all, limit: 9/minute, cost: 0}, {name: b, key: all, limit: 1/minute, mode: shadow}`:         "a 0×1, b 2×1",
		`{name: a, key: all, limit: 9/minute}, {name: off, key: all, limit: 1/minute, mode: "off"}`:                 "a 6×1",
		`{name: a, key: all, limits: [{name: m, capacity: 500, window: 1m}, {name: h, capacity: 500, window: 1h}]}`: "a 6×2",
	} {
		s := set(t, "rules: ["+rules+"]")
		counted := cost.Count(memory.New(0), s)
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: s}, Store: counted, Local: memory.New(0)})
		for range 3 {
			req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")}
			if _, err := e.Decide(t.Context(), time.Unix(1e9, 0), req); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for i, c := range counted.Traffic(6, 0, 2).Rules {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%s %g×%d", c.Rule, c.Charges, c.Units)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
}
