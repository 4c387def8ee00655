package admin

import (
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	bucketTime  = 5 * time.Second
	mostBuckets = 120 // ten minutes
	fewBuckets  = 24  // the chart's width at the start: two minutes
)

// rates are what was counted in each five seconds of the last ten minutes, as
// differences of snapshots.
type rates struct {
	mu    sync.Mutex
	until time.Time           // the end of the current bucket
	last  *telemetry.Snapshot // at its begin
	ended []*telemetry.Snapshot
}

// roll ends the buckets that are over.
func (r *rates) roll(now time.Time, counted func() *telemetry.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; !now.Before(r.until); r.until = r.until.Add(bucketTime) {
		s := counted()
		r.ended = append(r.ended, s.Since(r.last))
		r.last = s
	}
	r.ended = slices.Delete(r.ended, 0, max(0, len(r.ended)-mostBuckets))
}

// all returns the buckets that ended, after empty ones from before the start, and
// when the first begins.
func (r *rates) all() (buckets []*telemetry.Snapshot, from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	buckets = append(slices.Repeat([]*telemetry.Snapshot{{}}, max(0, fewBuckets-len(r.ended))), r.ended...)
	return buckets, r.until.Add(-time.Duration(len(buckets)+1) * bucketTime)
}

// total returns the requests of a bucket.
func total(s *telemetry.Snapshot) replay.Counts {
	return counts(s.Counters[metric.Decisions]-s.Counters[metric.Denied], s.Counters[metric.ShadowDenied], s.Counters[metric.Denied])
}

// ofRule returns the requests of a bucket that a rule covers.
func ofRule(s *telemetry.Snapshot, r *ruledoc.Rule) replay.Counts {
	would := s.Rules[r.Name][metric.ShadowDenied]
	for i := range r.Limits {
		would += s.Rules[engine.CandidateName(r.Name, r.Limits[i].Name)][metric.ShadowDenied]
	}
	return counts(s.Allowed[r.Name], would, s.Rules[r.Name][metric.Denied])
}

// counts has at most all allowed requests as those that would be denied: two
// candidates of a rule may deny the same one, and a snapshot is not of one moment.
func counts(allowed, would, denied int64) replay.Counts {
	would = max(0, min(allowed, would))
	return replay.Counts{Allowed: max(0, allowed) - would, WouldDeny: would, Denied: denied}
}
