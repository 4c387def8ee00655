package operator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// RuleReport describes a rule of a document.
type RuleReport struct {
	Name         string                `json:"name"`
	Key          string                `json:"key"`
	Hashed       bool                  `json:"hashed,omitempty"` // tables and logs have hashes in place of keys
	Mode         string                `json:"mode"`             // enforce, shadow or off
	OnError      string                `json:"on_error"`
	Atomic       bool                  `json:"atomic"`
	Lease        int64                 `json:"lease,omitempty"`
	Quiet        bool                  `json:"quiet,omitempty"` // responses do not name it
	Limits       []LimitReport         `json:"limits"`
	Plans        map[string]PlanLimits `json:"plans,omitempty"`         // by name
	OverrideKeys string                `json:"override_keys,omitempty"` // their form; empty for no overrides
	Overrides    int                   `json:"overrides,omitempty"`     // in the document
	RefundOn     []string              `json:"refund_on,omitempty"`
}

// PlanLimits are the limits of a rule under a plan: none, or its capacities by
// the limits' names, "" for an only limit.
type PlanLimits struct {
	Unlimited bool             `json:"unlimited,omitempty"`
	Capacity  map[string]int64 `json:"capacity,omitempty"`
}

// LimitReport describes a limit and what requests take from it.
type LimitReport struct {
	LimitForm
	Cost     int64  `json:"cost"`                // of a request, or of one that does not state it
	CostFrom string `json:"cost_from,omitempty"` // where a request states it
	CostMin  int64  `json:"cost_min,omitempty"`  // the least that a request may state; the most is cost
	Settle   bool   `json:"settle,omitempty"`    // the backend reports the true cost afterwards
	Clamp    bool   `json:"clamp,omitempty"`     // a cost above the capacity takes it all
	// A candidate capacity: units, or a percentage of the capacity in force.
	Candidate        int64 `json:"candidate,omitempty"`
	CandidatePercent int64 `json:"candidate_percent,omitempty"`
	// AnchorFrom is where a request states on which day months begin; Anchor is
	// for requests that do not.
	AnchorFrom string `json:"anchor_from,omitempty"`
}

// LimitForm is a limit without what requests take from it.
type LimitForm struct {
	Name        string  `json:"name"` // empty for a rule's only limit
	Algorithm   string  `json:"algorithm"`
	Capacity    int64   `json:"capacity"`
	Window      float64 `json:"window_s"`
	Granularity float64 `json:"granularity_s"`   // 0 for a bucket, which has no slots
	Burst       int64   `json:"burst,omitempty"` // of a token bucket
	Queue       int64   `json:"queue,omitempty"` // of a leaky bucket
	Unit        string  `json:"unit,omitempty"`  // of a calendar: day, week or month
	Timezone    string  `json:"timezone,omitempty"`
	Anchor      int     `json:"anchor,omitempty"`
}

// UsageReport is a limit and how much of it is used.
type UsageReport struct {
	LimitReport
	Used       int64   `json:"used"`
	Remaining  int64   `json:"remaining"`
	Reset      float64 `json:"reset_s"`       // until the counter is empty again
	RetryAfter float64 `json:"retry_after_s"` // until the next request is allowed; 0 for now, -1 for never
	// CandidateCapacity is the candidate in units; only Explain sets it.
	CandidateCapacity int64 `json:"candidate_capacity,omitempty"`
}

func reportRule(set *rules.Set, r *rules.Rule) RuleReport {
	document := set.Document().Rule(r.Name)
	report := RuleReport{
		Name: r.Name, Key: r.Key, Hashed: r.Hashed(), Mode: r.Mode.String(), OnError: r.OnError.String(), Atomic: r.Atomic, Lease: r.Lease, Quiet: r.Quiet,
		OverrideKeys: set.OverrideKeys(r.Name), Overrides: len(set.Document().Overrides[r.Name]), RefundOn: document.RefundOn,
		Plans: map[string]PlanLimits{},
	}
	for i := range r.Limits {
		cost := &r.Costs[i]
		one := LimitReport{
			LimitForm: formOf(&r.Limits[i]), CostFrom: cost.Source(), Cost: cost.Max, Settle: cost.Settle, Clamp: cost.Clamp,
		}
		if one.CostFrom != "" {
			one.CostMin = cost.Min
		}
		if r.Candidates != nil {
			one.Candidate, one.CandidatePercent = r.Candidates[i].Units, r.Candidates[i].Percent
		}
		if anchor := document.Limits[i].Anchor; anchor != nil {
			one.AnchorFrom = anchor.From
		}
		report.Limits = append(report.Limits, one)
	}
	for plan, limits := range set.Document().Plans {
		if of, ok := limits[r.Name]; ok {
			report.Plans[plan] = PlanLimits{of.Unlimited, of.Capacity}
		}
	}
	return report
}

// reportUsages describes the limits of a resolution, as its counter has them.
func reportUsages(res *engine.Resolution, v *limit.Verdict) (reports []UsageReport) {
	for i := range res.Charge.Limits {
		reports = append(reports, reportUsage(&res.Charge.Limits[i], res.Charge.Costs[i], &v.Limits[i]))
	}
	return reports
}

func reportUsage(l *limit.Limit, cost int64, r *limit.Result) UsageReport {
	return UsageReport{
		LimitReport: LimitReport{LimitForm: formOf(l), Cost: cost}, Used: l.MaxCost() - r.Remaining, Remaining: r.Remaining,
		Reset: r.Reset.Seconds(), RetryAfter: retrySeconds(r.RetryAfter),
	}
}

func retrySeconds(d time.Duration) float64 {
	if d == limit.Never {
		return -1
	}
	return d.Seconds()
}

func formOf(l *limit.Limit) LimitForm {
	f := LimitForm{
		Name: l.Name, Algorithm: l.Algorithm.String(), Capacity: l.Capacity, Window: l.Window.Seconds(),
		Granularity: l.Granularity.Seconds(), Burst: l.Burst,
	}
	if l.Algorithm == limit.LeakyBucket {
		f.Burst, f.Queue = 0, l.Burst
	}
	if l.Calendar != nil {
		f.Unit = []string{limit.Day: "day", limit.Week: "week", limit.Month: "month"}[l.Calendar.Unit]
		f.Timezone, f.Anchor = l.Calendar.Location.String(), l.Calendar.Anchor
	}
	return f
}

// CandidateText is the candidate capacity as rules files have it, such as 80%;
// "" for none.
func (r *LimitReport) CandidateText() string {
	return ruledoc.Candidate{Units: r.Candidate, Percent: r.CandidatePercent}.String()
}

// WindowText is the window as rules files have it: 1m, or
// "1mo from day 15, Europe/Berlin".
func (f *LimitForm) WindowText() string {
	if f.Unit == "" {
		return text.Duration(Seconds(f.Window))
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
	case f.Unit != "":
		return "calendar"
	}
	return text.Duration(Seconds(f.Granularity))
}

// Seconds returns the duration of so many seconds, to the nanosecond.
func Seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// ValidateReport describes rules files.
type ValidateReport struct {
	Valid bool         `json:"valid"` // all of them
	Files []FileReport `json:"files"` // in the order of the arguments
}

// FileReport describes the rules of a file, or everything wrong with it.
type FileReport struct {
	File      string          `json:"file"`
	Valid     bool            `json:"valid"`
	Errors    yamlfile.Errors `json:"errors"`
	Warnings  yamlfile.Errors `json:"warnings"`
	Unmatched string          `json:"unmatched,omitempty"` // allow or deny
	Plans     []string        `json:"plans"`
	// Overrides of callers' plans in the document, and the form of their keys.
	PlanOverrides    int          `json:"plan_overrides"`
	PlanOverrideKeys string       `json:"plan_override_keys,omitempty"`
	Rules            []RuleReport `json:"rules"`

	PlanSource string `json:"-"` // the source of a caller's plan; empty for none
}

// ValidateFile adds the report on a file to those of others. One that cannot be
// read is not valid.
func (r *ValidateReport) ValidateFile(path string) {
	text, err := rulefile.ReadFile(path)
	r.add(path, text, err)
}

// Validate is ValidateFile for a text that a reader delivers. name is its name
// in messages.
func (r *ValidateReport) Validate(name string, from io.Reader) {
	text, err := rulefile.Read(from)
	r.add(name, text, err)
}

func (r *ValidateReport) add(name string, text []byte, err error) {
	file := FileReport{File: name, Errors: yamlfile.Errors{}, Warnings: yamlfile.Errors{}, Plans: []string{}, Rules: []RuleReport{}}
	if err == nil {
		err = file.check(text)
	}
	if err != nil && !errors.As(err, &file.Errors) {
		reason := err.Error()
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			reason = failed.Err.Error() // without the name again
		}
		file.Errors = yamlfile.Errors{{File: name, Reason: "cannot be read: " + reason}}
	}
	r.Valid = file.Valid && (r.Valid || len(r.Files) == 0)
	r.Files = append(r.Files, file)
}

// check fills in the report on a text. The error is of type yamlfile.Errors.
func (r *FileReport) check(text []byte) error {
	set, warnings, caveats, err := rulefile.Check(r.File, text)
	if err != nil {
		return err
	}
	warn := func(reason string) { warnings = append(warnings, &yamlfile.Error{File: r.File, Reason: reason}) }
	_ = session.LoadHashSecret(r.File, set)
	if err := secretMismatch(set); err != nil {
		warn(err.Error())
	}
	version := ruletable.Version{Text: text, Document: set.Document()}
	if err := version.Check(); err != nil {
		warn("apply would refuse the rules: " + err.Error())
	}
	r.Warnings = append(append(r.Warnings, warnings...), caveats...)
	r.describe(set)
	return nil
}

// describe adds what a valid file says.
func (r *FileReport) describe(set *rules.Set) {
	r.Valid = true
	r.Unmatched, r.Plans = set.Unmatched.String(), append(r.Plans, set.Plans()...)
	r.PlanOverrides, r.PlanOverrideKeys = len(set.Document().Overrides[rules.PlanOverrides]),
		set.OverrideKeys(rules.PlanOverrides)
	if plan := set.Document().Plan; plan != nil {
		r.PlanSource = plan.From
	}
	for _, rule := range set.Rules {
		r.Rules = append(r.Rules, reportRule(set, rule))
	}
}

// warnings are the document's warnings, and one if a secret in the environment
// contradicts the document.
func warnings(set *rules.Set) []string {
	if err := secretMismatch(set); err != nil {
		return append(slices.Clone(set.Warnings), err.Error())
	}
	return set.Warnings
}

// secretMismatch returns an error if the environment has another secret than
// the rules. A missing secret is fine: limiters need it, this program does not.
func secretMismatch(set *rules.Set) error {
	if err := set.HashSecretError(); !errors.Is(err, rules.ErrMissingSecret) {
		return err
	}
	return nil
}
