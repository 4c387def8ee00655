package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/request"
)

// decide has the engine decide the request without charging it.
func (x *explainer) decide(ctx context.Context, req *request.Request) (*engine.Decision, error) {
	return engine.New(engine.Options{
		Rules: engine.Fixed{Set: x.Set}, Overrides: x.Overrides, Store: x.store, Local: x.store,
		Recorder: &replay.Failures{}, // explain reports failures before it asks the engine
	}).Decide(ctx, x.Now, req)
}

// peekStore is a store that charges nothing. Equal charges get equal verdicts.
type peekStore struct {
	session.Store
	found map[string]limit.Verdict
}

// Charge returns what the charge would get.
func (p *peekStore) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	charge := fmt.Sprint(c.Costs) + c.Key
	if found, ok := p.found[charge]; ok {
		*v = found
		return nil
	}
	if err := p.Peek(ctx, now, c, v); err != nil {
		return err
	}
	p.found[charge] = *v
	return nil
}

// ChargeAll returns what each charge would get.
func (p *peekStore) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	for i, c := range cs {
		if err := p.Charge(ctx, now, c, vs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Denies proves nothing beforehand.
func (*peekStore) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

// Settle has nothing to correct.
func (*peekStore) Settle(context.Context, time.Time, *limit.Charge, *limit.Receipt, []int64) error {
	return nil
}
