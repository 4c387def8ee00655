package headers

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Names in place of a rule's if no rule decided. No rule may have them.
const (
	RuleDeny      = "deny"
	RuleUnmatched = "unmatched"
	RuleAmbiguous = "ambiguous_paths" // no name of a rule has an underscore
	RuleQuiet     = "undisclosed"     // the denying rule has headers: off
)

// Answer is what clients learn of a decision. Texts are plain ASCII, and empty
// for what does not apply.
type Answer struct {
	Allowed  bool
	Degraded bool // the store did not answer and on_error decided, or no rules are published
	// Rule is the deciding rule, "rule.limit" if it has several limits, or one
	// of the names above.
	Rule string
	// Limit, Remaining and Reset are the deciding limit's capacity in units, the
	// units left now, and the seconds until it is unused. They are empty if no
	// limit was counted.
	Limit, Remaining, Reset string
	// RetryAfter is the seconds until the same request would be allowed, and up
	// to the document's retry_jitter more.
	RetryAfter string
	Problem    Problem
	Delay      time.Duration // of an allowed request

	// Values of the fields of limits, empty for those that the document's
	// headers leave out.
	RateLimit, RateLimitPolicy                string
	LegacyLimit, LegacyRemaining, LegacyReset string
	LegacyRetryAfter                          string

	// Denied is the rules' own answer to a denial; nil for problem details.
	Denied *rules.Denied

	of       rules.Answers
	decision *engine.Decision
}

// Describe returns a decision as clients learn it. Rules with headers: off stay
// unnamed.
func Describe(d *engine.Decision) Answer {
	of := d.Answers()
	a := Answer{Allowed: d.Allowed, Degraded: d.Degraded, Delay: d.Delay, Denied: of.Denied, of: of, decision: d}
	problem := QuotaExceeded
	switch d.Reason {
	case engine.Banned: // by the document or by an override: clients need not know which
		a.Rule, problem = RuleDeny, Blocked
	case engine.Unmatched:
		a.Rule, problem = RuleUnmatched, Unmatched
	case engine.Ambiguous:
		a.Rule, problem = RuleAmbiguous, AmbiguousPath
	case engine.Limited:
		a.describeLimits(d)
		if !d.Allowed && d.Verdicts[0].Degraded {
			problem = ReducedCapacity
		}
	}
	if !d.Allowed {
		a.Problem = problem
		if problem == QuotaExceeded && a.Denied != nil {
			a.stateProblem()
		}
	}
	return a
}

// stateProblem replaces the problem of a full limit by what the rules state of it.
// Other problems keep their own: the month of a banned client is not spent.
func (a *Answer) stateProblem() {
	own, p := a.Denied, &a.Problem
	p.Type, p.Title, p.heading = cmp.Or(own.Type, p.Type), cmp.Or(own.Title, p.Title), own.Title
	p.Detail = rules.FillBody(own.Detail, a.variable)
}

// TooLong returns the denial of a request that was allowed with a delay that is
// too long to wait for. The client may retry after the delay.
func (a Answer) TooLong() Answer {
	d := *a.decision
	d.Allowed, d.Delay, d.Verdicts = false, 0, slices.Clone(d.Verdicts)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		v.RetryAfter, v.Limits, v.Degraded = a.Delay, slices.Clone(v.Limits), false
		for j := range v.Limits {
			if r := &v.Limits[j]; r.Delay > 0 {
				r.Allowed, r.RetryAfter = false, r.Delay
			}
		}
	}
	return Describe(&d)
}

// describeLimits adds every limit that was charged, and the tightest by itself.
// Every time of a denial is later by the jitter, whole seconds up to the
// document's retry_jitter: clients may wait by any of them.
func (a *Answer) describeLimits(d *engine.Decision) {
	var jitter time.Duration
	if !d.Allowed {
		jitter = time.Duration(rand.Int64N(int64(a.of.RetryJitter/time.Second)+1)) * time.Second
	}
	var most [2][256]byte
	rateLimits, policies := most[0][:0], most[1][:0]
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Uncounted || v.Rule.Quiet {
			continue
		}
		for j := range v.Terms.Limits {
			l, result := &v.Terms.Limits[j], asAnswered(d, v, j, jitter)
			rateLimits = AppendRateLimit(rateLimits, v.Rule.Name, l.Name, &result)
			policies = AppendRateLimitPolicy(policies, v.Rule.Name, l)
		}
	}
	if a.of.Fields.Standard() {
		a.RateLimit, a.RateLimitPolicy = string(rateLimits), string(policies)
	}
	a.describeTightest(d, jitter)
	if !d.Allowed {
		wait := d.Verdicts[0].RetryAfter
		if wait != limit.Never {
			wait += jitter
		}
		if a.RetryAfter = RetryAfter(wait); a.of.Fields.Legacy() {
			a.LegacyRetryAfter = a.RetryAfter
		}
	}
}

// describeTightest adds the tightest limit by itself.
func (a *Answer) describeTightest(d *engine.Decision, jitter time.Duration) {
	v, i := d.Tightest()
	if v == nil {
		a.Rule = uncountedRule(d)
		return
	}
	result := asAnswered(d, v, i, jitter)
	a.Rule = v.PolicyName(i)
	a.Limit = strconv.FormatInt(v.Terms.Limits[i].Capacity, 10)
	a.Remaining = strconv.FormatInt(result.Remaining, 10)
	a.Reset = strconv.FormatInt(Seconds(result.Reset), 10)
	if a.of.Fields.Legacy() {
		a.LegacyLimit, a.LegacyRemaining = a.Limit, a.Remaining
	}
	if a.of.Fields.Reset() {
		a.LegacyReset = strconv.FormatInt(untilReset(&result), 10)
	}
}

// asAnswered returns the result of limit i as clients learn it. Beside a limit
// that denies, the others keep their own reset.
func asAnswered(d *engine.Decision, v *engine.Verdict, i int, jitter time.Duration) limit.Result {
	result := v.Limits[i]
	if !d.Allowed && v.RetryAfter != limit.Never {
		result.Reset += jitter
		result.RetryAfter += jitter
	}
	return result
}

// uncountedRule returns the name of the rule if no limit that clients may see
// was charged: the first visible rule, or RuleQuiet if a quiet rule denies.
func uncountedRule(d *engine.Decision) string {
	for i := range d.Verdicts {
		if rule := d.Verdicts[i].Rule; !rule.Quiet {
			return rule.Name
		}
	}
	if d.Allowed {
		return ""
	}
	return RuleQuiet
}

// Field is an HTTP field of an answer.
type Field struct {
	Name      string // as its specification writes it
	Canonical string // as net/http writes it
	Value     string
}

// MostFields is the number of Fields of an answer that has them all.
const MostFields = 7

// Fields are the fields that tell a client of the decision, in an answer of the
// backend and in a denial alike.
func (a *Answer) Fields() iter.Seq[Field] {
	fields := [MostFields]Field{
		{"RateLimit", "Ratelimit", a.RateLimit},
		{"RateLimit-Policy", "Ratelimit-Policy", a.RateLimitPolicy},
		{"X-RateLimit-Limit", "X-Ratelimit-Limit", a.LegacyLimit},
		{"X-RateLimit-Remaining", "X-Ratelimit-Remaining", a.LegacyRemaining},
		{"X-RateLimit-Reset", "X-Ratelimit-Reset", a.LegacyReset},
		{"Retry-After", "Retry-After", a.RetryAfter},
		{"X-RateLimit-Retry-After", "X-Ratelimit-Retry-After", a.LegacyRetryAfter},
	}
	return func(yield func(Field) bool) {
		for _, f := range fields {
			if f.Value != "" && !yield(f) {
				return
			}
		}
	}
}
