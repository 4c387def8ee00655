package command

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

// An end within a second becomes the end of that second, never a moment before
// the start.
func TestEndAt(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-01T00:00:00Z":           "2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00.000000001Z": "2026-01-01T00:00:01Z",
		"2026-01-01T00:59:59.3+01:00":    "2026-01-01T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		end, err := endAt(at, at.Add(-time.Hour))
		if got := end.Format(time.RFC3339Nano); got != want || err != nil {
			t.Errorf("%s is rounded to %s, %v; want %s", text, got, err, want)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 100e6, time.UTC)
	if end, err := endAt(now.Add(300*time.Millisecond), now); err != nil || !end.After(now) {
		t.Errorf("300ms after %v is over at %v, error %v", now, end, err)
	}
}
