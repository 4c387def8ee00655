package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestPicturesAreCurrent draws the pictures of docs/accuracy.md again: they
// show what the code does today.
func TestPicturesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{dir}); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"all"}, limit.Algorithms()...) {
		for _, file := range []string{name + ".svg", name + "-dark.svg"} {
			got, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("..", "..", "docs", "pictures", file))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("docs/pictures/%s is out of date (%v): run `make pictures`", file, err)
			}
		}
	}
}

// TestPeaks counts again what the pictures' titles say.
func TestPeaks(t *testing.T) {
	want := map[limit.Algorithm]int{
		limit.SlidingWindow: 100, limit.FixedWindow: 200, limit.SlidingWindowCounter: 198,
		limit.SlidingWindowLog: 100, limit.TokenBucket: 199, limit.LeakyBucket: 100,
	}
	for _, l := range limits() {
		if got := peak(trailing(burst(&l))); got != want[l.Algorithm] {
			t.Errorf("%s: %d in one minute, want %d", l.Algorithm, got, want[l.Algorithm])
		}
	}
}
