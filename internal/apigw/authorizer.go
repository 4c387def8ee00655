package apigw

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/engine"
)

// principal is the policy's principal: the limiter authenticates nobody.
const principal = "slidegate"

// Response is an authorizer's answer: a policy and the decision as its context.
type Response = events.APIGatewayCustomAuthorizerResponse

// Authorizer answers API Gateway's authorizer events. Results must not be cached by the gateway (TTL 0): each request
// is to be counted.
type Authorizer struct {
	engine *engine.Engine
	now    func() time.Time
}

// NewAuthorizer returns an authorizer that decides by the engine at the moments of the clock.
func NewAuthorizer(e *engine.Engine, now func() time.Time) *Authorizer { return &Authorizer{e, now} }

// HandleRequest answers a REST API's REQUEST authorizer event. An error makes API Gateway answer 500: the event is not
// what AWS documents, or there are no rules to judge by.
func (a *Authorizer) HandleRequest(ctx context.Context, ev RequestEvent) (Response, error) {
	answer, _, err := a.Decide(ctx, ev)
	return answer, err
}

// Decide is HandleRequest for a gateway that sees what becomes of the request: it is to tell Finish, with the decision.
func (a *Authorizer) Decide(ctx context.Context, ev RequestEvent) (Response, *engine.Decision, error) {
	resource, err := stageARN(ev.MethodArn)
	if err != nil {
		return Response{}, nil, err
	}
	req, err := request(&ev)
	if err != nil {
		return Response{}, nil, err
	}
	d, err := a.engine.Decide(ctx, a.now(), req)
	if err != nil {
		return Response{}, nil, err
	}
	return Response{
		PrincipalID:    principal,
		PolicyDocument: policy(d.Allowed, resource),
		Context:        decisionContext(d),
	}, d, nil
}

// Finish corrects what an allowed request was charged, once its outcome is known.
func (a *Authorizer) Finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	a.engine.Finish(ctx, a.now(), d, o)
}

func policy(allowed bool, resource string) events.APIGatewayCustomAuthorizerPolicy {
	effect := "Deny"
	if allowed {
		effect = "Allow"
	}
	return events.APIGatewayCustomAuthorizerPolicy{
		Version: "2012-10-17",
		Statement: []events.IAMPolicyStatement{{
			Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{resource},
		}},
	}
}
