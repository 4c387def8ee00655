package headers

import (
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
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
	RateLimit               string // value of the RateLimit field
	RateLimitPolicy         string // value of the RateLimit-Policy field
	RetryAfter              string // seconds until the same request would be allowed
	Problem                 Problem
	Delay                   time.Duration // of an allowed request
}

// Describe returns a decision as clients learn it. Rules with headers: off stay
// unnamed.
func Describe(d *engine.Decision) Answer {
	a := Answer{Allowed: d.Allowed, Degraded: d.Degraded, Delay: d.Delay}
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
	}
	return a
}

// TooLong returns the denial of a request that was allowed with a delay that is
// too long to wait for. The client may retry after the delay.
func (a Answer) TooLong() Answer {
	a.RetryAfter = RetryAfter(a.Delay)
	a.Allowed, a.Delay, a.Problem = false, 0, QuotaExceeded
	return a
}

// describeLimits adds every limit that was charged, and the tightest by itself.
func (a *Answer) describeLimits(d *engine.Decision) {
	var rateLimits, policies []string
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Uncounted || v.Rule.Quiet {
			continue
		}
		for j := range v.Terms.Limits {
			name, result := v.PolicyName(j), v.Limits[j]
			result.Allowed, result.RetryAfter = d.Allowed, v.RetryAfter
			rateLimits = append(rateLimits, RateLimit(name, &result))
			policies = append(policies, RateLimitPolicy(name, &v.Terms.Limits[j]))
		}
	}
	a.RateLimit, a.RateLimitPolicy = strings.Join(rateLimits, ", "), strings.Join(policies, ", ")
	if v, i := d.Tightest(); v != nil {
		a.Rule = v.PolicyName(i)
		a.Limit = strconv.FormatInt(v.Terms.Limits[i].Capacity, 10)
		a.Remaining = strconv.FormatInt(v.Limits[i].Remaining, 10)
		a.Reset = strconv.FormatInt(Seconds(v.Limits[i].Reset), 10)
	} else {
		a.Rule = uncountedRule(d)
	}
	if !d.Allowed {
		a.RetryAfter = RetryAfter(d.Verdicts[0].RetryAfter)
	}
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
