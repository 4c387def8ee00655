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

// Values draws at most n times from the histogram, at even distances of rank: of
// 1,000 times and n = 100 those of the ranks 5, 15, 25 and so on. It
// interpolates within buckets, so no value is above the end of its bucket.
func (h *Histogram) Values(n int) []time.Duration {
	all := h.Count()
	n = int(min(int64(n), all))
	values := make([]time.Duration, 0, n)
	bucket, before := 0, int64(0) // the times in the buckets before
	for i := range n {
		rank := (float64(i) + 0.5) * float64(all) / float64(n)
		for float64(before+h.Counts[bucket]) < rank {
			before += h.Counts[bucket]
			bucket++
		}
		begin, end := edges(bucket)
		share := (rank - float64(before)) / float64(h.Counts[bucket])
		values = append(values, begin+time.Duration(share*float64(end-begin)))
	}
	return values
}

// edges returns the begin and the end of a bucket. The last one is as wide in
// proportion as the others.
func edges(bucket int) (begin, end time.Duration) {
	switch {
	case bucket == 0:
		return 0, bounds[0]
	case bucket == len(bounds):
		return bounds[bucket-1], bounds[bucket-1] * 5 / 4
	}
	return bounds[bucket-1], bounds[bucket]
}
