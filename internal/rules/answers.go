package rules

import (
	"time"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Answers say what clients learn of decisions. The zero value stands for the
// fields of Usual, the true wait, and problem details with status 429.
type Answers struct {
	Fields Fields
	// RetryJitter bounds the random time by which a denial's wait exceeds the
	// true one. It is whole seconds.
	RetryJitter time.Duration
	// Denied is the answer to denied requests, nil for problem details with
	// status 429. Its empty fields have those values.
	Denied *Denied
}

// Denied is an answer to denied requests. Its Status is never 0. Other fields that
// are empty are those of problem details. Body and Detail are templates, see
// FillBody.
type Denied = ruledoc.Denied

// Fields are the fields of limits that answers have.
type Fields uint8

// The values of headers in documents. Usual stands for none.
const (
	// Usual are those without headers: RateLimit, RateLimit-Policy,
	// X-RateLimit-Limit and X-RateLimit-Remaining.
	Usual Fields = iota
	StandardFields
	LegacyFields
	BothFields
	NoFields
)

var fieldNames = []string{Usual: "", StandardFields: "standard", LegacyFields: "legacy", BothFields: "both", NoFields: "off"}

// Standard reports whether answers have RateLimit and RateLimit-Policy.
func (f Fields) Standard() bool { return f == Usual || f == StandardFields || f == BothFields }

// Legacy reports whether answers have X-RateLimit-Limit, X-RateLimit-Remaining
// and X-RateLimit-Retry-After.
func (f Fields) Legacy() bool { return f == Usual || f == LegacyFields || f == BothFields }

// Reset reports whether answers have X-RateLimit-Reset.
func (f Fields) Reset() bool { return f == LegacyFields || f == BothFields }

// BodyVariables are the values of a denial that a body may have, by their names
// in an authorizer's context. They hold no double quotes, backslashes or angle
// brackets. A detail may have all but the last one, which is itself.
var BodyVariables = []string{"rule", "limit", "remaining", "reset", "retryAfter", "degraded", "problemType", "problemTitle", "problemDetail"}

var bodyVariable = ruledoc.Regexp(`\{[A-Za-z_]+\}`)

// FillBody substitutes the variables of a body. One without a value is empty.
func FillBody(body string, value func(name string) string) string {
	return bodyVariable().ReplaceAllStringFunc(body, func(v string) string { return value(v[1 : len(v)-1]) })
}
