package apigw

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/headers"
)

// Response is an authorizer's answer: a policy, with the decision as context.
type Response = events.APIGatewayCustomAuthorizerResponse

// Authorizer answers API Gateway's authorizer events. The gateway must not
// cache its answers (TTL 0), so that every request counts.
type Authorizer struct {
	engine *engine.Engine
	now    func() time.Time
}

// NewAuthorizer returns an authorizer. now is the time of each decision.
func NewAuthorizer(e *engine.Engine, now func() time.Time) *Authorizer { return &Authorizer{e, now} }

// HandleRequest answers the event of a REST API's REQUEST authorizer. It fails
// if the event has another form than AWS documents, or if there are no rules.
// The Lambda runtime logs the error, and API Gateway answers with status 500.
func (a *Authorizer) HandleRequest(ctx context.Context, ev RequestEvent) (Response, error) {
	answer, _, err := a.Decide(ctx, ev)
	return answer, err
}

// Decide is HandleRequest for a gateway that sees the backend's answer. The
// gateway must pass the decision and the outcome to Finish.
func (a *Authorizer) Decide(ctx context.Context, ev RequestEvent) (Response, *engine.Decision, error) {
	req, err := readRequest(&ev)
	if err != nil {
		return Response{}, nil, err
	}
	resource, err := stageARN(ev.MethodArn)
	if err != nil {
		return Response{}, nil, err
	}
	d, err := a.engine.Decide(ctx, a.now(), req)
	if err != nil {
		return Response{}, nil, err
	}
	described := headers.Describe(d)
	effect := "Deny"
	if d.Allowed {
		effect = "Allow"
	}
	return Response{
		PrincipalID: "slidegate", // the limiter does not authenticate callers
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{{
				Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{resource},
			}},
		},
		Context: decisionContext(&described),
	}, d, nil
}

// Finish corrects the charge of an allowed request by its outcome.
func (a *Authorizer) Finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	a.engine.Finish(ctx, a.now(), d, o)
}
