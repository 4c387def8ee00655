package apigw

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
	"github.com/slidegate/slidegate/internal/receipt"
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

// Context is the context of an authorizer's answer. An empty field does not apply.
// A map would take an allocation for each text, and most of the time to answer.
type Context struct {
	Allowed           string `json:"allowed,omitempty"`
	Degraded          string `json:"degraded,omitempty"`
	DelayMs           string `json:"delayMs,omitempty"`
	DeniedBody        string `json:"deniedBody,omitempty"`
	DeniedContentType string `json:"deniedContentType,omitempty"`
	DeniedStatus      string `json:"deniedStatus,omitempty"`
	Limit             string `json:"limit,omitempty"`
	ProblemTitle      string `json:"problemTitle,omitempty"`
	ProblemType       string `json:"problemType,omitempty"`
	RateLimit         string `json:"rateLimit,omitempty"`
	RateLimitPolicy   string `json:"rateLimitPolicy,omitempty"`
	Receipt           string `json:"receipt,omitempty"`
	Remaining         string `json:"remaining,omitempty"`
	Reset             string `json:"reset,omitempty"`
	RetryAfter        string `json:"retryAfter,omitempty"`
	Rule              string `json:"rule,omitempty"`
	LegacyLimit       string `json:"xRateLimitLimit,omitempty"`
	LegacyRemaining   string `json:"xRateLimitRemaining,omitempty"`
	LegacyReset       string `json:"xRateLimitReset,omitempty"`
	LegacyRetryAfter  string `json:"xRateLimitRetryAfter,omitempty"`
}

// Map returns the context as a backend gets it.
func (c *Context) Map() map[string]any {
	all := map[string]any{}
	for name, text := range map[string]string{
		contextAllowed: c.Allowed, contextDegraded: c.Degraded, contextDelayMs: c.DelayMs, contextDeniedBody: c.DeniedBody,
		contextDeniedContentType: c.DeniedContentType, contextDeniedStatus: c.DeniedStatus, contextLimit: c.Limit,
		contextProblemTitle: c.ProblemTitle, contextProblemType: c.ProblemType, contextRateLimit: c.RateLimit,
		contextRateLimitPolicy: c.RateLimitPolicy, receipt.ContextName: c.Receipt, contextRemaining: c.Remaining, contextReset: c.Reset,
		contextRetryAfter: c.RetryAfter, contextRule: c.Rule, contextLegacyLimit: c.LegacyLimit,
		contextLegacyRemaining: c.LegacyRemaining, contextLegacyReset: c.LegacyReset, contextLegacyRetryAfter: c.LegacyRetryAfter,
	} {
		if text != "" {
			all[name] = text
		}
	}
	return all
}

// contextOf returns a decision as an authorizer's context.
func contextOf(d *engine.Decision) *Context {
	a := headers.Describe(d)
	return decisionContext(&a)
}

// decisionContext returns what clients learn of a decision as an authorizer's
// context.
func decisionContext(a *headers.Answer) *Context {
	c := &Context{
		Allowed: strconv.FormatBool(a.Allowed), Degraded: strconv.FormatBool(a.Degraded),
		Rule: a.Rule, Limit: a.Limit, Remaining: a.Remaining, Reset: a.Reset, RetryAfter: a.RetryAfter,
		RateLimit: a.RateLimit, RateLimitPolicy: a.RateLimitPolicy, ProblemType: a.Problem.Type, ProblemTitle: a.Problem.Title,
		LegacyLimit: a.LegacyLimit, LegacyRemaining: a.LegacyRemaining, LegacyReset: a.LegacyReset, LegacyRetryAfter: a.LegacyRetryAfter,
	}
	if a.Delay > 0 { // rounded up, so that no request goes on before its turn
		c.DelayMs = strconv.FormatInt(int64((a.Delay+time.Millisecond-1)/time.Millisecond), 10)
	}
	if !a.Allowed && !a.IsCommon() {
		own := a.Denial()
		c.DeniedStatus, c.DeniedContentType, c.DeniedBody = strconv.Itoa(own.Status), own.ContentType, own.Body
	}
	return c
}

// unauthorizedContext returns the context of a denial for invalid credentials, for
// gateways that an error does not make answer 401.
func unauthorizedContext() *Context {
	return decisionContext(&headers.Answer{Problem: headers.Unauthorized})
}

// TooLong returns the context of a denial for a request that the authorizer
// allowed with a delay that is too long for the gateway. The client may retry
// after the delay.
func TooLong(d *engine.Decision) map[string]any {
	a := headers.Describe(d).TooLong()
	return decisionContext(&a).Map()
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
