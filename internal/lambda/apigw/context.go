package apigw

import (
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
)

// Context is the context of an authorizer's answer, which templates and backends
// read. All values but claims are strings of plain ASCII. An empty field does not
// apply, and is left out. The tag json is the value's name, and the tag http the HTTP field
// that has it. A map would take an allocation for each text, and most of the time
// to answer.
type Context struct {
	Allowed  string `json:"allowed,omitempty"`  // "true" or "false"
	Degraded string `json:"degraded,omitempty"` // "true" if the store did not answer and on_error decided, if no rules are published, or if no key could verify a token
	DelayMs  string `json:"delayMs,omitempty"`  // milliseconds to delay an allowed request, above 0

	// The answer to a ban, an unmatched request, an ambiguous path or invalid credentials, and the
	// rules' own answer to a denial: all three or none. A body may hold quotes. REST APIs answer as
	// they were deployed, whatever these say.
	DeniedBody        string `json:"deniedBody,omitempty"`
	DeniedContentType string `json:"deniedContentType,omitempty"`
	DeniedStatus      string `json:"deniedStatus,omitempty"`

	Limit         string `json:"limit,omitempty"`         // the deciding limit's capacity, in units
	ProblemDetail string `json:"problemDetail,omitempty"` // of a denial whose rule states one
	ProblemTitle  string `json:"problemTitle,omitempty"`  // of a denial
	ProblemType   string `json:"problemType,omitempty"`   // of a denial: the URI of a problem type

	// Values of the fields of limits. Those that the document's headers leave out
	// are missing.
	RateLimit       string `json:"rateLimit,omitempty" http:"RateLimit"`
	RateLimitPolicy string `json:"rateLimitPolicy,omitempty" http:"RateLimit-Policy"`

	Receipt    string `json:"receipt,omitempty"`                       // by which a backend settles
	Remaining  string `json:"remaining,omitempty"`                     // units of the deciding limit left now
	Reset      string `json:"reset,omitempty"`                         // seconds until the deciding limit is unused
	RetryAfter string `json:"retryAfter,omitempty" http:"Retry-After"` // seconds until the same request would be allowed; of a denial that ends
	Rule       string `json:"rule,omitempty"`                          // the deciding rule, or "rule.limit" if it has several limits

	LegacyLimit      string `json:"xRateLimitLimit,omitempty" http:"X-RateLimit-Limit"`
	LegacyRemaining  string `json:"xRateLimitRemaining,omitempty" http:"X-RateLimit-Remaining"`
	LegacyReset      string `json:"xRateLimitReset,omitempty" http:"X-RateLimit-Reset"`
	LegacyRetryAfter string `json:"xRateLimitRetryAfter,omitempty" http:"X-RateLimit-Retry-After"`

	// Claims are those that the backend of an allowed request gets, by the names of
	// their values: claimPrefix and the claim's. No template reads them.
	Claims map[string]string `json:"-"`
}

// MarshalJSON writes claims beside the other values.
func (c *Context) MarshalJSON() ([]byte, error) {
	type plain Context // without this method
	if len(c.Claims) == 0 {
		return json.Marshal((*plain)(c))
	}
	return json.Marshal(c.Map())
}

// nameOf returns the name of a field of a Context.
func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// Map returns the context as a backend gets it.
func (c *Context) Map() map[string]any {
	all := map[string]any{}
	for name, value := range c.texts() {
		if set := value.String(); set != "" {
			all[name] = set
		}
	}
	for name, value := range c.Claims {
		all[name] = value
	}
	return all
}

// texts returns the fields that are texts, by the names of their values.
func (c *Context) texts() iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for field, value := range reflect.ValueOf(c).Elem().Fields() {
			if value.Kind() == reflect.String && !yield(nameOf(field), value) {
				return
			}
		}
	}
}

// ContextOf returns the authorizer's context that a backend got, without claims.
func ContextOf(authorizer map[string]any) *Context {
	c := &Context{}
	for name, value := range c.texts() {
		set, _ := authorizer[name].(string)
		value.SetString(set)
	}
	return c
}

// Fields returns the fields of limits that a backend adds to its answer. API
// Gateway adds none itself.
func (c *Context) Fields() map[string]string {
	fields := map[string]string{}
	for field, value := range reflect.ValueOf(c).Elem().Fields() {
		if name := field.Tag.Get("http"); name != "" && value.String() != "" {
			fields[name] = value.String()
		}
	}
	return fields
}

// contextFor returns a decision as an authorizer's context.
func contextFor(d *engine.Decision) *Context {
	a := headers.Describe(d)
	return decisionContext(&a)
}

// decisionContext returns what clients learn of a decision as an authorizer's
// context.
func decisionContext(a *headers.Answer) *Context {
	c := &Context{
		Allowed: strconv.FormatBool(a.Allowed), Degraded: strconv.FormatBool(a.Degraded),
		Rule: a.Rule, Limit: a.Limit, Remaining: a.Remaining, Reset: a.Reset, RetryAfter: a.RetryAfter,
		RateLimit: a.RateLimit, RateLimitPolicy: a.RateLimitPolicy, ProblemType: a.Problem.Type, ProblemTitle: a.Problem.Title, ProblemDetail: a.Problem.Detail,
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

// Denial returns the answer of a backend to a request that an authorizer has
// denied and passed on: the status and body that the rules document says, by
// default 429 and problem details, with all fields. Scripts of every origin may
// read it. ok is false for a request that was not denied.
func (c *Context) Denial() (answer headers.Denial, fields map[string]string, ok bool) {
	answer, own, ok := c.denial()
	if ok {
		fields = corsFields()
		maps.Copy(fields, own)
	}
	return answer, fields, ok
}

// denial is Denial without the fields of CORS: a backend may let scripts of one
// origin read it.
func (c *Context) denial() (answer headers.Denial, fields map[string]string, ok bool) {
	if c.Allowed != "false" {
		return answer, nil, false
	}
	own, err := strconv.Atoi(c.DeniedStatus)
	answer = headers.Denial{Status: own, ContentType: c.DeniedContentType, Body: c.DeniedBody}
	if err != nil {
		const status = http.StatusTooManyRequests
		problem := headers.Problem{Type: c.ProblemType, Title: c.ProblemTitle}
		answer = headers.Denial{Status: status, ContentType: headers.ProblemType, Body: headers.ProblemBody(status, problem, c.Rule)}
	}
	fields = c.Fields()
	if answer.Status == http.StatusUnauthorized {
		fields["WWW-Authenticate"] = headers.InvalidToken
	}
	fields["Content-Type"] = answer.ContentType
	return answer, fields, true
}

// Delay returns how long a backend has to delay an allowed request.
func (c *Context) Delay() time.Duration {
	ms, err := strconv.ParseUint(c.DelayMs, 10, 40) // up to 34 years
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// TooLong returns the context of a denial for a request that was allowed with a
// delay that is too long for the backend. The rules' own answer to denials is not
// in the context of an allowed request.
func (c *Context) TooLong() *Context {
	denied := *c
	denied.Allowed, denied.RetryAfter = "false", headers.RetryAfter(c.Delay())
	denied.ProblemType, denied.ProblemTitle = headers.QuotaExceeded.Type, headers.QuotaExceeded.Title
	if c.LegacyLimit != "" {
		denied.LegacyRetryAfter = denied.RetryAfter
	}
	return &denied
}
