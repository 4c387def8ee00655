package cli

import "testing"

func TestRetryText(t *testing.T) {
	for want, seconds := range map[string]float64{"now": 0, "never": -1, "1.5s": 1.5} {
		if got := retryText(seconds); got != want {
			t.Errorf("%v is written %q, want %q", seconds, got, want)
		}
	}
}
