package apigw

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
	// Parameters maps "gatewayresponse.header.NAME" to a mapping expression:
	// 'literal', in single quotes, or context.authorizer.NAME. API Gateway
	// leaves out headers whose source is missing.
	Parameters map[string]string
	// Templates maps a content type to a body. API Gateway uses only
	// application/json.
	Templates map[string]string
}

const (
	headerPrefix = "gatewayresponse.header."
	jsonTemplate = "application/json"
)

// ExposedHeaders lists the fields that scripts of another origin may read.
const ExposedHeaders = "RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Retry-After"

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
		{Type: "ACCESS_DENIED", Status: 429, Parameters: deniedHeaders(), Templates: map[string]string{jsonTemplate: deniedBody}},
		{Type: "UNAUTHORIZED", Status: 401, Parameters: corsHeaders()},
		{Type: "DEFAULT_4XX", Parameters: corsHeaders()},
		{Type: "DEFAULT_5XX", Parameters: corsHeaders()},
	}
}

func deniedHeaders() map[string]string {
	parameters := corsHeaders()
	parameters[headerPrefix+"Content-Type"] = "'application/problem+json'"
	for name, source := range map[string]string{
		"RateLimit":               contextRateLimit,
		"RateLimit-Policy":        contextRateLimitPolicy,
		"Retry-After":             contextRetryAfter,
		"X-RateLimit-Limit":       contextLimit,
		"X-RateLimit-Remaining":   contextRemaining,
		"X-RateLimit-Retry-After": contextRetryAfter,
	} {
		parameters[headerPrefix+name] = "context.authorizer." + source
	}
	return parameters
}

func corsHeaders() map[string]string {
	return map[string]string{
		headerPrefix + "Access-Control-Allow-Origin":   "'*'",
		headerPrefix + "Access-Control-Expose-Headers": "'" + ExposedHeaders + "'",
	}
}
