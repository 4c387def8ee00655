package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/replay"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := thousands(n); got != want {
			t.Errorf("%d is spelt %q, want %q", n, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, tc := range []struct {
		d                  time.Duration
		brief, spell, wait string
	}{
		{0, "0s", "0s", "0s"},
		{1, "0s", "1ns", "100ms"},
		{1234567, "1.2ms", "1.234567ms", "100ms"},
		{250 * time.Millisecond, "250ms", "250ms", "300ms"},
		{1239 * time.Millisecond, "1.24s", "1.239s", "1.3s"},
		{time.Minute, "1m 0s", "1m", "1m"},
		{90 * time.Second, "1m 30s", "1m30s", "1m30s"},
		{time.Hour, "1h 0m", "1h", "1h"},
		{time.Hour + time.Second, "1h 0m", "1h0m1s", "1h0m1s"},
		{24 * time.Hour, "1d 0h", "24h", "24h"},
		{83*time.Hour + 1, "3d 11h", "83h0m0.000000001s", "83h0m0.1s"},
	} {
		if brief, spelt, waits := brief(tc.d), spell(tc.d), wait(tc.d); brief != tc.brief || spelt != tc.spell || waits != tc.wait {
			t.Errorf("%d: %q, %q, %q; want %q, %q, %q", tc.d, brief, spelt, waits, tc.brief, tc.spell, tc.wait)
		}
	}
}

func TestRetry(t *testing.T) {
	for want, r := range map[string]limit.Result{
		"now": {Allowed: true}, "never": {RetryAfter: limit.Never}, "1.5s": {RetryAfter: 1500 * time.Millisecond},
	} {
		if got := retry(&r); got != want {
			t.Errorf("%+v is spelt %q, want %q", r, got, want)
		}
	}
	if got := retrySeconds(limit.Never); got != -1 {
		t.Errorf("never is %v s", got)
	}
}

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, ""}, {0, 5, ""}, {-1, 5, ""}, {5, 0, ""}, {5, 5, strings.Repeat("█", barWidth)}, {9, 5, strings.Repeat("█", barWidth)},
		{1, 2, strings.Repeat("█", barWidth/2)}, {1, 1_000_000, "▏"}, {1, barWidth * 4, "▎"}, {3, barWidth * 2, "█▌"},
		{math.MaxInt64, math.MaxInt64, strings.Repeat("█", barWidth)},
	} {
		if got := bar(tc.part, tc.whole); got != tc.want {
			t.Errorf("%d of %d is drawn %q, want %q", tc.part, tc.whole, got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	p := printer{w: &b}
	p.table("lrl", [][]string{{"é", "1", "\x1b[31m█\x1b[0m"}, {"long", "1,000", ""}, {"", "", "x"}})
	p.section("l", []string{"header"}, nil)
	if want := "é         1  \x1b[31m█\x1b[0m\nlong  1,000\n             x\n"; b.String() != want || p.err != nil {
		t.Errorf("%q, %v; want %q", b.String(), p.err, want)
	}
}

func TestColours(t *testing.T) {
	if got := colours(true).red("x") + colours(true).green("y") + colours(true).red(""); got != "\x1b[31mx\x1b[0m\x1b[32my\x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := colours(false).red("x") + colours(false).green("y"); got != "xy" {
		t.Errorf("%q", got)
	}
	c := &cli{}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{&strings.Builder{}, file} {
		if c.colours(w) {
			t.Errorf("%T is taken for a terminal", w)
		}
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &progress{w: &b, now: func() time.Time { return now }}
	p.clear() // nothing to clear yet
	at := time.Date(2015, 5, 17, 10, 5, 3, 0, time.FixedZone("", 3600))
	for i := range 5 {
		p.show(replay.Progress{Requests: int64(1000 * i), Read: int64(i), Size: 4, At: at})
		now = now.Add(progressEvery / 2)
	}
	p.show(replay.Progress{Requests: 9000, At: at}) // of a stream nobody knows the size
	now = now.Add(progressEvery)
	p.show(replay.Progress{Requests: 9001, At: at})
	p.clear()
	p.clear()
	const line, when = "\r\x1b[K", "2015-05-17 09:05:03"
	want := line + "  0%  0 requests  " + when + line + " 50%  2,000 requests  " + when + line + "100%  4,000 requests  " + when +
		line + "9,001 requests  " + when + line
	if b.String() != want {
		t.Errorf("%q\nwant %q", b.String(), want)
	}
	quiet := (&cli{stderr: &b}).newProgress(time.Now)
	quiet.show(replay.Progress{})
	quiet.clear()
	if b.String() != want {
		t.Error("progress is shown where nobody looks")
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 lines", 1: "1 line", 2: "2 lines", 1234: "1,234 lines"} {
		if got := plural(n, "line"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := fmt.Sprint(per(1, 0), " ", per(1, 3)); got != "0 0.333" {
		t.Errorf("%q", got)
	}
}

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

func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "tenant:acme": "tenant:acme", "größer": "größer", "a\nb": `"a\nb"`, "\x1b[31m": `"\x1b[31m"`, "\xff": `"\xff"`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := plainText(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A line on a terminal changes ten times a second at most, and goes when it is cleared.
func TestProgressCount(t *testing.T) {
	var printed strings.Builder
	now := time.Unix(1_800_000_000, 0)
	p := &progress{w: &printed, now: func() time.Time { return now }}
	for done := range 4 {
		p.count(done*500, 2000, "overrides")
		now = now.Add(progressEvery / 2)
	}
	p.count(7, 0, "checked")
	p.clear()
	p.clear()
	const erase = "\r\x1b[K"
	if want := erase + "  0%  0 overrides" + erase + " 50%  1,000 overrides" + erase + "7 checked" + erase; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
	(&progress{}).count(1, 2, "things") // nobody looks
}
