package apigw

import (
	"math"
	"strconv"
	"time"
)

// limitFields maps the fields of limits to the names of their values in the
// context.
var limitFields = map[string]string{
	"RateLimit":             contextRateLimit,
	"RateLimit-Policy":      contextRateLimitPolicy,
	"X-RateLimit-Limit":     contextLimit,
	"X-RateLimit-Remaining": contextRemaining,
}

// AllowedFields returns the fields that a backend adds to its answer, from the
// authorizer's context. API Gateway adds none itself.
func AllowedFields(authorizer map[string]any) map[string]string {
	fields := map[string]string{
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": ExposedHeaders,
	}
	for field, name := range limitFields {
		if value, ok := authorizer[name].(string); ok && value != "" {
			fields[field] = value
		}
	}
	return fields
}

// Delay returns the delay of an allowed request from the authorizer's context;
// 0 if it has none.
func Delay(authorizer map[string]any) time.Duration {
	text, _ := authorizer[contextDelayMs].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}
