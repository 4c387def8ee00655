package telemetry_test

import (
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules"
)

// BenchmarkRecorder counts decisions under one limit of 100, from the usual one to
// the dearest: a flood in which each request has another key.
func BenchmarkRecorder(b *testing.B) {
	for _, bench := range []struct {
		name    string
		allowed bool
		used    int64
		keys    int
	}{
		{"allowed", true, 50, 1}, {"near", true, 90, 1}, {"denied", false, 100, 1}, {"denied, other keys", false, 100, 100_000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := telemetry.NewRecorder(telemetry.Options{})
			rule, terms := &rules.Rule{Name: "api"}, &rules.Terms{Limits: []limit.Limit{{Capacity: 100}}, Costs: []int64{1}}
			decisions := make([]engine.Decision, bench.keys)
			for i := range decisions {
				v := engine.Verdict{Resolution: engine.Resolution{Rule: rule, Key: fmt.Sprintf("ip:203.0.%d", i), Terms: terms}}
				v.Limits = []limit.Result{{Allowed: bench.allowed, Remaining: 100 - bench.used}}
				decisions[i] = engine.Decision{Allowed: bench.allowed, Verdicts: []engine.Verdict{v}}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Decided(b.Context(), epoch, nil, &decisions[i%bench.keys])
			}
		})
	}
}
