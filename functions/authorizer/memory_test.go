package main

import (
	"runtime/debug"
	"testing"
)

func TestCollectLess(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for name, test := range map[string]struct {
		env     map[string]string
		percent int
		limit   int64
	}{
		"a Lambda":          {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256"}, 400, 192 << 20},
		"another machine":   {nil, 100, limit},
		"a limit by others": {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "GOMEMLIMIT": "100MiB"}, 400, limit},
		"others' GOGC":      {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "GOGC": "off"}, 100, 192 << 20},
	} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(limit)
		collectLess(func(name string) string { return test.env[name] })
		if got, bound := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); got != test.percent || bound != test.limit {
			t.Errorf("%s: GOGC %d and a limit of %d, want %d and %d", name, got, bound, test.percent, test.limit)
		}
	}
}
