package cli

import (
	"testing"
	"time"
)

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "3650d": 87600 * time.Hour,
	} {
		if got, err := parseSpan(text); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0s", "-1h", "7", "d", "1.5d", "3651d", "1d12h", "99999999999d", "forever"} {
		if d, err := parseSpan(text); err == nil {
			t.Errorf("%q: %v, want an error", text, d)
		}
	}
}

func TestRetryText(t *testing.T) {
	for want, seconds := range map[string]float64{"now": 0, "never": -1, "1.5s": 1.5} {
		if got := retryText(seconds); got != want {
			t.Errorf("%v is written %q, want %q", seconds, got, want)
		}
	}
}
