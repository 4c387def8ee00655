package ruledoc

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every way to write a rate, the limit that it stands for, and how that is
// written again.
func TestRates(t *testing.T) {
	for _, tt := range []struct {
		rate     string
		capacity int64
		window   string
		again    string
	}{
		{"100/minute", 100, "1m", "100/minute"},
		{"100/m", 100, "1m", "100/minute"},
		{"100 / minute", 100, "1m", "100/minute"},
		{"100 per minute", 100, "1m", "100/minute"},
		{"100/60s", 100, "60s", "100/60s"},
		{"5 per 10s", 5, "10s", "5/10s"},
		{"20/second", 20, "1s", "20/second"},
		{"20/s", 20, "1s", "20/second"},
		{"1000/hour", 1000, "1h", "1000/hour"},
		{"1000/h", 1000, "1h", "1000/hour"},
		{"1000/1h30m", 1000, "1h30m", "1000/1h30m"},
		{"10000/day", 10000, "1d", "10000/day"},
		{"10000/d", 10000, "1d", "10000/day"},
		{"10000/week", 10000, "1w", "10000/week"},
		{"10000/month", 10000, "1mo", "10000/month"},
		{"10000/1mo", 10000, "1mo", "10000/month"},
		{"1/60", 1, "60", "1/60"}, // whose window package rules refuses
		{"999999999/s", 999999999, "1s", "999999999/second"},
	} {
		text, err := json.Marshal(tt.rate)
		if err != nil {
			t.Fatal(err)
		}
		var got Limit
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v", tt.rate, err)
		}
		if diff := cmp.Diff(Limit{Capacity: tt.capacity, Window: tt.window}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.rate, diff)
		}
		if again := got.Rate(); again != tt.again {
			t.Errorf("%s is written again as %q, want %q", tt.rate, again, tt.again)
		}
	}
}

func TestWhatIsNoRate(t *testing.T) {
	const write = " is no rate: write a whole number from 1 and a window, such as 100/minute, 100/60s or 5 per 10s"
	const units = " is no rate: its units are 1 to 999999999999999"
	for _, tt := range []struct{ text, want string }{
		{"100", `"100"` + write}, {"0/minute", `"0/minute"` + units}, {"007/minute", `"007/minute" is no rate: write 7/minute`}, {"-5/s", `"-5/s"` + write}, {"1.5/s", `"1.5/s"` + write}, {"0.5/week", `"0.5/week"` + write}, {"1,000/hour", `"1,000/hour" is no rate: write 1000/hour`},
		{"10k/hour", `"10k/hour" is no rate: write 10000/hour`}, {"100/", `"100/"` + write}, {"/minute", `"/minute"` + write}, {"100 minute", `"100 minute" is no rate: write 100/minute`},
		{"1000000000000000/s", `"1000000000000000/s"` + units}, {"", `""` + write}, {"100/fortnight", `"100/fortnight"` + write},
		{"100/min", `"100/min" is no rate: write 100/minute`}, {"100/sec", `"100/sec" is no rate: write 100/second`},
		{"100/minutes", `"100/minutes" is no rate: write 100/minute`}, {"5 per mo", `"5 per mo" is no rate: write 5/month`},
	} {
		text, err := json.Marshal(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, new(Limit)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.text, err, tt.want)
		}
	}
}

// A limit that states more than a rate can is written with its fields.
func TestLimitsThatAreNoRates(t *testing.T) {
	for _, l := range []Limit{
		{}, {Capacity: 5}, {Window: "1s"}, {Name: "a", Capacity: 5, Window: "1s"}, {Capacity: 5, Window: "1s", Algorithm: DefaultAlgorithm}, {Capacity: 5, Window: "1s", Cost: &Cost{}},
		{Capacity: -5, Window: "1s"}, {Capacity: 5, Window: "m"}, {Capacity: 5, Window: "minute"}, {Capacity: 5, Window: "1 s"},
	} {
		if rate := l.Rate(); rate != "" {
			t.Errorf("%+v is written as %s", l, rate)
		}
	}
}

// Several limits without a name have that of their window.
func TestDefaultNames(t *testing.T) {
	for window, want := range map[string]string{
		"1s": "per-second", "60s": "per-minute", "1m": "per-minute", "1h": "per-hour", "24h": "per-day", "1d": "per-day", "1w": "per-week", "1mo": "per-month",
		"7d": "per-7d", "10s": "per-10s", "90s": "per-1m30s", "1.5s": "per-1-5s", "60": "", "": "", "soon": "",
	} {
		d := WithDefaults(&Document{Rules: []Rule{{Limits: []Limit{{Window: window}, {Name: "own", Window: "1s"}}}, {Limits: []Limit{{Window: window}}}}})
		if got := d.Rules[0].Limits[0].Name; got != want {
			t.Errorf("a window of %s is named %q, want %q", window, got, want)
		}
		if got := d.Rules[0].Limits[1].Name; got != "own" {
			t.Errorf("a name of its own becomes %q", got)
		}
		if got := d.Rules[1].Limits[0].Name; got != "" {
			t.Errorf("the only limit is named %q", got)
		}
	}
}

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

// The default by its definition, slowly: the largest k up to 60 that gives whole units, none below 10.
func TestDefaultGranularity(t *testing.T) {
	windows := []time.Duration{time.Hour, 24 * time.Hour, 5300 * time.Second}
	for window := MinWindow; window <= 10*time.Minute; window += 50 * time.Millisecond {
		windows = append(windows, window)
	}
	for _, window := range windows {
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
