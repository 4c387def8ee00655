//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
)

// writesMetrics: under traffic, the metrics of the authorizer reach the log of the
// stack's function, where slidegate top reads them as lines of this limiter. The
// emulator makes no metrics of them.
func (d *deployment) writesMetrics(t *testing.T, user string) {
	f := d.traffic(t, user)
	f.until(t, "after a line of metrics", func(seen) bool {
		var view struct{ Rates map[string]float64 }
		if err := json.Unmarshal(command(t, ".", d.cli, "top", "--stack", stack, "--once", "--json"), &view); err != nil {
			t.Fatal(err)
		}
		return view.Rates["Decisions"] > 0
	})
	f.stop(t)
}
