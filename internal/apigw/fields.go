package apigw

// AllowedFields returns the response fields that a backend adds to an answer that the authorizer let through, from the
// authorizer's context: API Gateway adds none of its own to what a backend says.
func AllowedFields(authorizer map[string]any) map[string]string {
	fields := map[string]string{
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": ExposedHeaders,
	}
	for field, name := range map[string]string{
		"RateLimit":             contextRateLimit,
		"RateLimit-Policy":      contextRateLimitPolicy,
		"X-RateLimit-Limit":     contextLimit,
		"X-RateLimit-Remaining": contextRemaining,
	} {
		if value, ok := authorizer[name].(string); ok && value != "" {
			fields[field] = value
		}
	}
	return fields
}
