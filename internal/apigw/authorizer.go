package apigw

import (
	"context"
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

// Authorizer answers API Gateway's authorizer events. The gateway must not
// cache its answers (TTL 0), so that every request counts.
type Authorizer struct {
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

// HandleRequest answers the event of a REST API's REQUEST authorizer. It fails
// if the event has another form than AWS documents, or if there are no rules.
// The Lambda runtime logs the error, and API Gateway answers with status 500.
// ErrUnauthorized is the answer to invalid credentials that no rule denies.
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
	now := a.now()
	if a.callers != nil {
		if err := a.callers.Authenticate(ctx, now, req); err != nil {
			return Response{}, nil, err
		}
	}
	d, err := a.engine.Decide(ctx, now, req)
	if err != nil {
		return Response{}, nil, err
	}
	if d.Allowed && req.Rejected && d.Reason != engine.Preflight {
		return Response{}, nil, ErrUnauthorized // charged, so that guessing is limited
	}
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
		Context: decisionContext(d),
	}, d, nil
}

// Finish corrects the charge of an allowed request by its outcome.
func (a *Authorizer) Finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	a.engine.Finish(ctx, a.now(), d, o)
}
