package text_test

import (
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/text"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := text.Thousands(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 lines", 1: "1 line", 2: "2 lines", 1234: "1,234 lines"} {
		if got := text.Plural(n, "line"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 1234567: "1.234567ms", 250 * time.Millisecond: "250ms", 1239 * time.Millisecond: "1.239s",
		time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h", time.Hour + time.Second: "1h0m1s", 24 * time.Hour: "24h",
		83*time.Hour + 1: "83h0m0.000000001s",
	} {
		if got := text.Duration(d); got != want {
			t.Errorf("%d is written %q, want %q", d, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "tenant:acme": "tenant:acme", "größer": "größer", "a\nb": `"a\nb"`, "\x1b[31m": `"\x1b[31m"`, "\xff": `"\xff"`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := text.Printable(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
