package replay

import (
	"slices"
	"time"
)

// maxBuckets is how many buckets a replay counts in at most, about as many as a
// chart can show. With more, it joins them to longer ones.
const maxBuckets = 240

// bucketLengths are the lengths of a bucket. Each is a multiple of the one
// before. The last covers all years that limits can count in.
var bucketLengths = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour, 364 * 24 * time.Hour, 3640 * 24 * time.Hour,
}

// Counts are the requests of one bucket, each in one of the numbers.
type Counts struct {
	Allowed   int64
	WouldDeny int64 // allowed, and a shadow rule or a candidate would have denied it
	Denied    int64
}

// Add counts one request.
func (c *Counts) Add(allowed, wouldDeny bool) {
	switch {
	case !allowed:
		c.Denied++
	case wouldDeny:
		c.WouldDeny++
	default:
		c.Allowed++
	}
}

// OverTime counts requests in buckets of equal length. The zero value has none.
// Bucket boundaries depend only on the recorded times, so the scenarios of one log
// align.
type OverTime struct {
	length  int // of bucketLengths
	first   int64
	buckets []Counts
}

// Bucket is the length of each bucket.
func (o *OverTime) Bucket() time.Duration { return bucketLengths[o.length] }

// From is when the first bucket begins.
func (o *OverTime) From() time.Time { return time.Unix(0, 0).Add(time.Duration(o.first) * o.Bucket()) }

// Buckets are the counts, one after another without a gap.
func (o *OverTime) Buckets() []Counts { return o.buckets }

// At returns the counts of the bucket of a time, until the next call.
func (o *OverTime) At(t time.Time) *Counts {
	for {
		i := floor(t.UnixNano(), int64(o.Bucket()))
		if len(o.buckets) == 0 {
			o.first = i
		}
		first, last := min(i, o.first), max(i, o.first+int64(len(o.buckets))-1)
		if last-first < maxBuckets {
			if i < o.first {
				o.buckets = slices.Insert(o.buckets, 0, make([]Counts, o.first-i)...)
				o.first = i
			}
			if missing := last - first + 1 - int64(len(o.buckets)); missing > 0 {
				o.buckets = append(o.buckets, make([]Counts, missing)...)
			}
			return &o.buckets[i-o.first]
		}
		o.widen()
	}
}

// widen joins buckets to those of the next length.
func (o *OverTime) widen() {
	times := int64(bucketLengths[o.length+1] / bucketLengths[o.length])
	first := floor(o.first, times)
	wide := make([]Counts, floor(o.first+int64(len(o.buckets))-1, times)-first+1)
	for i, c := range o.buckets {
		sum := &wide[floor(o.first+int64(i), times)-first]
		sum.Allowed += c.Allowed
		sum.WouldDeny += c.WouldDeny
		sum.Denied += c.Denied
	}
	o.length, o.first, o.buckets = o.length+1, first, wide
}

// floor divides, and rounds down also below 0.
func floor(a, b int64) int64 {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}
