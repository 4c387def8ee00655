package live

import (
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/telemetry"
	"github.com/slidegate/slidegate/internal/telemetry/metric"
)

const (
	bucketTime  = 5 * time.Second
	mostBuckets = 120 // ten minutes
	fewBuckets  = 24  // the chart's width at the start: two minutes
)

// counts are of one bucket, or of one rule in it.
type counts struct{ decisions, denied, shadow int64 }

type bucket struct {
	counts
	rules map[string]counts // those that are not 0
}

// rates are what was counted in each five seconds of the last ten minutes.
type rates struct {
	mu      sync.Mutex
	until   time.Time // the end of the last bucket
	last    *telemetry.Snapshot
	buckets []bucket
}

// due reports whether a bucket is over.
func (r *rates) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Sub(r.until) >= bucketTime
}

// sample ends the buckets that are over. The first call only begins one.
func (r *rates) sample(now time.Time, s *telemetry.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.until, r.last = now, s
	}
	for ; now.Sub(r.until) >= bucketTime; r.until = r.until.Add(bucketTime) {
		r.buckets = append(r.buckets, difference(s, r.last))
		r.last = s
	}
	r.buckets = slices.Delete(r.buckets, 0, max(0, len(r.buckets)-mostBuckets))
}

// difference returns what was counted between two snapshots.
func difference(s, before *telemetry.Snapshot) bucket {
	since := func(name string) int64 { return s.Counters[name] - before.Counters[name] }
	b := bucket{counts{since(metric.Decisions), since(metric.Denied), since(metric.ShadowDenied)}, map[string]counts{}}
	for rule, now := range s.Rules {
		then := before.Rules[rule]
		c := counts{denied: now[metric.Denied] - then[metric.Denied], shadow: now[metric.ShadowDenied] - then[metric.ShadowDenied]}
		if c != (counts{}) {
			b.rules[rule] = c
		}
	}
	return b
}

// all returns the buckets, filled up with empty ones before the start, and when
// the first begins.
func (r *rates) all() (buckets []bucket, from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	buckets = append(make([]bucket, max(0, fewBuckets-len(r.buckets))), r.buckets...)
	return buckets, r.until.Add(-time.Duration(len(buckets)) * bucketTime)
}
