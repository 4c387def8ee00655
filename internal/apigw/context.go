package apigw

import (
	"maps"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
	"github.com/slidegate/slidegate/internal/limit"
)

// Names of the context that an authorizer's answer carries to templates and backends. All values are strings of plain
// ASCII. What does not apply is left out; so is retryAfter where the answer is never.
const (
	contextAllowed         = "allowed"         // "true" or "false"
	contextRule            = "rule"            // the deciding rule, or "rule.limit" where it has several
	contextLimit           = "limit"           // that limit's capacity, in units
	contextRemaining       = "remaining"       // units left now
	contextReset           = "reset"           // seconds until the key is empty again
	contextRetryAfter      = "retryAfter"      // seconds until the same request would be allowed
	contextDelayMs         = "delayMs"         // milliseconds to hold an allowed request for; left out where there are none
	contextDegraded        = "degraded"        // "true" if the store did not answer and on_error decided
	contextRateLimit       = "rateLimit"       // value of the RateLimit field
	contextRateLimitPolicy = "rateLimitPolicy" // value of the RateLimit-Policy field
	contextProblemType     = "problemType"     // of a denial: a problem type's URI
	contextProblemTitle    = "problemTitle"
)

// Names that stand for a rule in the context where none decided. No rule may have them.
const (
	ruleDeny      = "deny"
	ruleUnmatched = "unmatched"
	ruleAmbiguous = "ambiguous_paths" // no name of a rule has an underscore
	ruleQuiet     = "undisclosed"     // it denies, and clients are not told of it
)

// decisionContext spells a decision as an authorizer's context.
func decisionContext(d *engine.Decision) map[string]any {
	c := map[string]any{
		contextAllowed:  strconv.FormatBool(d.Allowed),
		contextDegraded: strconv.FormatBool(d.Degraded),
	}
	switch d.Reason {
	case engine.Banned:
		c[contextRule] = ruleDeny // whether by the document or by an override is nobody's business
	case engine.Unmatched:
		c[contextRule] = ruleUnmatched
	case engine.Ambiguous:
		c[contextRule] = ruleAmbiguous
	case engine.Limited:
		describeLimits(c, d)
	}
	if d.Delay > 0 {
		c[contextDelayMs] = strconv.FormatInt(milliseconds(d.Delay), 10)
	}
	if !d.Allowed {
		problem := problemOf(d)
		c[contextProblemType], c[contextProblemTitle] = problem.Type, problem.Title
	}
	return c
}

func problemOf(d *engine.Decision) headers.Problem {
	switch {
	case d.Reason == engine.Banned:
		return headers.Blocked
	case d.Reason == engine.Unmatched:
		return headers.Unmatched
	case d.Reason == engine.Ambiguous:
		return headers.AmbiguousPath
	case d.Verdicts[0].Degraded:
		return headers.ReducedCapacity
	}
	return headers.QuotaExceeded
}

// describeLimits adds every limit that was asked, and the tightest on its own.
func describeLimits(c map[string]any, d *engine.Decision) {
	rateLimit, policy := make([]byte, 0, 64), make([]byte, 0, 64)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Blind || v.Rule.Quiet {
			continue
		}
		for j := range v.Terms.Limits {
			p := headers.Policy{Name: v.PolicyName(j), Limit: &v.Terms.Limits[j], Result: v.Limits[j]}
			p.Result.Allowed, p.Result.RetryAfter = d.Allowed, v.RetryAfter
			rateLimit = headers.AppendRateLimit(rateLimit, &p)
			policy = headers.AppendPolicy(policy, &p)
		}
	}
	if len(policy) > 0 {
		c[contextRateLimit], c[contextRateLimitPolicy] = string(rateLimit), string(policy)
	}
	if v, i := d.Tightest(); v != nil {
		c[contextRule] = v.PolicyName(i)
		c[contextLimit] = strconv.FormatInt(v.Terms.Limits[i].Capacity, 10)
		c[contextRemaining] = strconv.FormatInt(v.Limits[i].Remaining, 10)
		c[contextReset] = strconv.FormatInt(headers.Seconds(v.Limits[i].Reset), 10)
	} else if rule := nothingCounted(d); rule != "" {
		c[contextRule] = rule
	}
	if !d.Allowed {
		addRetryAfter(c, d.Verdicts[0].RetryAfter)
	}
}

// nothingCounted names a rule where no limit that clients are told of was asked: the first that they are told of; the one
// that denies, if it is quiet, has no name of its own.
func nothingCounted(d *engine.Decision) string {
	for i := range d.Verdicts {
		if rule := d.Verdicts[i].Rule; !rule.Quiet {
			return rule.Name
		}
	}
	if d.Allowed {
		return ""
	}
	return ruleQuiet
}

func addRetryAfter(c map[string]any, d time.Duration) {
	if d != limit.Never {
		c[contextRetryAfter] = headers.RetryAfter(d)
	}
}

// TooLong returns the context of a denial for a request that the authorizer let through, but with a delay that whoever is to
// hold it does not wait: come back at the turn.
func TooLong(authorizer map[string]any, delay time.Duration) map[string]any {
	c := maps.Clone(authorizer)
	delete(c, contextDelayMs)
	c[contextAllowed] = "false"
	c[contextProblemType], c[contextProblemTitle] = headers.QuotaExceeded.Type, headers.QuotaExceeded.Title
	addRetryAfter(c, delay)
	return c
}

// milliseconds rounds up: nobody goes before the turn.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
