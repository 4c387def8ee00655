package engine

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// ErrUnauthorized says that the credentials of a request that no rule denies are
// missing or not valid. A server answers it with status 401.
var ErrUnauthorized = errors.New("the request has no valid credentials")

// errUnverified is the error about a request that needs a known caller, while
// nothing can verify its credentials. A 401 would have clients drop valid ones.
var errUnverified = errors.New("authentication.required covers the request, and its credentials cannot be verified now")

// Authenticator adds to a request what its credentials prove. It fails if it
// cannot tell, and the request must not go on.
type Authenticator interface {
	Authenticate(ctx context.Context, now time.Time, r *request.Request) error
}

// Decider verifies the callers of requests, and decides the requests. It is safe
// for concurrent use once its fields are set.
type Decider struct {
	Engine  *Engine
	Now     func() time.Time // the time of each decision
	Callers Authenticator    // nil leaves all callers anonymous
	// Rejected is called for each request that no rule denies and that is refused
	// for its credentials; nil for no call.
	Rejected func()
}

// DecideRequest verifies the caller of a request, and decides it. Invalid and
// missing credentials are charged, so that guessing is limited. Then the error is
// ErrUnauthorized, unless a rule denies the request.
func (d *Decider) DecideRequest(ctx context.Context, req *request.Request) (*Decision, error) {
	now := d.Now()
	if err := d.authenticate(ctx, now, req); err != nil {
		return nil, err
	}
	decision, err := d.Engine.Decide(ctx, now, req)
	if err != nil {
		return nil, err
	}
	if err := refusal(decision, req); err != nil {
		decision.disown()
		d.Finish(ctx, decision, &Outcome{}) // the charge stays, and places are given back
		if d.Rejected != nil {
			d.Rejected()
		}
		return nil, err
	}
	return decision, nil
}

// Authenticate adds to a request what its credentials prove, and decides nothing.
func (d *Decider) Authenticate(ctx context.Context, req *request.Request) error {
	return d.authenticate(ctx, d.Now(), req)
}

func (d *Decider) authenticate(ctx context.Context, now time.Time, req *request.Request) error {
	if d.Callers == nil {
		return nil
	}
	return d.Callers.Authenticate(ctx, now, req)
}

// Finish corrects the charge of an allowed request by its outcome.
func (d *Decider) Finish(ctx context.Context, of *Decision, o *Outcome) {
	d.Engine.Finish(ctx, d.Now(), of, o)
}

// refusal returns why a request that is not denied is refused all the same; nil
// if it is not.
func refusal(d *Decision, req *request.Request) error {
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
