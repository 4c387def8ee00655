package inlambda

import (
	"runtime/debug"
	"testing"
	"time"
)

func TestDeadline(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 250 * time.Millisecond, "2s": 2 * time.Second, "0s": 0, "-1s": 0, "250": 0, "soon": 0} {
		got, err := deadline(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
}

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
		CollectLess(func(name string) string { return test.env[name] })
		if got, bound := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); got != test.percent || bound != test.limit {
			t.Errorf("%s: GOGC %d and a limit of %d, want %d and %d", name, got, bound, test.percent, test.limit)
		}
	}
}
