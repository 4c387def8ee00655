package gateway

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
)

const (
	headerPrefix  = "gatewayresponse.header."
	contextPrefix = "context.authorizer."
)

// defaultBody is API Gateway's body for a gateway response without a template.
const defaultBody = `{"message":%q}`

var variable = regexp.MustCompile(`\$context\.authorizer\.(\w+)`)

// respond answers with a gateway response. status applies if the response has
// none of its own.
func respond(w http.ResponseWriter, req *http.Request, r apigw.GatewayResponse, status int, authorizer map[string]any) {
	discardRest(w, req)
	if r.Status != 0 {
		status = r.Status
	}
	w.Header().Set("Content-Type", "application/json")
	for parameter, expression := range r.Parameters {
		if value, ok := evaluate(expression, authorizer); ok {
			w.Header()[strings.TrimPrefix(parameter, headerPrefix)] = []string{value}
		}
	}
	w.WriteHeader(status)
	body, ok := r.Templates["application/json"]
	if !ok {
		body = fmt.Sprintf(defaultBody, http.StatusText(status))
	}
	_, _ = io.WriteString(w, fill(body, authorizer)) // the client may have hung up
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

// evaluate returns the value of a mapping expression; ok is false if its source
// is missing.
func evaluate(expression string, authorizer map[string]any) (value string, ok bool) {
	if literal, quoted := strings.CutPrefix(expression, "'"); quoted {
		return strings.TrimSuffix(literal, "'"), true
	}
	value, ok = authorizer[strings.TrimPrefix(expression, contextPrefix)].(string)
	return value, ok && value != ""
}

// fill substitutes the variables of a template. Like API Gateway, it does not
// escape them.
func fill(template string, authorizer map[string]any) string {
	return variable.ReplaceAllStringFunc(template, func(v string) string {
		value, _ := authorizer[strings.TrimPrefix(v, "$"+contextPrefix)].(string)
		return value
	})
}
