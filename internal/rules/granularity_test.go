package rules

import (
	"strings"
	"testing"
)

func TestGranularity(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{"window: 60s, granularity: 1s", ""},
		{"window: 60s, granularity: 100ms", ""}, // 600 slots
		{"window: 60s, granularity: 60s", ""},   // 1
		{"window: 100ms, granularity: 100ms", ""},
		{"window: 61s, granularity: 1s", ""},
		{"window: 3650d, granularity: 365d", ""},
		{"window: 100ms, algorithm: fixed_window", ""},
		{"window: 61s, algorithm: fixed_window", ""},
		{"window: 1d, algorithm: fixed_window", ""},

		{"window: 61s, granularity: 100ms", "granularity: cuts the window of 1m1s into 610 slots, and 600 is the most: write 200ms"},
		{"window: 1h, granularity: 1s", "granularity: cuts the window of 1h into 3600 slots, and 600 is the most: write 6s"},
		{"window: 3650d, granularity: 100ms", "granularity: cuts the window of 3650d into 3153600000 slots, and 600 is the most: write 146h"},
		{"window: 60s, granularity: 7s", "granularity: the window of 1m is no whole multiple of 7s: write 7.5s"},
		{"window: 60s, granularity: 61s", "granularity: the window of 1m is no whole multiple of 1m1s: write 1m"},
		{"window: 1250ms, granularity: 100ms", "granularity: the window of 1.25s is no whole multiple of 100ms: write 125ms"},
		{"window: 60s, granularity: 99ms", "granularity: 99ms is out of range: write 100ms to 3650d"},
		{"window: 60s, granularity: 0s", "granularity: 0s is out of range: write 100ms to 3650d"},
		{"window: 99ms", "window: 99ms is out of range: write 100ms to 3650d"},
		{"window: 3651d", "window: 3651d is out of range: write 100ms to 3650d"},
		{"window: -60s", `window: "-60s" is no length of time: write numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d`},
		{"window: 60", "window: needs a unit: write 60s for seconds"},
		{"window: 900ms", "window: 900ms does not divide into 10 to 60 even slots: state the granularity, such as granularity: 100ms, or write a rounder window"},
		{"window: 61s", "window: 1m1s does not divide into 10 to 60 even slots: state the granularity, such as granularity: 1s, or write a rounder window"},
		{"window: 3607s", "window: 1h0m7s does not divide into 10 to 60 even slots: state the granularity, such as granularity: 6m0.7s, or write a rounder window"},
		{"window: 1250ms", "window: 1.25s is no whole multiple of 100ms: write one that is, or state the granularity"},
		{"window: 60s, granularity: 1s, algorithm: fixed_window", "granularity: a fixed_window has no granularity: remove it, or write algorithm: sliding_window"},
	} {
		s, err := read(t, "f", "rules: [{name: r, key: all, limits: [{capacity: 1, "+tt.fields+"}]}]")
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.fields, err)
		case tt.want == "" && s.Rules[0].Limits[0].Slots() > 600:
			t.Errorf("%s: %d slots", tt.fields, s.Rules[0].Limits[0].Slots())
		case tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": rules[0].limits[0]."+tt.want)):
			t.Errorf("%s: got %v, want %s", tt.fields, err, tt.want)
		}
	}
}
