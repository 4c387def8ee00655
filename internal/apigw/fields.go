package apigw

import (
	"math"
	"strconv"
	"time"
)

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

// Delay returns how long a request that the authorizer let through is to be held before it goes on, from the authorizer's
// context; 0 where it may go at once.
func Delay(authorizer map[string]any) time.Duration {
	text, _ := authorizer[contextDelayMs].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}
