package attach

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// responses returns the gateway responses that an API needs and lacks.
func responses(api *apis.API) []Response {
	all := []Response{}
	for _, wanted := range apigw.GatewayResponses() {
		has := api.Responses[wanted.Type]
		r := Response{Type: wanted.Type, After: merge(has, wanted)}
		if has.Own {
			r.Before = &has
		}
		if !has.Own || wanted.Differences(has.Status, has.Headers(), has.Templates) != nil {
			all = append(all, r)
		}
	}
	return all
}

// ownBody is API Gateway's own body, which it gives a response without one.
const ownBody = `{"message":$context.error.messageString}`

// merge returns a response that has all of wanted, and keeps what else it has: its
// values of fields that do not come from the limiter, such as one origin, and its
// body. A type that the API does not state has what it inherits from a default.
func merge(has apis.Response, wanted apigw.GatewayResponse) *apis.Response {
	after := &apis.Response{Parameters: map[string]string{}, Templates: maps.Clone(has.Templates)}
	if has.Own {
		after.Status = has.Status
	}
	if wanted.Status != 0 {
		after.Status = strconv.Itoa(wanted.Status)
	}
	names := map[string]string{} // of the fields that it has
	for name, expression := range has.Parameters {
		after.Parameters[name] = expression
		names[http.CanonicalHeaderKey(strings.TrimPrefix(name, apigw.ResponseField))] = name
	}
	for name, expression := range wanted.Headers {
		own, ok := names[http.CanonicalHeaderKey(name)]
		if literal := strings.HasPrefix(expression, "'"); ok && literal {
			continue
		}
		delete(after.Parameters, own)
		after.Parameters[apigw.ResponseField+name] = expression
	}
	switch {
	case wanted.Body != "":
		after.Templates = map[string]string{"application/json": wanted.Body}
	case len(after.Templates) == 0:
		after.Templates = map[string]string{"application/json": ownBody}
	}
	return after
}
