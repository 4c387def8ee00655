package telemetry

import (
	"slices"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of a Histogram's buckets: ten a decade, from 0.1 ms
// to 10 s, by the preferred numbers R10 of ISO 3. So each is at most 28% above
// the one below it, and 125 ms, half of the default deadline, is one of them.
var bounds = func() (all []time.Duration) {
	for decade := 100 * time.Microsecond; decade < 10*time.Second; decade *= 10 {
		for _, hundredths := range []time.Duration{100, 125, 160, 200, 250, 315, 400, 500, 630, 800} {
			all = append(all, decade*hundredths/100)
		}
	}
	return append(all, 10*time.Second)
}()

const bucketCount = 52 // one for each of bounds, and one for what is longer

// Histogram is a distribution of times.
type Histogram struct {
	// Counts holds how many times fell into each bucket. Bucket i ends at
	// Bounds()[i], which belongs to it; the last one has no end.
	Counts [bucketCount]int64
	Sum    time.Duration
}

// Bounds returns the upper bounds of the buckets but the last.
func Bounds() []time.Duration { return slices.Clone(bounds) }

// Count returns how many times there are.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// latencies is a Histogram to add to.
type latencies struct {
	counts [bucketCount]atomic.Int64
	sum    atomic.Int64
}

func (l *latencies) add(took time.Duration) {
	i, _ := slices.BinarySearch(bounds, took)
	l.counts[i].Add(1)
	l.sum.Add(int64(took))
}

func (l *latencies) snapshot() (h Histogram) {
	for i := range h.Counts {
		h.Counts[i] = l.counts[i].Load()
	}
	h.Sum = time.Duration(l.sum.Load())
	return h
}
