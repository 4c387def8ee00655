// Package usage tells callers what they have used of their limits. It charges
// nothing, and reads each counter at most once a second.
//
// A caller sees numbers of the rules whose key comes from its address, its API
// key and its verified claims alone. Of a rule that counts by what a client may
// choose, such as a header, a client could ask for the numbers of others.
package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Report is what a caller has used.
type Report struct {
	Plan  string `json:"plan,omitempty"` // of the caller; empty for none
	Rules []Rule `json:"rules"`          // in the order in which they are charged
}

// Rule is a rule that may count requests of the caller.
type Rule struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`              // the template, such as "ip:{ip}"
	When   *When  `json:"when,omitempty"`   // nil for all requests
	Unless *When  `json:"unless,omitempty"` // of these, requests that the rule does not count
	// Limits are the limits in force for the caller. They are absent for a rule
	// that counts nothing, and without numbers for one that is Withheld.
	Limits    []Limit `json:"limits,omitempty"`
	Withheld  string  `json:"withheld,omitempty"`  // why there are no numbers: the counter is not the caller's own
	Unlimited bool    `json:"unlimited,omitempty"` // a plan or an override lifts the rule
	Denied    bool    `json:"denied,omitempty"`    // an override denies all its requests
}

// When says which requests a rule counts: by methods, and by patterns of paths.
type When struct {
	Methods []string `json:"methods,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Routes  []string `json:"routes,omitempty"`
}

// Limit is one limit of a rule, and what is used of it. Used and Remaining add
// up to the capacity, or to a bucket's burst or queue.
type Limit struct {
	Name     string  `json:"name,omitempty"`      // empty for a rule's only limit
	Capacity int64   `json:"capacity"`            // units in each window, or places in flight
	Window   float64 `json:"window_s,omitempty"`  // seconds; of a month, 30 days; absent in flight
	Expires  float64 `json:"expires_s,omitempty"` // seconds that a place in flight lasts at most
	*Numbers         // nil for a rule that is withheld
}

// Numbers are what is used of a limit, in units.
type Numbers struct {
	Used      int64   `json:"used"`
	Remaining int64   `json:"remaining"`
	Reset     float64 `json:"reset_s"` // seconds until the counter is empty again
}

// NumbersOf returns the numbers of a limit by its result of a Peek.
func NumbersOf(l *limit.Limit, r *limit.Result) Numbers {
	return Numbers{Used: l.MaxCost() - r.Remaining, Remaining: r.Remaining, Reset: r.Reset.Seconds()}
}

// ErrRefused says that the request is refused as any other of this caller would
// be: the caller is banned, or its credentials are invalid or missing.
var ErrRefused = errors.New("the caller is banned, or its credentials are not valid")

// Store reads counters.
type Store interface {
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
}

// Options set up a Reporter.
type Options struct {
	Rules     engine.RuleSource
	Overrides engine.OverrideSource // set by command; nil for none
	Store     Store
	Now       func() time.Time
	Deadline  time.Duration // for a report, in real time; 0 for engine.DefaultDeadline
}

// Reporter reports what callers have used. It is safe for concurrent use.
type Reporter struct {
	Options
	counters *counters
}

// New returns a reporter.
func New(o Options) *Reporter {
	o.Deadline = cmp.Or(o.Deadline, engine.DefaultDeadline)
	return &Reporter{Options: o, counters: &counters{store: o.Store, reads: map[string]*read{}}}
}

// Of returns what the caller of a request has used, whatever the request's path.
// The request has only verified credentials. Any error but ErrRefused and
// a *rules.UnmetError means that the numbers are not known now.
func (r *Reporter) Of(ctx context.Context, req *request.Request) (*Report, error) {
	now := r.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, r.Deadline, limit.ErrDeadline)
	defer cancel()
	set, err := r.Rules.Rules(ctx, now)
	if err == nil {
		err = set.Unmet(req.Missing)
	}
	if err != nil {
		return nil, err
	}
	set.Locate(req)
	switch {
	case req.Rejected || set.Banned(req) || set.LacksCaller(req) && !req.Unverified:
		return nil, ErrRefused
	case req.Unverified:
		return nil, errors.New("the caller's credentials cannot be verified now")
	}
	resolver := engine.Resolver{Set: set, Overrides: r.Overrides, Now: now}
	plan := resolver.Plan(ctx, req)
	switch {
	case plan.Err != nil:
		return nil, fmt.Errorf("the plan of %s: %w", plan.Key, plan.Err)
	case plan.Denied:
		return nil, ErrRefused
	}
	report := &Report{Plan: plan.Name, Rules: []Rule{}}
	for _, rule := range set.Rules {
		if !rule.Enforced() || rule.Quiet || !rule.CoversCaller(req) {
			continue
		}
		stated := set.Document().Rule(rule.Name)
		shown := Rule{Rule: rule.Name, Key: rule.Key, When: when(stated.When), Unless: unless(stated.Unless)}
		if shown.Withheld = rule.NotOfCaller(req); shown.Withheld == "" {
			res := resolver.Resolve(ctx, rule, req, plan.Name)
			if err := r.fill(ctx, now, &shown, &res); err != nil {
				return nil, fmt.Errorf("rule %s: %w", rule.Name, err)
			}
		} else if terms := rule.Terms(req, plan.Name, nil, now); terms.Unlimited {
			shown.Unlimited, shown.Withheld = true, ""
		} else {
			for i := range terms.Limits {
				shown.Limits = append(shown.Limits, limitOf(&terms.Limits[i], nil))
			}
		}
		report.Rules = append(report.Rules, shown)
	}
	return report, nil
}

func limitOf(l *limit.Limit, n *Numbers) Limit {
	window, expires := WindowOf(l)
	return Limit{Name: l.Name, Capacity: l.Capacity, Window: window, Expires: expires, Numbers: n}
}

// WindowOf returns the window of a limit, or how long a place in flight lasts, in
// seconds.
func WindowOf(l *limit.Limit) (window, expires float64) {
	if l.Algorithm == limit.InFlight {
		return 0, l.Window.Seconds()
	}
	return l.Window.Seconds(), 0
}

// fill adds the numbers of a rule for the caller.
func (r *Reporter) fill(ctx context.Context, now time.Time, shown *Rule, res *engine.Resolution) (err error) {
	switch {
	case res.Terms.Err != nil:
		return res.Terms.Err
	case res.Terms.Denied, res.Terms.Unlimited:
		shown.Denied, shown.Unlimited = res.Terms.Denied, res.Terms.Unlimited
		return nil
	}
	shown.Limits, err = r.counters.limits(ctx, now, &res.Charge)
	return err
}

// when returns what clients may know of a selector: not whose addresses, claims
// and plans it names.
func when(s *ruledoc.Selector) *When {
	if s == nil || len(s.Methods)+len(s.Path)+len(s.Route) == 0 {
		return nil
	}
	return &When{s.Methods, s.Path, s.Route}
}

// unless returns what a rule does not count, nil if that depends on the caller
// too: without such a condition, clients would take counted requests for free ones.
func unless(s *ruledoc.Selector) *When {
	if s == nil || !reflect.DeepEqual(s, &ruledoc.Selector{Methods: s.Methods, Path: s.Path, Route: s.Route}) {
		return nil
	}
	return when(s)
}

var plainPath = regexp.MustCompile(`^/[\w.~!$&'()+,;=:@/-]+$`)

// CheckPath returns what is wrong with a path for reports.
func CheckPath(p string) error {
	if !plainPath.MatchString(p) || path.Clean(p) != p {
		return errors.New("want a fixed path such as /usage, without wildcards, query or escapes")
	}
	return nil
}
