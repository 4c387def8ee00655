package apigw

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

var missingInToken = &request.Missing{
	Event:   "the event of a TOKEN authorizer",
	Instead: "use an authorizer of type REQUEST, or rules without it",
	Address: true, Headers: true, Query: true, PathParams: true,
}

// readToken reads the event of a REST API's TOKEN authorizer. It follows "Input to
// an API Gateway Lambda authorizer" in the AWS documentation, and holds no more
// than a token and the method's ARN. It reads the method, the stage and the path from the ARN, which has no
// base path. The token counts as the header Authorization, from which it is
// unless the authorizer names another token source.
func readToken(ev *event) (*request.Request, error) {
	parts := strings.SplitN(ev.MethodARN, "/", 4)
	if len(parts) < 3 || !request.IsMethod(parts[2]) {
		return nil, fmt.Errorf("event's methodArn names no method: want %s", methodARNForm)
	}
	path := "/"
	if len(parts) == 4 {
		path += parts[3]
	}
	return &request.Request{
		Method:  parts[2],
		Path:    path,
		Stage:   parts[1],
		Headers: map[string][]string{"Authorization": {ev.token()}},
		Missing: missingInToken, NoOperation: true,
	}, nil
}
