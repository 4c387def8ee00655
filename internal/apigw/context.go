package apigw

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
	"github.com/slidegate/slidegate/internal/limit"
)

// Names in the context of an authorizer's answer, which templates and backends
// read. All values are strings of plain ASCII. The context leaves out values
// that do not apply, and retryAfter if the request will never be allowed.
const (
	contextAllowed         = "allowed"         // "true" or "false"
	contextRule            = "rule"            // the deciding rule, or "rule.limit" if it has several limits
	contextLimit           = "limit"           // that limit's capacity, in units
	contextRemaining       = "remaining"       // units left now
	contextReset           = "reset"           // seconds until the limit is unused
	contextRetryAfter      = "retryAfter"      // seconds until the same request would be allowed
	contextDelayMs         = "delayMs"         // milliseconds to delay an allowed request, above 0
	contextDegraded        = "degraded"        // "true" if the store did not answer and on_error decided, or if no rules are published
	contextRateLimit       = "rateLimit"       // value of the RateLimit field
	contextRateLimitPolicy = "rateLimitPolicy" // value of the RateLimit-Policy field
	contextProblemType     = "problemType"     // of a denial: the URI of a problem type
	contextProblemTitle    = "problemTitle"
)

// Names in place of a rule's in the context if no rule decided. No rule may
// have them.
const (
	ruleDeny      = "deny"
	ruleUnmatched = "unmatched"
	ruleAmbiguous = "ambiguous_paths" // no name of a rule has an underscore
	ruleQuiet     = "undisclosed"     // the denying rule has headers: off
)

// decisionContext returns a decision as an authorizer's context.
func decisionContext(d *engine.Decision) map[string]any {
	c := map[string]any{
		contextAllowed:  strconv.FormatBool(d.Allowed),
		contextDegraded: strconv.FormatBool(d.Degraded),
	}
	problem := headers.QuotaExceeded
	switch d.Reason {
	case engine.Banned: // by the document or by an override: clients need not know which
		c[contextRule], problem = ruleDeny, headers.Blocked
	case engine.Unmatched:
		c[contextRule], problem = ruleUnmatched, headers.Unmatched
	case engine.Ambiguous:
		c[contextRule], problem = ruleAmbiguous, headers.AmbiguousPath
	case engine.Limited:
		describeLimits(c, d)
		if !d.Allowed && d.Verdicts[0].Degraded {
			problem = headers.ReducedCapacity
		}
	}
	if d.Delay > 0 { // rounded up, so that no request goes on before its turn
		c[contextDelayMs] = strconv.FormatInt(int64((d.Delay+time.Millisecond-1)/time.Millisecond), 10)
	}
	if !d.Allowed {
		c[contextProblemType], c[contextProblemTitle] = problem.Type, problem.Title
	}
	return c
}

// describeLimits adds every limit that was charged, and the tightest by itself.
func describeLimits(c map[string]any, d *engine.Decision) {
	var rateLimits, policies []string
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Uncounted || v.Rule.Quiet {
			continue
		}
		for j := range v.Terms.Limits {
			name, result := v.PolicyName(j), v.Limits[j]
			result.Allowed, result.RetryAfter = d.Allowed, v.RetryAfter
			rateLimits = append(rateLimits, headers.RateLimit(name, &result))
			policies = append(policies, headers.RateLimitPolicy(name, &v.Terms.Limits[j]))
		}
	}
	if len(policies) > 0 {
		c[contextRateLimit], c[contextRateLimitPolicy] = strings.Join(rateLimits, ", "), strings.Join(policies, ", ")
	}
	if v, i := d.Tightest(); v != nil {
		c[contextRule] = v.PolicyName(i)
		c[contextLimit] = strconv.FormatInt(v.Terms.Limits[i].Capacity, 10)
		c[contextRemaining] = strconv.FormatInt(v.Limits[i].Remaining, 10)
		c[contextReset] = strconv.FormatInt(headers.Seconds(v.Limits[i].Reset), 10)
	} else if rule := uncountedRule(d); rule != "" {
		c[contextRule] = rule
	}
	if !d.Allowed {
		addRetryAfter(c, d.Verdicts[0].RetryAfter)
	}
}

// uncountedRule returns the name of the rule if no limit that clients may see
// was charged: the first visible rule, or ruleQuiet if a quiet rule denies.
func uncountedRule(d *engine.Decision) string {
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

// TooLong returns the context of a denial for a request that the authorizer
// allowed with a delay that is too long for the gateway. The client may retry
// after the delay.
func TooLong(authorizer map[string]any, delay time.Duration) map[string]any {
	c := maps.Clone(authorizer)
	delete(c, contextDelayMs)
	c[contextAllowed] = "false"
	c[contextProblemType], c[contextProblemTitle] = headers.QuotaExceeded.Type, headers.QuotaExceeded.Title
	addRetryAfter(c, delay)
	return c
}
