package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Retry-After has whole seconds, so a jitter below one would not show.
const (
	leastJitter = time.Second
	mostJitter  = time.Hour
	longestBody = 2048 // bytes: it is in the context of every denial
)

// mediaType is the form of a Content-Type (RFC 9110, section 8.3.1). plainText is
// ASCII, which means the same in every charset that a Content-Type may name.
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
			c.fail(problem.Root("retry_jitter"), problem.Malformed, strconv.Quote(d.RetryJitter), "time from 1s to 1h in whole seconds", "one such as 10s")
		}
		a.RetryJitter = jitter
	}
	if a.Denied = d.Denied; d.Denied != nil {
		c.denied(problem.Root("denied"), d.Denied)
	}
	return a
}

// denied checks the answer to denied requests. It reports one mistake of its
// fields at most, and one unknown variable of its body.
func (c *compiler) denied(path problem.Path, d *ruledoc.Denied) {
	switch {
	case *d == (ruledoc.Denied{}):
		c.fail(path, problem.Empty, "a status, or a content_type and a body, or remove it")
	case d.Body != "" && d.ContentType == "":
		c.fail(path, problem.Instead, "has a body of unknown type", "content_type: application/json, or another type")
	case d.ContentType != "" && !mediaType().MatchString(d.ContentType):
		c.fail(path.To("content_type"), problem.Malformed, strconv.Quote(d.ContentType), "media type", "one such as application/json or text/html; charset=utf-8")
	case len(d.Body) > longestBody:
		c.fail(path.To("body"), problem.TooLong, len(d.Body), longestBody)
	case !plainText().MatchString(d.Body):
		c.fail(path.To("body"), problem.Instead, "has other characters than plain ASCII", `them as \u00e9 in JSON, or as &eacute; in HTML`)
	}
	for _, v := range bodyVariable().FindAllString(d.Body, -1) {
		if !slices.Contains(BodyVariables, v[1:len(v)-1]) {
			c.fail(path.To("body"), problem.UnknownWord, v, "there are {"+strings.Join(BodyVariables, "}, {")+"}")
			break
		}
	}
}
