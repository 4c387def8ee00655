package apigw

import (
	"reflect"

	"github.com/slidegate/slidegate/internal/headers"
	"github.com/slidegate/slidegate/internal/receipt"
)

// contextSource precedes names of the authorizer's context in expressions.
const contextSource = "context.authorizer."

// ReceiptField is the field in which an HTTP backend gets the receipt, and
// ReceiptSource the expression that the gateway maps to it.
const (
	ReceiptField  = receipt.Header
	ReceiptSource = contextSource + "receipt"
)

// GatewayResponse is an answer that a REST API gives in place of a backend,
// with the names of API Gateway. The construct in infra deploys these answers,
// and the local gateway applies the same ones.
//
// AWS documents `$context.*` in body templates ("Gateway responses for REST
// APIs in API Gateway"). Mapping a header from context.authorizer.* works but
// is not documented; localstack/README.md has the command that checks it on an
// account. Templates do not escape values, so the context holds only plain
// ASCII without quotes.
type GatewayResponse struct {
	Type   string // "ACCESS_DENIED", "DEFAULT_4XX", …
	Status int    // 0 leaves the status that API Gateway chose
	// Headers maps names of fields to mapping expressions: 'literal', in single
	// quotes, or context.authorizer.NAME. API Gateway leaves out headers whose
	// source is missing.
	Headers map[string]string
	// Body is the template of a JSON body. Without one, API Gateway has its own.
	Body string
}

// deniedBody is the problem of a denial. Its values are in the context of every
// denial.
const deniedBody = `{"type":"$context.authorizer.problemType",` +
	`"title":"$context.authorizer.problemTitle",` +
	`"status":429,` +
	`"violated-policies":["$context.authorizer.rule"]}`

// GatewayResponses returns the responses that a REST API behind the authorizer
// needs. Each has the CORS fields, because API Gateway does not inherit them
// from the defaults.
func GatewayResponses() []GatewayResponse {
	return []GatewayResponse{
		{Type: "ACCESS_DENIED", Status: 429, Headers: deniedHeaders(), Body: deniedBody},
		{Type: "UNAUTHORIZED", Status: 401, Headers: unauthorizedHeaders()},
		{Type: "DEFAULT_4XX", Headers: corsHeaders()},
		{Type: "DEFAULT_5XX", Headers: corsHeaders()},
	}
}

func unauthorizedHeaders() map[string]string {
	mapped := corsHeaders()
	mapped["WWW-Authenticate"] = "'" + headers.InvalidToken + "'"
	return mapped
}

func deniedHeaders() map[string]string {
	mapped := corsHeaders()
	mapped["Content-Type"] = "'application/problem+json'"
	for field := range reflect.TypeFor[Context]().Fields() {
		if name := field.Tag.Get("http"); name != "" {
			mapped[name] = contextSource + nameOf(field)
		}
	}
	return mapped
}

// CORSFields returns the fields that let scripts of every origin read an answer
// of the limiter's own. They do not belong on a backend's answers: whether other
// origins may read those is the backend's decision.
func CORSFields() map[string]string {
	return map[string]string{
		headers.AllowOrigin:   "*",
		headers.ExposeHeaders: headers.Exposed,
	}
}

func corsHeaders() map[string]string {
	mapped := CORSFields()
	for name, value := range mapped {
		mapped[name] = "'" + value + "'"
	}
	return mapped
}
