package operator

import (
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
)

// LimitForm is a limit without what requests take from it.
type LimitForm struct {
	Name        string  `json:"name"` // empty for a rule's only limit
	Algorithm   string  `json:"algorithm"`
	Capacity    int64   `json:"capacity"`
	Window      float64 `json:"window_s,omitempty"`  // of all but limits in flight
	Expires     float64 `json:"expires_s,omitempty"` // of a limit in flight
	Granularity float64 `json:"granularity_s"`       // 0 for a bucket, which has no slots
	Burst       int64   `json:"burst,omitempty"`     // of a token bucket
	Queue       int64   `json:"queue,omitempty"`     // of a leaky bucket
	Unit        string  `json:"unit,omitempty"`      // of a calendar: day, week or month
	Timezone    string  `json:"timezone,omitempty"`
	Anchor      int     `json:"anchor,omitempty"`
}

// UsageReport is a limit and how much of it is used.
type UsageReport struct {
	LimitForm
	Cost int64 `json:"cost"` // of the request
	usage.Numbers
	RetryAfter float64 `json:"retry_after_s"` // until the next request is allowed; 0 for now, -1 for never
	// CandidateCapacity is the candidate in units; only Explain sets it.
	CandidateCapacity int64 `json:"candidate_capacity,omitempty"`
}

// reportUsages describes the limits of a resolution, as its counter has them.
func reportUsages(res *engine.Resolution, v *limit.Verdict) (reports []UsageReport) {
	for i, r := range v.Limits {
		l := &res.Charge.Limits[i]
		reports = append(reports, UsageReport{
			LimitForm: FormOf(l), Cost: res.Charge.Costs[i], Numbers: usage.NumbersOf(l, &r), RetryAfter: retrySeconds(r.RetryAfter),
		})
	}
	return reports
}

func retrySeconds(d time.Duration) float64 {
	if d == limit.Never {
		return -1
	}
	return d.Seconds()
}

// FormOf describes a limit.
func FormOf(l *limit.Limit) LimitForm {
	f := LimitForm{
		Name: l.Name, Algorithm: l.Algorithm.String(), Capacity: l.Capacity,
		Granularity: l.Granularity.Seconds(), Burst: l.Burst,
	}
	f.Window, f.Expires = usage.WindowOf(l)
	if l.Algorithm == limit.LeakyBucket {
		f.Burst, f.Queue = 0, l.Burst
	}
	if l.Calendar != nil {
		f.Unit = []string{limit.Day: "day", limit.Week: "week", limit.Month: "month"}[l.Calendar.Unit]
		f.Timezone, f.Anchor = l.Calendar.Location.String(), l.Calendar.Anchor
	}
	return f
}

// WindowText is the window as rules files have it: 1m, or
// "1mo from day 15, Europe/Berlin".
func (f *LimitForm) WindowText() string {
	if f.Unit == "" {
		return text.Duration(Seconds(f.Window + f.Expires))
	}
	window := map[string]string{"day": "1d", "week": "1w", "month": "1mo"}[f.Unit]
	if f.Anchor > 1 {
		window += fmt.Sprintf(" from day %d", f.Anchor)
	}
	return window + ", " + f.Timezone
}

// Detail is the width of a limit's slots, or what takes their place.
func (f *LimitForm) Detail() string {
	switch {
	case f.Algorithm == limit.SlidingWindowLog.String():
		return "exact"
	case f.Algorithm == limit.TokenBucket.String():
		return "burst " + text.Thousands(f.Burst)
	case f.Algorithm == limit.LeakyBucket.String():
		return "queue " + text.Thousands(f.Queue)
	case f.Expires != 0:
		return "expires"
	case f.Unit != "":
		return "calendar"
	}
	return text.Duration(Seconds(f.Granularity))
}

// Seconds returns the duration of so many seconds, to the nanosecond.
func Seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// LocalShares says of each limit of a rule what one process counts by on_error:
// local, in requests of the highest cost: "5 per 1m".
func LocalShares(set *rules.Set, r *rules.Rule) (shares []string) {
	for i := range r.Limits {
		shares = append(shares, localText(set, r.Limits[i:i+1], []int64{r.Costs[i].Max}))
	}
	return shares
}

func localText(set *rules.Set, limits []limit.Limit, costs []int64) string {
	return oplog.LocalText(engine.LocalShares(limits, costs, set.Instances), costs)
}

// Processes says which processes share the load.
func Processes(set *rules.Set) string {
	switch n := set.Instances; {
	case !set.Stated:
		return fmt.Sprintf("in each of %d processes; `serve` counts as one unless defaults.instances is stated", n)
	case n > 1:
		return fmt.Sprintf("in each of %d processes", n)
	}
	return "in the one process"
}
