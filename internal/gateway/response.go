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

// defaultBody is what API Gateway says where a gateway response has no template.
const defaultBody = `{"message":%q}`

var variable = regexp.MustCompile(`\$context\.authorizer\.(\w+)`)

// respond answers with a gateway response. The status is the response's own, else the one that API Gateway would choose. What
// is still to come of the request is thrown away, but not waited for: a refused client must not hold on to anything.
func respond(w http.ResponseWriter, r apigw.GatewayResponse, status int, authorizer map[string]any) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // there may be no connection, in a test
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
	_, _ = io.WriteString(w, fill(body, authorizer)) // a client that has gone does not matter
}

// evaluate returns what a mapping expression stands for; a header whose source is missing is left out.
func evaluate(expression string, authorizer map[string]any) (value string, ok bool) {
	if literal, quoted := strings.CutPrefix(expression, "'"); quoted {
		return strings.TrimSuffix(literal, "'"), true
	}
	value, ok = authorizer[strings.TrimPrefix(expression, contextPrefix)].(string)
	return value, ok && value != ""
}

// fill substitutes the variables of a template, without escaping: so does API Gateway.
func fill(template string, authorizer map[string]any) string {
	return variable.ReplaceAllStringFunc(template, func(v string) string {
		value, _ := authorizer[strings.TrimPrefix(v, "$"+contextPrefix)].(string)
		return value
	})
}
