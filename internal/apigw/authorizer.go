package apigw

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// ErrUnauthorized is the error by which an authorizer has API Gateway answer
// 401. API Gateway compares its text.
var ErrUnauthorized = errors.New("Unauthorized")

// Authenticator adds to a request what its credentials prove. It fails if it
// cannot tell, and the request must not go on.
type Authenticator interface {
	Authenticate(ctx context.Context, now time.Time, r *request.Request) error
}

// Response is an authorizer's answer: a policy, with the decision as context.
type Response = events.APIGatewayCustomAuthorizerResponse

// Authorizer answers the events of Lambda authorizers. The gateway must not
// cache its answers (TTL 0), so that every request counts.
type Authorizer struct {
	// Policies answers version 2.0 events of HTTP APIs by an IAM policy. Without
	// it they get a simple response. Set it before the first event to match the
	// gateway's setting enableSimpleResponses, which no event tells.
	Policies bool

	engine  *engine.Engine
	callers Authenticator // nil leaves all callers anonymous
	now     func() time.Time
}

// NewAuthorizer returns an authorizer that leaves all callers anonymous. now is
// the time of each decision.
func NewAuthorizer(e *engine.Engine, now func() time.Time) *Authorizer {
	return &Authorizer{engine: e, now: now}
}

// WithAuthenticator returns an authorizer like a that verifies callers.
func (a *Authorizer) WithAuthenticator(callers Authenticator) *Authorizer {
	verifying := *a
	verifying.callers = callers
	return &verifying
}

// Handle answers an event of any kind of Lambda authorizer: REQUEST and TOKEN of
// REST APIs, both payload versions of HTTP APIs, WebSocket APIs, and AppSync. It
// finds the kind from the event. It fails if the event has another form than AWS
// documents, if a rule reads what the event lacks, or if there are no rules. The
// Lambda runtime logs the error. The gateway then answers 500, AppSync 401.
// ErrUnauthorized is the answer to invalid credentials that no rule denies.
func (a *Authorizer) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	c, err := a.read(event)
	if err != nil {
		return nil, err
	}
	d, err := a.DecideRequest(ctx, c.request)
	if err != nil {
		return nil, err
	}
	return c.answer(d), nil
}

// HandleRequest is Handle for the event of a REST API's REQUEST authorizer.
func (a *Authorizer) HandleRequest(ctx context.Context, ev RequestEvent) (Response, error) {
	answer, _, err := a.Decide(ctx, ev)
	return answer, err
}

// Decide is HandleRequest for a gateway that sees the backend's answer. The
// gateway must pass the decision and the outcome to Finish, if there is no error.
func (a *Authorizer) Decide(ctx context.Context, ev RequestEvent) (Response, *engine.Decision, error) {
	req, err := readRequest(&ev)
	if err != nil {
		return Response{}, nil, err
	}
	resource, err := stageARN(ev.MethodArn)
	if err != nil {
		return Response{}, nil, err
	}
	d, err := a.DecideRequest(ctx, req)
	if err != nil {
		return Response{}, nil, err
	}
	return policyAnswer(d, resource), d, nil
}

// DecideRequest verifies the caller of a request, and decides it. Invalid
// credentials are charged, so that guessing is limited. ErrUnauthorized says that
// no rule denies them.
func (a *Authorizer) DecideRequest(ctx context.Context, req *request.Request) (*engine.Decision, error) {
	now := a.now()
	if a.callers != nil {
		if err := a.callers.Authenticate(ctx, now, req); err != nil {
			return nil, err
		}
	}
	d, err := a.engine.Decide(ctx, now, req)
	if err != nil {
		return nil, err
	}
	if d.Allowed && req.Rejected && d.Reason != engine.Preflight {
		return nil, ErrUnauthorized
	}
	return d, nil
}

// policyAnswer returns a decision as an IAM policy for a resource.
func policyAnswer(d *engine.Decision, resource string) Response {
	effect := "Deny"
	if d.Allowed {
		effect = "Allow"
	}
	return Response{
		PrincipalID: "slidegate", // whoever the caller is: the context names the rule
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{resource},
			}},
		},
		Context: contextOf(d),
	}
}

// Finish corrects the charge of an allowed request by its outcome.
func (a *Authorizer) Finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	a.engine.Finish(ctx, a.now(), d, o)
}
