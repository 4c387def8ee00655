package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestPicturesAreCurrent draws the pictures again: those of docs show what the code
// does today.
func TestPicturesAreCurrent(t *testing.T) {
	for name, got := range figures() {
		if want, err := os.ReadFile(filepath.Join("../../../../../docs/pictures", name)); err != nil || got != string(want) {
			t.Errorf("docs/pictures/%s is out of date (%v): run `make pictures`", name, err)
		}
		if len(got) > 60_000 {
			t.Errorf("docs/pictures/%s has %d bytes", name, len(got))
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
