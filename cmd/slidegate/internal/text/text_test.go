package text_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
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

func TestDurations(t *testing.T) {
	for _, tc := range []struct {
		d           time.Duration
		brief, wait string
	}{
		{0, "0s", "0s"},
		{1, "0s", "100ms"},
		{1234567, "1.2ms", "100ms"},
		{250 * time.Millisecond, "250ms", "300ms"},
		{1239 * time.Millisecond, "1.24s", "1.3s"},
		{time.Minute, "1m 0s", "1m"},
		{90 * time.Second, "1m 30s", "1m30s"},
		{time.Hour, "1h 0m", "1h"},
		{time.Hour + time.Second, "1h 0m", "1h0m1s"},
		{24 * time.Hour, "1d 0h", "24h"},
		{83*time.Hour + 1, "3d 11h", "83h0m0.1s"},
	} {
		if brief, wait := text.Brief(tc.d), text.Wait(tc.d); brief != tc.brief || wait != tc.wait {
			t.Errorf("%d: %q, %q; want %q, %q", tc.d, brief, wait, tc.brief, tc.wait)
		}
	}
}

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "größer 日本 \"x\"\n\ty": "größer 日本 \"x\"\n\ty", "\x1b[2J": `\u001b[2J`, "a\u202eb": `a\u202eb`, "\x7f\u0085\r": `\u007f\u0085\u000d`,
		"\xff\xc0\xaf": `\xff\xc0\xaf`, "\ufffd\U000e0041": "\ufffd" + `\udb40\udc41`, "\x1b[0m": "\x1b[0m",
	} {
		if got := text.Escape(s, "\x1b[0m"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := text.Escape("\x1b[0m"); got != `\u001b[0m` {
		t.Errorf("%q", got)
	}
}

func TestPer(t *testing.T) {
	if got := text.Per(1, 0) + " " + text.Per(1, 3); got != "0 0.333" {
		t.Errorf("%q", got)
	}
}

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, ""}, {0, 5, ""}, {-1, 5, ""}, {5, 0, ""}, {5, 5, strings.Repeat("█", text.BarWidth)}, {9, 5, strings.Repeat("█", text.BarWidth)},
		{1, 2, strings.Repeat("█", text.BarWidth/2)}, {1, 1_000_000, "▏"}, {1, text.BarWidth * 4, "▎"}, {3, text.BarWidth * 2, "█▌"},
		{math.MaxInt64, math.MaxInt64, strings.Repeat("█", text.BarWidth)},
	} {
		if got := text.Bar(tc.part, tc.whole); got != tc.want {
			t.Errorf("%d of %d is drawn %q, want %q", tc.part, tc.whole, got, tc.want)
		}
	}
}

func TestSpark(t *testing.T) {
	for _, tc := range []struct {
		values  []int64
		highest int64
		want    string
	}{
		{nil, 0, ""}, {[]int64{0, 0}, 0, "  "}, {[]int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 8, " ▂▃▄▅▆▇██"}, {[]int64{1, 999, 1000}, 1000, "▁██"},
	} {
		if got := text.Spark(tc.values, tc.highest); got != tc.want {
			t.Errorf("Spark(%d, %d) = %q, want %q", tc.values, tc.highest, got, tc.want)
		}
	}
}

func TestKey(t *testing.T) {
	for key, want := range map[string]string{
		"ip:2001%3Adb8%3A%3A/64": "ip:2001:db8::/64", "user:auth0%7C666": "user:auth0|666", "ua:rv%3A27.0; %C3%A9": "ua:rv:27.0; é",
		"user:%2D": "user:%2D", "user:100%25": "user:100%25", "user:-": "user:-", "user:%E2%80%AEx": `"user:\u202ex"`, "user:%": "user:%",
	} {
		if got := text.Key(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
