package apigw

import (
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/graphql"
)

// appSyncAnswer has the JSON of events.AppSyncLambdaAuthorizerResponse.
type appSyncAnswer struct {
	IsAuthorized    bool     `json:"isAuthorized"`
	ResolverContext *Context `json:"resolverContext"`
	TTLOverride     *int     `json:"ttlOverride"`
}

// readAppSync reads the event of a GraphQL API's authorizer. It follows
// "Configuring authorization and authentication to secure your GraphQL APIs" in
// the AWS documentation, section "AWS_LAMBDA authorization". AppSync stands behind CloudFront, and no field
// holds an address: the last one in X-Forwarded-For is CloudFront's, and the one
// before it the client's.
func readAppSync(ev *event) *request.Request {
	req := &request.Request{Method: "POST", Path: "/graphql", Headers: several(nil, ev.RequestHeaders)}
	if req.Headers == nil {
		req.Headers = map[string][]string{}
	}
	if len(req.Header("authorization")) == 0 {
		req.Headers["authorization"] = []string{ev.token()}
	}
	req.Missing = &request.Missing{
		Event:   "the event of an AppSync authorizer",
		Instead: "set client_ip: {trusted_hops: 1} for the client's address, or use rules without it",
		Peer:    true, Query: true, PathParams: true,
	}
	// Neither a connection for subscriptions nor an empty query runs an operation.
	if about := &ev.RequestContext; about.Query != nil && *about.Query != "" {
		req.Operation = graphql.Read(*about.Query, about.Operation)
	}
	req.IP = req.LastForwarded()
	req.Missing.Address = !req.IP.IsValid()
	return req
}
