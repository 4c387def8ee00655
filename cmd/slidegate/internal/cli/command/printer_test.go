package command

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	p := NewPrinter(&b)
	p.Colours = true
	p.Table("lrl", [][]string{{"é", "1", "\x1b[31m█\x1b[0m"}, {"long", "1,000", ""}, {"", "", "x"}})
	p.Section("l", []string{"header"}, nil)
	if want := "é         1  \x1b[31m█\x1b[0m\nlong  1,000\n             x\n"; b.String() != want || p.Err != nil {
		t.Errorf("%q, %v; want %q", b.String(), p.Err, want)
	}
}

// TestForeignText: what does not print reaches no terminal, unless it is a colour.
func TestForeignText(t *testing.T) {
	for _, colours := range []Colours{false, true} {
		var b strings.Builder
		p := NewPrinter(&b)
		p.Colours = colours
		p.Line("%s %s", "a\u202eb\x1b]0;x\a", p.Red("\x1b[2J"))
		if want := `a\u202eb\u001b]0;x\u0007 ` + colours.Red(`\u001b[2J`) + "\n"; b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

func TestColours(t *testing.T) {
	if got := Colours(true).Red("x") + Colours(true).Green("y") + Colours(true).Red(""); got != "\x1b[31mx\x1b[0m\x1b[32my\x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := Colours(false).Red("x") + Colours(false).Green("y"); got != "xy" {
		t.Errorf("%q", got)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{&strings.Builder{}, file} {
		if ColoursFor(w) {
			t.Errorf("%T is taken for a terminal", w)
		}
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &Progress{w: &b, now: func() time.Time { return now }}
	p.Clear() // nothing to clear yet
	at := time.Date(2015, 5, 17, 10, 5, 3, 0, time.FixedZone("", 3600))
	for i := range 5 {
		p.Log(logs.Progress{Requests: int64(1000 * i), Read: int64(i), Size: 4, At: at})
		now = now.Add(progressEvery / 2)
	}
	p.Log(logs.Progress{Requests: 9000, At: at}) // the size of a stream is not known
	now = now.Add(progressEvery)
	p.Log(logs.Progress{Requests: 9001, At: at, Pass: "first of two passes"})
	now = now.Add(progressEvery)
	p.Clear()
	p.Clear()
	const line, when = "\r\x1b[K", "2015-05-17 09:05:03"
	want := line + "  0%  0 requests  " + when + line + " 50%  2,000 requests  " + when + line + "100%  4,000 requests  " + when +
		line + "9,001 requests  " + when + "  first of two passes" + line
	if b.String() != want {
		t.Errorf("%q\nwant %q", b.String(), want)
	}
	quiet := NewProgress(&b, time.Now)
	quiet.Log(logs.Progress{})
	quiet.Clear()
	if b.String() != want {
		t.Error("progress is shown without a terminal")
	}
}

// A line on a terminal changes ten times a second at most, and goes when it is
// cleared.
func TestProgressCount(t *testing.T) {
	var printed strings.Builder
	now := time.Unix(1_800_000_000, 0)
	p := &Progress{w: &printed, now: func() time.Time { return now }}
	for done := range 4 {
		p.Count(done*500, 2000, "overrides")
		now = now.Add(progressEvery / 2)
	}
	p.Count(7, 0, "checked")
	p.Clear()
	p.Clear()
	const erase = "\r\x1b[K"
	if want := erase + "  0%  0 overrides" + erase + " 50%  1,000 overrides" + erase + "7 checked" + erase; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
	(&Progress{}).Count(1, 2, "things") // no terminal
}
