package rules

import (
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	const bad = -1
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"60s", time.Minute},
		{"100ms", 100 * time.Millisecond},
		{"1m30s", 90 * time.Second},
		{"1.5h", 90 * time.Minute},
		{"1d", 24 * time.Hour},
		{"7d", 168 * time.Hour},
		{"1d12h", 36 * time.Hour},
		{"0d1h", time.Hour},
		{"0", 0},
		{"0s", 0},
		{"", bad}, {"60", bad}, {"s", bad}, {"d", bad}, {"60 s", bad}, {" 60s", bad}, {"1h1d", bad}, {"1d1d", bad}, {"1.5d", bad},
		{"-60s", bad}, {"+60s", bad}, {"1d-1h", bad}, {"-1d", bad}, {"1w", bad}, {"1mo", bad}, {"1y", bad}, {"1min", bad}, {"60S", bad},
		{"99999999999999999999d", bad}, {"99999999999999999999s", bad},
	} {
		got, ok := parseDuration(tt.text)
		if ok != (tt.want != bad) || ok && got != tt.want {
			t.Errorf("parseDuration(%q) = %v, %t; want %v", tt.text, got, ok, tt.want)
		}
	}
	for _, text := range []string{"3651d", "2147483647d", "3650d1s", "2562047h", "3650d2562047h"} { // too long, and never wrapped around
		if got, ok := parseDuration(text); !ok || got <= maxWindow {
			t.Errorf("parseDuration(%q) = %v, %t", text, got, ok)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{time.Minute, "1m"}, {time.Hour, "1h"}, {90 * time.Minute, "1h30m"}, {90 * time.Second, "1m30s"}, {100 * time.Millisecond, "100ms"},
		{10 * time.Second, "10s"}, {100 * time.Hour, "100h"}, {10 * time.Minute, "10m"}, {time.Hour + 10*time.Second, "1h0m10s"}, {0, "0s"},
	} {
		got := formatDuration(tt.d)
		if got != tt.want {
			t.Errorf("formatDuration(%d) = %q, want %q", tt.d, got, tt.want)
		}
		if back, ok := parseDuration(got); !ok || back != tt.d {
			t.Errorf("%q reads back as %v", got, back)
		}
	}
}

func TestDefaultGranularity(t *testing.T) {
	for _, tt := range []struct{ window, want time.Duration }{
		{60 * time.Second, time.Second},
		{time.Hour, time.Minute},
		{24 * time.Hour, 24 * time.Minute},
		{90 * time.Second, 2 * time.Second}, // 45 slots of whole seconds
		{70 * time.Second, 2 * time.Second},
		{10 * time.Second, 200 * time.Millisecond}, // 50
		{2 * time.Second, 100 * time.Millisecond},
		{time.Second, 100 * time.Millisecond},
		{59 * time.Second, time.Second},                   // 59
		{5900 * time.Millisecond, 100 * time.Millisecond}, // 59 as well
		{5300 * time.Second, 100 * time.Second},           // 53
		{6100 * time.Millisecond, 0},                      // a prime number of tenths
		{900 * time.Millisecond, 0},
		{100 * time.Millisecond, 0},
		{61 * time.Second, 0},                      // a prime
		{60*time.Second + 100*time.Millisecond, 0}, // no whole seconds
		{1250 * time.Millisecond, 0},
	} {
		got := defaultGranularity(tt.window)
		if got != tt.want {
			t.Errorf("defaultGranularity(%v) = %v, want %v", tt.window, got, tt.want)
		}
	}
}

// The default by its definition, slowly: the largest k up to 60 that gives whole units, none below 10.
func TestDefaultGranularityByDefinition(t *testing.T) {
	for window := minGranularity; window <= 10*time.Minute; window += 50 * time.Millisecond {
		unit := 100 * time.Millisecond
		if window >= time.Minute {
			unit = time.Second
		}
		var want time.Duration
		for k := time.Duration(10); k <= 60; k++ {
			if window%k == 0 && (window/k)%unit == 0 {
				want = window / k
			}
		}
		if got := defaultGranularity(window); got != want {
			t.Errorf("defaultGranularity(%v) = %v, want %v", window, got, want)
		}
	}
}

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
		{"window: 3650d, granularity: 100ms", "granularity: cuts the window of 87600h into 3153600000 slots, and 600 is the most: write 146h"},
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
		{"window: 60s, granularity: 1s, algorithm: fixed_window", "granularity: a fixed_window is one slot as wide as its window: remove granularity"},
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
