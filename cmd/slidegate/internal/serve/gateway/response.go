package gateway

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// contextPrefix precedes names of the authorizer's context in expressions.
const contextPrefix = "context.authorizer."

var variable = regexp.MustCompile(`\$context\.authorizer\.(\w+)`)

// respond answers with the gateway response of a type. One without a status is
// for failures of the authorizer.
func (g *gateway) respond(w http.ResponseWriter, req *http.Request, kind string, c *apigw.Context) {
	discardRest(w, req)
	r, authorizer := g.responses[kind], c.Map()
	status := cmp.Or(r.Status, http.StatusInternalServerError)
	w.Header().Set("Content-Type", "application/json")
	for name, expression := range r.Headers {
		if value := evaluate(expression, authorizer); value != "" {
			w.Header()[name] = []string{value}
		}
	}
	body := r.Body
	if body == "" { // API Gateway's own
		body = fmt.Sprintf(`{"message":%q}`, http.StatusText(status))
	}
	body = fill(body, authorizer)
	if own, ok := c.OwnDenial(); ok { // unlike a REST API
		w.Header().Set("Content-Type", own.ContentType)
		status, body = own.Status, own.Body
	} else if kind == "ACCESS_DENIED" && headers.WantsPage(req.Header) { // likewise
		w.Header().Set("Content-Type", headers.PageType)
		body = headers.Page(status, headers.Problem{Type: c.ProblemType, Title: c.ProblemTitle}, c.RetryAfter)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the client may have hung up
}

// discardRest discards the rest of a request without waiting for it, so that a
// denied client holds no resources. The connection closes after the answer:
// otherwise the rest would be read as the next request.
func discardRest(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	connection := http.NewResponseController(w)
	_ = connection.EnableFullDuplex() // in tests there may be no connection
	_ = connection.SetReadDeadline(time.Now().Add(restTime))
	w.Header().Set("Connection", "close")
}

// evaluate returns the value of a mapping expression, "" if its source is
// missing.
func evaluate(expression string, authorizer map[string]any) string {
	if literal, quoted := strings.CutPrefix(expression, "'"); quoted {
		return strings.TrimSuffix(literal, "'")
	}
	value, _ := authorizer[strings.TrimPrefix(expression, contextPrefix)].(string)
	return value
}

// fill substitutes the variables of a template. Like API Gateway, it does not
// escape them.
func fill(template string, authorizer map[string]any) string {
	return variable.ReplaceAllStringFunc(template, func(v string) string {
		value, _ := authorizer[strings.TrimPrefix(v, "$"+contextPrefix)].(string)
		return value
	})
}
