package apigw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
)

// ErrUnauthorized is the error that makes API Gateway answer 401. API Gateway
// compares its text.
var ErrUnauthorized = errors.New("Unauthorized")

// Response is an authorizer's answer: a policy, with the decision as context. Its
// JSON is that of events.APIGatewayCustomAuthorizerResponse.
type Response struct {
	PrincipalID        string                                  `json:"principalId"`
	PolicyDocument     events.APIGatewayCustomAuthorizerPolicy `json:"policyDocument"`
	Context            *Context                                `json:"context"`
	UsageIdentifierKey string                                  `json:"usageIdentifierKey,omitempty"`
}

// Authorizer answers the events of Lambda authorizers. The gateway must not
// cache its answers (TTL 0), so that every request counts.
type Authorizer struct {
	engine.Decider
	// Policies answers version 2.0 events of HTTP APIs by an IAM policy. Without
	// it they get a simple response. Set it before the first event to match the
	// gateway's setting enableSimpleResponses, which no event tells.
	Policies bool
	// PassDenials lets denied requests of HTTP APIs through to the backend, which
	// must answer them as Context.Denial says. An HTTP API itself answers 403, whatever
	// the authorizer's context holds. Gateways of other kinds deny all the same.
	PassDenials bool
	// Receipts adds to the context what a backend settles an allowed request by;
	// nil adds nothing.
	Receipts *receipt.Issuer
	// Log names the claims that are not passed on to backends, and rules that read
	// GraphQL operations where events have none. It should be throttled by the
	// attribute claim; nil logs nothing.
	Log *slog.Logger

	warned atomic.Pointer[rules.Set] // of GraphQL operations
}

// NewAuthorizer returns an authorizer that leaves all callers anonymous. now is
// the time of each decision.
func NewAuthorizer(e *engine.Engine, now func() time.Time) *Authorizer {
	return &Authorizer{Decider: engine.Decider{Engine: e, Now: now}}
}

// Handle answers an event of any kind of Lambda authorizer: REQUEST and TOKEN of
// REST APIs, both payload versions of HTTP APIs, WebSocket APIs, and AppSync. It
// finds the kind from the event. It fails if the event has another form than AWS
// documents, if a rule reads what the event lacks, or if there are no rules. The
// Lambda runtime logs the error. The gateway then answers 500, AppSync 401.
// ErrUnauthorized is the answer to invalid or missing credentials that no rule
// denies, except for HTTP APIs, which get a denial: AWS documents no such error
// for them.
func (a *Authorizer) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	c, err := a.read(event)
	if err != nil {
		return nil, err
	}
	d, err := a.DecideRequest(ctx, c.request)
	if err == nil && c.request.NoOperation {
		a.warnOfOperation(d.Rules())
	}
	switch {
	case errors.Is(err, engine.ErrUnauthorized) && c.http:
		return c.answer(a.deny(&c, decisionContext(&headers.Answer{Problem: headers.Unauthorized}))), nil
	case errors.Is(err, engine.ErrUnauthorized):
		return nil, ErrUnauthorized
	case err != nil:
		return nil, err
	case !d.Allowed:
		r := a.deny(&c, contextFor(d))
		r.principal = d.Rules().Principal(c.request)
		return c.answer(r), nil
	}
	return c.answer(a.allow(ctx, d, c.request)), nil
}

// warnOfOperation warns once of each document that reads GraphQL operations. Only
// an event tells that the Lambda has other APIs than AppSync's.
func (a *Authorizer) warnOfOperation(set *rules.Set) {
	if a.Log != nil && a.warned.Swap(set) != set {
		lint.WarnOfOperation(a.Log, fmt.Sprint("version ", set.Version), set)
	}
}

// allow returns the reply to an allowed request.
func (a *Authorizer) allow(ctx context.Context, d *engine.Decision, req *request.Request) reply {
	about, of := contextFor(d), d.Rules()
	if a.Receipts != nil {
		about.Receipt = a.Receipts.Issue(a.Now(), d)
	}
	about.pass(of.PassClaims, req, func(name, why string) {
		if a.Log != nil {
			a.Log.WarnContext(ctx, "a claim is not passed on to the backend", "claim", name, "reason", why)
		}
	})
	return reply{passes: true, context: about, usageKey: of.UsageIdentifierKey(req), principal: of.Principal(req)}
}

// deny returns the reply to a denied request. On HTTP APIs it may pass, and the
// backend answers it by the context.
func (a *Authorizer) deny(c *call, about *Context) reply {
	passes := c.http && a.PassDenials
	if passes && a.Receipts != nil {
		denial, fields, _ := about.denial()
		about.Receipt = a.Receipts.Denied(&receipt.Denial{Status: denial.Status, Fields: fields, Body: denial.Body})
	}
	return reply{passes: passes, context: about}
}

// maxPrincipal is the longest subject in bytes that OpenID Connect allows.
const maxPrincipal = 255

// policy returns an IAM policy that lets a request pass to a resource, or not.
func policy(resource string, r reply) Response {
	all := &struct {
		statement        [1]events.IAMPolicyStatement
		action, resource [1]string
	}{action: [1]string{"execute-api:Invoke"}, resource: [1]string{resource}}
	all.statement[0] = events.IAMPolicyStatement{Effect: "Deny", Action: all.action[:], Resource: all.resource[:]}
	if r.passes {
		all.statement[0].Effect = "Allow"
	}
	if r.principal == "" || len(r.principal) > maxPrincipal {
		r.principal = "slidegate" // of all callers without a subject
	}
	return Response{
		PrincipalID:        r.principal,
		PolicyDocument:     events.APIGatewayCustomAuthorizerPolicy{Version: "2012-10-17", Statement: all.statement[:]},
		Context:            r.context,
		UsageIdentifierKey: r.usageKey,
	}
}
