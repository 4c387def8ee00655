package apigw

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/receipt"
)

// contextSource precedes names of the authorizer's context in expressions.
const contextSource = "context.authorizer."

// ReceiptField is the field in which an HTTP backend gets the receipt, and
// ReceiptSource the expression that the gateway maps to it.
const (
	ReceiptField  = receipt.Header
	ReceiptSource = contextSource + "receipt"
)

// ResponseField precedes the name of a field in the parameters of a gateway
// response.
const ResponseField = "gatewayresponse.header."

// GatewayResponse is an answer that a REST API gives in place of a backend,
// with the names of API Gateway. The construct in infra deploys these answers.
//
// AWS documents `$context.*` in body templates ("Gateway responses for REST
// APIs in API Gateway"). Mapping a header from context.authorizer.* works but
// is not documented; make e2e-aws checks it on an account. Templates do not
// escape values, so the context holds only plain ASCII without quotes.
type GatewayResponse struct {
	Type   string // "ACCESS_DENIED", "DEFAULT_4XX", …
	Status int    // 0 leaves the status that API Gateway chose
	// Headers maps names of fields to mapping expressions: 'literal', in single
	// quotes, or context.authorizer.NAME. API Gateway leaves out headers whose
	// source is missing.
	Headers map[string]string
	// Body is the template of a JSON body. Without one, API Gateway has its own.
	// No template language reads it: a # is a #.
	Body string
	// Fallback names the default whose answer API Gateway gives without this one
	// ("DEFAULT_4XX"). Only answers that the limiter does not decide have it: those
	// of the gateway's throttle, and of a failed authorizer. They are optional:
	// what an API states itself stays in their place (see IsReplaced).
	Fallback string
}

// deniedBody is the problem of a denial. Its values are in the context of every
// denial.
const deniedBody = `{"type":"$context.authorizer.problemType",` +
	`"title":"$context.authorizer.problemTitle",` +
	`"status":429,` +
	`"violated-policies":["$context.authorizer.rule"]}`

// failed is the problem of an authorizer that gave no decision. It has no type of
// the limiter's own: an API may have other authorizers too.
var failed = headers.Problem{Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError)}

// byGateway returns an answer that the gateway gives by itself, with a problem that
// no decision fills in.
func byGateway(kind string, status int, p headers.Problem) GatewayResponse {
	fields := corsHeaders()
	fields["Content-Type"] = "'application/problem+json'"
	return GatewayResponse{
		Type: kind, Status: status, Headers: fields, Fallback: defaultOf(status),
		Body: fmt.Sprintf(`{"type":"%s","title":"%s","status":%d}`, p.Type, p.Title, status),
	}
}

func defaultOf(status int) string { return fmt.Sprintf("DEFAULT_%dXX", status/100) }

// GatewayResponses returns the responses of a REST API behind the authorizer.
// Each has the CORS fields, because API Gateway does not inherit them from the
// defaults.
func GatewayResponses() []GatewayResponse {
	denied, unauthorized := corsHeaders(), corsHeaders()
	denied["Content-Type"], unauthorized["WWW-Authenticate"] = "'application/problem+json'", "'"+headers.InvalidToken+"'"
	for field := range reflect.TypeFor[Context]().Fields() {
		if name := field.Tag.Get("http"); name != "" {
			denied[name] = contextSource + nameOf(field)
		}
	}
	// API Gateway refills its throttle each second. A quota of a usage plan lasts a
	// day at least, and nothing says how long the failure of an authorizer lasts: a
	// Retry-After would be a guess.
	throttled := byGateway("THROTTLED", http.StatusTooManyRequests, headers.ReducedCapacity)
	throttled.Headers["Retry-After"] = "'1'"
	return []GatewayResponse{
		{Type: "ACCESS_DENIED", Status: 429, Headers: denied, Body: deniedBody},
		{Type: "UNAUTHORIZED", Status: 401, Headers: unauthorized},
		throttled,
		byGateway("QUOTA_EXCEEDED", http.StatusTooManyRequests, headers.QuotaExceeded),
		byGateway("AUTHORIZER_FAILURE", http.StatusInternalServerError, failed),
		byGateway("AUTHORIZER_CONFIGURATION_ERROR", http.StatusInternalServerError, failed),
		{Type: "DEFAULT_4XX", Headers: corsHeaders()},
		{Type: "DEFAULT_5XX", Headers: corsHeaders()},
	}
}

// IsReplaced reports whether a response that an API states stays in place of r: one
// of the same type, or, if r is optional, its default with a body of the API's own.
func (r GatewayResponse) IsReplaced(kind string, ownBody bool) bool {
	return kind == r.Type || ownBody && kind == r.Fallback
}

// Inherits reports whether API Gateway gives the fields of a default ("DEFAULT_4XX")
// to an API that lacks r.
func (r GatewayResponse) Inherits(kind string) bool { return kind == defaultOf(r.Status) }

// Keep returns r with the fields that an API has of its own, or inherits from a
// default, in place of r's literals: an origin of the API's own stays. Values of the
// context describe a decision, so r's stay.
func (r GatewayResponse) Keep(fields map[string]string) GatewayResponse {
	r.Headers = maps.Clone(r.Headers)
	for name, expression := range fields {
		same := name
		for own := range r.Headers {
			if strings.EqualFold(own, name) {
				same = own
			}
		}
		if !strings.HasPrefix(r.Headers[same], contextSource) {
			delete(r.Headers, same)
			r.Headers[name] = expression
		}
	}
	return r
}

// Parameters returns the fields as API Gateway names them.
func (r GatewayResponse) Parameters() map[string]string {
	all := map[string]string{}
	for name, expression := range r.Headers {
		all[ResponseField+name] = expression
	}
	return all
}

// contextName is a name of the authorizer's context in an expression or template.
var contextName = regexp.MustCompile(`context\.authorizer\.(\w+)`)

// Differences says in what a response of an API differs from r, beginning with
// verbs: its status, fields that are missing or that have another value of the
// context, and names that no context has. Fields with values of the API's own, such
// as one origin, and its own templates do not differ. It returns nil for none.
func (r GatewayResponse) Differences(status string, headers, templates map[string]string) (all []string) {
	if want := strconv.Itoa(r.Status); r.Status != 0 && status != want {
		all = append(all, "has status "+status+", not "+want)
	}
	has := map[string]string{}
	for name, expression := range headers {
		has[http.CanonicalHeaderKey(name)] = expression
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		want, expression := r.Headers[name], has[http.CanonicalHeaderKey(name)]
		switch {
		case expression == "":
			all = append(all, "lacks the field "+name)
		case strings.HasPrefix(want, contextSource) && expression != want:
			all = append(all, "has the field "+name+" by "+expression+", not "+want)
		}
	}
	names := map[string]any{"principalId": nil} // which is API Gateway's own
	for name := range (&Context{}).texts() {
		names[name] = nil
	}
	for _, template := range slices.Sorted(maps.Values(templates)) {
		for _, found := range contextName.FindAllStringSubmatch(template, -1) {
			if _, ok := names[found[1]]; !ok && r.Status != 0 {
				all = append(all, "names "+found[0]+", which the authorizer does not set")
			}
		}
	}
	return all
}

// corsFields returns the fields that let scripts of every origin read an answer
// of the limiter's own. They do not belong on a backend's answers: whether other
// origins may read those is the backend's decision.
func corsFields() map[string]string {
	return map[string]string{headers.AllowOrigin: "*", headers.ExposeHeaders: headers.Exposed}
}

func corsHeaders() map[string]string {
	mapped := corsFields()
	for name, value := range mapped {
		mapped[name] = "'" + value + "'"
	}
	return mapped
}
