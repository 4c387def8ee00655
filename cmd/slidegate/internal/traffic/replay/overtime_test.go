package replay

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// No request is lost, each is in the bucket of its time, and there are never too
// many buckets.
func TestOverTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o, other OverTime
		at := time.Unix(rapid.Int64Range(-1_000_000_000, 4_000_000_000).Draw(t, "start"), 0)
		var times []time.Time
		for _, step := range rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 1, time.Second, -time.Second, time.Hour, -70 * time.Hour, 5000 * time.Hour}), 1, 300).Draw(t, "steps") {
			at = at.Add(step)
			times = append(times, at)
			o.At(at).Add(true, false)
			other.At(at).Add(false, true)
			if len(o.Buckets()) > maxBuckets {
				t.Fatalf("%d buckets", len(o.Buckets()))
			}
		}
		want := make([]int64, len(o.Buckets()))
		for _, at := range times {
			want[at.Sub(o.From())/o.Bucket()]++
		}
		for i, c := range o.Buckets() {
			if c.Allowed != want[i] || c.Denied+c.WouldDeny != 0 || other.Buckets()[i].Denied != want[i] {
				t.Fatalf("bucket %d of %v has %+v and %+v, want %d", i, o.Bucket(), c, other.Buckets()[i], want[i])
			}
		}
	})
}

// The whole range of times that limits count in fits.
func TestOverTimeOfCenturies(t *testing.T) {
	var o OverTime
	for year := 2199; year >= 1930; year-- {
		o.At(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)).Denied++
	}
	sum := int64(0)
	for _, c := range o.Buckets() {
		sum += c.Denied
	}
	if sum != 270 || len(o.Buckets()) > maxBuckets {
		t.Errorf("%d requests in %d buckets", sum, len(o.Buckets()))
	}
}
