package flags

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

// What ends within a second ends with that second, not before it begins.
func TestWholeSecond(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-01T00:00:00Z":           "2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00.000000001Z": "2026-01-01T00:00:01Z",
		"2026-01-01T00:59:59.3+01:00":    "2026-01-01T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := wholeSecond(at).Format(time.RFC3339Nano); got != want {
			t.Errorf("%s is rounded to %s, want %s", text, got, want)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 100e6, time.UTC)
	if end, err := (&Until{span: "300ms"}).Read(nil, now); err != nil || !end.After(now) {
		t.Errorf("300ms after %v is over at %v, error %v", now, end, err)
	}
}
