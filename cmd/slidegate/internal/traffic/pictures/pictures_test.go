package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	root   = "../../../../.."
	stored = root + "/docs/pictures"
)

// TestPicturesAreCurrent draws docs/pictures again: its files show what the
// code does and what the commands print today.
func TestPicturesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(stored, transcript))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, transcript), text, 0o644)
	}
	if err == nil {
		err = run(root, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range drawn {
		got, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(filepath.Join(stored, file.Name())); err != nil || string(got) != string(want) {
			t.Errorf("docs/pictures/%s is out of date (%v): run `make pictures`", file.Name(), err)
		}
		if len(got) > 60_000 {
			t.Errorf("docs/pictures/%s has %d bytes", file.Name(), len(got))
		}
	}
}

// TestPeaks counts again what the pictures say.
func TestPeaks(t *testing.T) {
	want := map[limit.Algorithm]float64{
		limit.SlidingWindow: 100, limit.FixedWindow: 200, limit.SlidingWindowCounter: 198,
		limit.SlidingWindowLog: 100, limit.TokenBucket: 199, limit.LeakyBucket: 100,
	}
	for _, l := range limits() {
		if _, sums := trailing(burst(&l)); slices.Max(sums) != want[l.Algorithm] {
			t.Errorf("%s: %v in one minute, want %v", l.Algorithm, slices.Max(sums), want[l.Algorithm])
		}
	}
}

func TestSameButTimes(t *testing.T) {
	const was = "x of traffic in 49.8ms\nRateLimit: \"a\";r=0;t=10\nRetry-After: 10\n"
	for now, want := range map[string]bool{
		was: true,
		strings.NewReplacer("49.8ms", "1.2s", "t=10", "t=9", "After: 10", "After: 9").Replace(was): true,
		strings.Replace(was, "r=0", "r=1", 1):                                                      false,
		was + "x":                                                                                  false,
	} {
		if got := sameButTimes(was, now); got != want {
			t.Errorf("%q: %v, want %v", now, got, want)
		}
	}
}

// TestTerminal: commands are typed, their output follows, long lines wrap, and
// what a command prints is no markup.
func TestTerminal(t *testing.T) {
	got, err := terminal("$ make run\nready\n\n$ a \\\n> b\n<x> 429\n" + strings.Repeat("w", columns) + "tail\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<tspan class="a">$</tspan> make run`, ">ready<", `<tspan class="a">&gt;</tspan> b`,
		`&lt;x&gt; <tspan class="d">429</tspan>`, ">tail<", "another terminal",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("the drawing has not once %s:\n%s", want, got)
		}
	}
}
