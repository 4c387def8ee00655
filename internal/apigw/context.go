package apigw

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
)

// Names in the context of an authorizer's answer, which templates and backends
// read. All values are strings of plain ASCII. The context leaves out values
// that do not apply, and retryAfter if the request will never be allowed. Beside
// these there is receipt.ContextName.
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

	// Values of the fields of limits that have no other name. Those that the
	// document's headers leave out are missing, and so may rateLimit and
	// rateLimitPolicy be.
	contextLegacyLimit      = "xRateLimitLimit"
	contextLegacyRemaining  = "xRateLimitRemaining"
	contextLegacyReset      = "xRateLimitReset"
	contextLegacyRetryAfter = "xRateLimitRetryAfter"

	// The answer to a ban or to invalid credentials, and the document's own answer
	// to a denial: all three or none. A body may hold quotes. REST APIs answer as
	// they were deployed, whatever these say.
	contextDeniedStatus      = "deniedStatus"
	contextDeniedContentType = "deniedContentType"
	contextDeniedBody        = "deniedBody"
)

// contextOf returns a decision as an authorizer's context.
func contextOf(d *engine.Decision) map[string]any {
	a := headers.Describe(d)
	return decisionContext(&a)
}

// decisionContext returns what clients learn of a decision as an authorizer's
// context.
func decisionContext(a *headers.Answer) map[string]any {
	c := map[string]any{
		contextAllowed:  strconv.FormatBool(a.Allowed),
		contextDegraded: strconv.FormatBool(a.Degraded),
	}
	for _, text := range [...]struct{ name, value string }{
		{contextRule, a.Rule}, {contextLimit, a.Limit}, {contextRemaining, a.Remaining}, {contextReset, a.Reset},
		{contextRetryAfter, a.RetryAfter}, {contextRateLimit, a.RateLimit}, {contextRateLimitPolicy, a.RateLimitPolicy},
		{contextProblemType, a.Problem.Type}, {contextProblemTitle, a.Problem.Title},
		{contextLegacyLimit, a.LegacyLimit}, {contextLegacyRemaining, a.LegacyRemaining},
		{contextLegacyReset, a.LegacyReset}, {contextLegacyRetryAfter, a.LegacyRetryAfter},
	} {
		if text.value != "" {
			c[text.name] = text.value
		}
	}
	if a.Delay > 0 { // rounded up, so that no request goes on before its turn
		c[contextDelayMs] = strconv.FormatInt(int64((a.Delay+time.Millisecond-1)/time.Millisecond), 10)
	}
	if !a.Allowed && !a.IsCommon() {
		own := a.Denial()
		c[contextDeniedStatus], c[contextDeniedContentType], c[contextDeniedBody] = strconv.Itoa(own.Status), own.ContentType, own.Body
	}
	return c
}

// unauthorizedContext returns the context of a denial for invalid credentials, for
// gateways that an error does not make answer 401.
func unauthorizedContext() map[string]any {
	return decisionContext(&headers.Answer{Problem: headers.Unauthorized})
}

// TooLong returns the context of a denial for a request that the authorizer
// allowed with a delay that is too long for the gateway. The client may retry
// after the delay.
func TooLong(d *engine.Decision) map[string]any {
	a := headers.Describe(d).TooLong()
	return decisionContext(&a)
}

// OwnDenial returns the answer to a denial that has another than most, from the
// authorizer's context; ok is false if it has none.
func OwnDenial(authorizer map[string]any) (own headers.Denial, ok bool) {
	status, err := strconv.Atoi(text(authorizer, contextDeniedStatus))
	return headers.Denial{
		Status: status, ContentType: text(authorizer, contextDeniedContentType), Body: text(authorizer, contextDeniedBody),
	}, err == nil
}

func text(authorizer map[string]any, name string) string {
	value, _ := authorizer[name].(string)
	return value
}

// DenialOf returns the answer of a backend to a request that an authorizer has
// denied and passed on, by the authorizer's context: the status and body that
// the rules document says, by default 429 and problem details, with all fields.
// Scripts of every origin may read it. ok is false for a request that was not
// denied.
func DenialOf(authorizer map[string]any) (answer headers.Denial, fields map[string]string, ok bool) {
	answer, own, ok := denialOf(authorizer)
	if ok {
		fields = CORSFields()
		maps.Copy(fields, own)
	}
	return answer, fields, ok
}

// denialOf is DenialOf without the fields of CORS: a backend may let scripts of one
// origin read it.
func denialOf(authorizer map[string]any) (answer headers.Denial, fields map[string]string, ok bool) {
	if text(authorizer, contextAllowed) != "false" {
		return answer, nil, false
	}
	answer, own := OwnDenial(authorizer)
	if !own {
		problem := headers.Problem{Type: text(authorizer, contextProblemType), Title: text(authorizer, contextProblemTitle)}
		const status = http.StatusTooManyRequests
		answer = headers.Denial{
			Status: status, ContentType: headers.ProblemType, Body: headers.ProblemBody(status, problem, text(authorizer, contextRule)),
		}
	}
	fields = AllowedFields(authorizer)
	for field, name := range map[string]string{"Retry-After": contextRetryAfter, "X-RateLimit-Retry-After": contextLegacyRetryAfter} {
		if value := text(authorizer, name); value != "" {
			fields[field] = value
		}
	}
	if answer.Status == http.StatusUnauthorized {
		fields["WWW-Authenticate"] = headers.InvalidToken
	}
	fields["Content-Type"] = answer.ContentType
	return answer, fields, true
}

// DelayOf returns how long a backend has to delay an allowed request, by the
// authorizer's context.
func DelayOf(authorizer map[string]any) time.Duration {
	ms, err := strconv.ParseUint(text(authorizer, contextDelayMs), 10, 40) // up to 34 years
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// TooLongBy is TooLong for a backend, by the authorizer's context. The rules'
// own answer to denials is not in the context of an allowed request.
func TooLongBy(authorizer map[string]any) map[string]any {
	c := maps.Clone(authorizer)
	c[contextAllowed], c[contextRetryAfter] = "false", headers.RetryAfter(DelayOf(authorizer))
	c[contextProblemType], c[contextProblemTitle] = headers.QuotaExceeded.Type, headers.QuotaExceeded.Title
	if text(c, contextLegacyLimit) != "" {
		c[contextLegacyRetryAfter] = c[contextRetryAfter]
	}
	return c
}
