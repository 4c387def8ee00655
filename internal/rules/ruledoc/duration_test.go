package ruledoc

import (
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
		got, ok := ParseDuration(tt.text)
		if ok != (tt.want != bad) || ok && got != tt.want {
			t.Errorf("ParseDuration(%q) = %v, %t; want %v", tt.text, got, ok, tt.want)
		}
	}
	for _, text := range []string{"3651d", "2147483647d", "3650d1s", "2562047h", "3650d2562047h"} { // too long, and never wrapped around
		if got, ok := ParseDuration(text); !ok || got <= MaxWindow {
			t.Errorf("ParseDuration(%q) = %v, %t", text, got, ok)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{time.Minute, "1m"}, {time.Hour, "1h"}, {90 * time.Minute, "1h30m"}, {90 * time.Second, "1m30s"}, {100 * time.Millisecond, "100ms"},
		{10 * time.Second, "10s"}, {100 * time.Hour, "100h"}, {24 * time.Hour, "1d"}, {60 * 24 * time.Hour, "60d"}, {10 * time.Minute, "10m"}, {time.Hour + 10*time.Second, "1h0m10s"}, {0, "0s"},
	} {
		got := FormatDuration(tt.d)
		if got != tt.want {
			t.Errorf("FormatDuration(%d) = %q, want %q", tt.d, got, tt.want)
		}
		if back, ok := ParseDuration(got); !ok || back != tt.d {
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
		got := DefaultGranularity(tt.window)
		if got != tt.want {
			t.Errorf("DefaultGranularity(%v) = %v, want %v", tt.window, got, tt.want)
		}
	}
}

// The default by its definition, slowly: the largest k up to 60 that gives whole units, none below 10.
func TestDefaultGranularityByDefinition(t *testing.T) {
	for window := MinWindow; window <= 10*time.Minute; window += 50 * time.Millisecond {
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
		if got := DefaultGranularity(window); got != want {
			t.Errorf("DefaultGranularity(%v) = %v, want %v", window, got, want)
		}
	}
}
