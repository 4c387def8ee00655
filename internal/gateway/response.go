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

// respond answers with a gateway response. The status is the response's own, else the one that API Gateway would choose.
func respond(w http.ResponseWriter, req *http.Request, r apigw.GatewayResponse, status int, authorizer map[string]any) {
	dismiss(w, req)
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

// dismiss throws away what is still to come of a request, and does not wait for it: its client is answered at once, and must not
// hold on to anything. The connection ends with it, or what comes late would be read as the next request.
func dismiss(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	connection := http.NewResponseController(w)
	_ = connection.EnableFullDuplex() // there may be no connection, in a test
	_ = connection.SetReadDeadline(time.Now().Add(restTime))
	w.Header().Set("Connection", "close")
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
