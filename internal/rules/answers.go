package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/ruledoc"
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

// Denied is an answer to denied requests.
type Denied struct {
	Status      int    // never 0
	ContentType string // empty for that of problem details
	Body        string // a template, see FillBody; empty for problem details
}

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
// in an authorizer's context. They hold no quotes, backslashes or brackets.
var BodyVariables = []string{"rule", "limit", "remaining", "reset", "retryAfter", "degraded", "problemType", "problemTitle"}

var bodyVariable = ruledoc.Regexp(`\{[A-Za-z]+\}`)

// FillBody substitutes the variables of a body. One without a value is empty.
func FillBody(body string, value func(name string) string) string {
	return bodyVariable().ReplaceAllStringFunc(body, func(v string) string { return value(v[1 : len(v)-1]) })
}

const (
	leastJitter = time.Second
	mostJitter  = time.Hour
	longestBody = 2048 // bytes: it is in the context of every denial
)

var (
	mediaType = ruledoc.Regexp(`^[!#$%&'*+.^_|~0-9A-Za-z-]+/[!#$%&'*+.^_|~0-9A-Za-z-]+( *; *[!#$%&'*+.^_|~0-9A-Za-z-]+=[!#$%&'*+.^_|~0-9A-Za-z-]+)*$`)
	plainText = ruledoc.Regexp(`^[\t\n\r -~]*$`)
)

// answers compiles what clients learn of decisions.
func (c *compiler) answers(d *ruledoc.Document) Answers {
	a := Answers{Fields: Fields(indexOf(fieldNames, d.Headers))}
	if d.RetryJitter != "" {
		jitter, ok := ruledoc.ParseDuration(d.RetryJitter)
		if !ok || jitter < leastJitter || jitter > mostJitter || jitter%time.Second != 0 {
			c.fail("retry_jitter", "%q is no time from 1s to 1h in whole seconds: write one such as 10s", d.RetryJitter)
		}
		a.RetryJitter = jitter
	}
	if d.Denied != nil {
		a.Denied = c.denied("denied", d.Denied)
	}
	return a
}

func (c *compiler) denied(path string, d *ruledoc.Denied) *Denied {
	switch {
	case *d == (ruledoc.Denied{}):
		c.fail(path, "is empty: write a status, or a content_type and a body, or remove it")
	case d.Body != "" && d.ContentType == "":
		c.fail(path, "has a body of unknown type: write content_type: application/json, or another type")
	case d.ContentType != "" && !mediaType().MatchString(d.ContentType):
		c.fail(path+".content_type", "%q is no media type: write one such as application/json or text/html; charset=utf-8", d.ContentType)
	case len(d.Body) > longestBody:
		c.fail(path+".body", "has %d bytes: the most is %d", len(d.Body), longestBody)
	case !plainText().MatchString(d.Body):
		c.fail(path+".body", "has other characters than plain ASCII: write them as \\u00e9 in JSON, or as &eacute; in HTML")
	}
	for _, v := range bodyVariable().FindAllString(d.Body, -1) {
		if !slices.Contains(BodyVariables, v[1:len(v)-1]) {
			c.fail(path+".body", "unknown value %s: there are {%s}", v, strings.Join(BodyVariables, "}, {"))
			break
		}
	}
	return &Denied{Status: int(d.Status), ContentType: d.ContentType, Body: d.Body}
}
