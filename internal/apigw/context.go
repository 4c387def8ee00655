package apigw

import (
	"maps"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
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
	contextDegraded        = "degraded"        // "true" if the store did not answer and on_error decided, if no rules are published, or if no key could verify a token
	contextRateLimit       = "rateLimit"       // value of the RateLimit field
	contextRateLimitPolicy = "rateLimitPolicy" // value of the RateLimit-Policy field
	contextProblemType     = "problemType"     // of a denial: the URI of a problem type
	contextProblemTitle    = "problemTitle"
)

// decisionContext returns a decision as an authorizer's context.
func decisionContext(d *engine.Decision) map[string]any {
	a := headers.Describe(d)
	c := map[string]any{
		contextAllowed:  strconv.FormatBool(a.Allowed),
		contextDegraded: strconv.FormatBool(a.Degraded),
	}
	for _, text := range [...]struct{ name, value string }{
		{contextRule, a.Rule}, {contextLimit, a.Limit}, {contextRemaining, a.Remaining}, {contextReset, a.Reset},
		{contextRetryAfter, a.RetryAfter}, {contextRateLimit, a.RateLimit}, {contextRateLimitPolicy, a.RateLimitPolicy},
		{contextProblemType, a.Problem.Type}, {contextProblemTitle, a.Problem.Title},
	} {
		if text.value != "" {
			c[text.name] = text.value
		}
	}
	if a.Delay > 0 { // rounded up, so that no request goes on before its turn
		c[contextDelayMs] = strconv.FormatInt(int64((a.Delay+time.Millisecond-1)/time.Millisecond), 10)
	}
	return c
}

// TooLong returns the context of a denial for a request that the authorizer
// allowed with a delay that is too long for the gateway. The client may retry
// after the delay.
func TooLong(authorizer map[string]any, delay time.Duration) map[string]any {
	c := maps.Clone(authorizer)
	delete(c, contextDelayMs)
	c[contextAllowed] = "false"
	c[contextProblemType], c[contextProblemTitle] = headers.QuotaExceeded.Type, headers.QuotaExceeded.Title
	c[contextRetryAfter] = headers.RetryAfter(delay)
	return c
}
