package apigw

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/request"
)

// errUnverified is the error about a request that needs a known caller, while
// nothing can verify its credentials. A 401 would have clients drop valid ones.
var errUnverified = errors.New("authentication.required covers the request, and its credentials cannot be verified now")

// ErrUnauthorized is the error by which an authorizer has API Gateway answer
// 401. API Gateway compares its text.
var ErrUnauthorized = errors.New("Unauthorized")

// Authenticator adds to a request what its credentials prove. It fails if it
// cannot tell, and the request must not go on.
type Authenticator interface {
	Authenticate(ctx context.Context, now time.Time, r *request.Request) error
}

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
	// Policies answers version 2.0 events of HTTP APIs by an IAM policy. Without
	// it they get a simple response. Set it before the first event to match the
	// gateway's setting enableSimpleResponses, which no event tells.
	Policies bool
	// PassDenials has HTTP APIs let denied requests through to the backend, which
	// must answer them as Context.Denial says. An HTTP API itself answers 403, whatever
	// the authorizer's context holds. Gateways of other kinds deny all the same.
	PassDenials bool
	// Receipts adds to the context what a backend settles an allowed request by;
	// nil adds nothing.
	Receipts *receipt.Issuer
	// Log names the claims that are not passed on to backends. It should be
	// throttled by the attribute claim; nil logs nothing.
	Log *slog.Logger
	// Rejected is called for each request that no rule denies and that is refused
	// for its credentials; nil for no call.
	Rejected func()

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
// ErrUnauthorized is the answer to invalid or missing credentials that no rule
// denies, except for HTTP APIs, which get a denial: AWS documents no such error
// for them.
func (a *Authorizer) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	c, err := a.read(event)
	if err != nil {
		return nil, err
	}
	now := a.now()
	d, err := a.decide(ctx, now, c.request)
	switch {
	case errors.Is(err, ErrUnauthorized) && c.http:
		return c.answer(a.deny(&c, unauthorizedContext())), nil
	case err != nil:
		return nil, err
	case !d.Allowed:
		r := a.deny(&c, contextFor(d))
		r.principal = d.Rules().Principal(c.request)
		return c.answer(r), nil
	}
	return c.answer(a.allow(ctx, now, d, c.request)), nil
}

// allow returns the reply to an allowed request.
func (a *Authorizer) allow(ctx context.Context, now time.Time, d *engine.Decision, req *request.Request) reply {
	about, of := contextFor(d), d.Rules()
	if a.Receipts != nil {
		about.Receipt = a.Receipts.Issue(now, d)
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

// Decide is Handle for the event of a REST API's REQUEST authorizer. A gateway
// that sees the backend's answer must pass the decision and the outcome to
// Finish, if there is no error.
func (a *Authorizer) Decide(ctx context.Context, ev RequestEvent) (Response, *engine.Decision, error) {
	req, err := readRequest(eventOf(&ev))
	if err != nil {
		return Response{}, nil, err
	}
	resource, err := stageARN(ev.MethodArn)
	if err != nil {
		return Response{}, nil, err
	}
	now := a.now()
	d, err := a.decide(ctx, now, req)
	if err != nil {
		return Response{}, nil, err
	}
	if !d.Allowed {
		return policy(resource, reply{context: contextFor(d)}), d, nil
	}
	return policy(resource, a.allow(ctx, now, d, req)), d, nil
}

// DecideRequest verifies the caller of a request, and decides it. Invalid and
// missing credentials are charged, so that guessing is limited. ErrUnauthorized says
// that no rule denies them.
func (a *Authorizer) DecideRequest(ctx context.Context, req *request.Request) (*engine.Decision, error) {
	return a.decide(ctx, a.now(), req)
}

// Authenticate adds to a request what its credentials prove, and decides nothing.
func (a *Authorizer) Authenticate(ctx context.Context, req *request.Request) error {
	if a.callers == nil {
		return nil
	}
	return a.callers.Authenticate(ctx, a.now(), req)
}

func (a *Authorizer) decide(ctx context.Context, now time.Time, req *request.Request) (*engine.Decision, error) {
	if a.callers != nil {
		if err := a.callers.Authenticate(ctx, now, req); err != nil {
			return nil, err
		}
	}
	d, err := a.engine.Decide(ctx, now, req)
	if err != nil {
		return nil, err
	}
	if err := refusal(d, req); err != nil {
		if a.Rejected != nil {
			a.Rejected()
		}
		return nil, err
	}
	return d, nil
}

// refusal returns why a request that is not denied is refused all the same; nil
// if it is not.
func refusal(d *engine.Decision, req *request.Request) error {
	missing := d.Rules().LacksCaller(req)
	switch {
	case !d.Allowed || req.IsPreflight():
	case missing && req.Unverified:
		return errUnverified
	case missing || req.Rejected:
		return ErrUnauthorized
	}
	return nil
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

// Finish corrects the charge of an allowed request by its outcome.
func (a *Authorizer) Finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	a.engine.Finish(ctx, a.now(), d, o)
}
