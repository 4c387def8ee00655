package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// writeTimeout bounds each write of a settlement or a renewal, in real time.
const writeTimeout = time.Second

// settlement is the answer of Settlements.
type settlement struct {
	Before bool `json:"before,omitempty"` // all was settled before: nothing has changed
	// Limits are those that were charged, by their policy names.
	Limits map[string]settled `json:"limits,omitempty"`
}

// settled is what a settlement has made of the charge of a limit, in units.
//
// Example: a request reserved 4,000 tokens and used 812. Then Charged is 4000, Cost
// 812 and Returned 3188.
type settled struct {
	Charged int64 `json:"charged"`
	// Cost is what the request costs now; nil for a charge that stays.
	Cost     *int64 `json:"cost,omitempty"`
	Returned int64  `json:"returned"` // 0 if the request costs more than was charged
	Before   bool   `json:"before,omitempty"`
	// Refused says why the charge stays though the others were settled: late,
	// closed, reset or foreign.
	Refused string `json:"refused,omitempty"`
}

// States of a charge after a call.
const (
	stateDone   = "done"
	stateBefore = "before"
	stateFailed = "failed" // the store did not answer
	// The others have problems of their own.
	stateLate    = "late"
	stateClosed  = "closed"
	stateReset   = "reset"
	stateForeign = "foreign"
)

// refusals are the problems of charges that are not settled or renewed.
var refusals = map[string]func() *Problem{
	stateLate: func() *Problem {
		return refused(stateLate, http.StatusGone, "The reservation of this receipt has ended",
			"settle_by has passed, so the charge stays, unless it was settled before: settle sooner, or raise settle_within of the rule")
	},
	stateClosed: func() *Problem {
		return refused(stateClosed, http.StatusGone, "The place of this receipt is gone",
			"it was settled before, or was not renewed in time, and may be another's now: stop the work. Nothing has changed")
	},
	stateReset: func() *Problem {
		return refused(stateReset, http.StatusGone, "The counter of this receipt is gone",
			"it was reset or has expired, with all that it held: there is nothing to settle or to renew. Work that needs a place in flight has to stop")
	},
	stateForeign: func() *Problem {
		return refused(stateForeign, http.StatusUnprocessableEntity, "This receipt has no reservation to settle here",
			"an authorizer has issued it, or its charge had no room for a reservation: the charge stays. Backends behind the authorizer settle by SettleMiddleware")
	},
}

func (a *API) settle(ctx context.Context, f *fields) (any, *Problem) {
	r, o := a.open(f), &engine.Outcome{Aborted: f.boolean("aborted")}
	if status := take[any](f, "status", "the status of the answer"); status != nil {
		o.Status = int(f.whole("/status", status, 100, 599))
	}
	o.Costs, o.Usage = f.units("costs", limit.MaxCapacity), f.units("usage", engine.MaxUsage)
	f.refuseOthers()
	if f.problem == nil {
		f.checkCosts(r, o)
	}
	if f.problem != nil {
		return nil, f.problem
	}
	now := a.Now()
	states := a.each(ctx, r, func(ctx context.Context, p *engine.Pending) string {
		late := now.UnixMilli() > p.Receipt.Until
		switch {
		case p.Receipt.Hold == 0:
			return stateForeign
		case late && !p.InFlight():
			return stateLate
		}
		state := a.state(ctx, p, "settle", p.Settle(ctx, now, a.Store, a.Observer, o))
		if state == stateClosed && !late { // it cannot have ended
			return stateBefore
		}
		return state
	})
	first := slices.IndexFunc(states, func(state string) bool { return state != stateForeign })
	switch {
	case slices.Contains(states, stateFailed):
		return nil, unavailable("the store did not settle all charges: send the same settlement again. What it has settled does not count twice")
	case first < 0:
		return nil, refusals[stateForeign]()
	case slices.Contains(states, stateDone):
	case !slices.Contains(states, stateBefore):
		return nil, refusals[states[first]]()
	case !slices.ContainsFunc(states, func(state string) bool { return state != stateBefore && state != stateForeign }):
		return settlement{Before: true}, nil
	}
	return settlement{Limits: describeSettled(r, states, o)}, nil
}

// checkCosts refuses costs of limits that the receipt does not settle, and usage
// that none of them can weigh: a misspelled name would leave what was reserved.
func (f *fields) checkCosts(r *receipt.Receipt, o *engine.Outcome) {
	settling := r.SettlingLimits()
	for _, name := range slices.Sorted(maps.Keys(o.Costs)) {
		if !slices.Contains(settling, name) {
			f.fail("/costs/"+request.EscapePointer(name), fmt.Sprintf("this receipt settles no such limit: it settles %s", cmp.Or(strings.Join(settling, ", "), "none")))
		}
	}
	if wrong, ok := errors.AsType[*engine.UsageError](engine.CheckUsage(r.Pending, o)); ok {
		f.fail(strings.TrimSuffix("/usage/"+request.EscapePointer(wrong.Name), "/"), wrong.Error())
	}
}

// describeSettled returns what a settlement has made of each limit.
func describeSettled(r *receipt.Receipt, states []string, o *engine.Outcome) map[string]settled {
	all := map[string]settled{}
	for n := range r.Pending {
		p := &r.Pending[n]
		for i, charged := range p.Charge.Costs {
			s := settled{Charged: charged, Before: states[n] == stateBefore}
			if cost, corrected := p.Cost(i, o); states[n] != stateDone && !s.Before {
				s.Refused = states[n]
			} else if corrected && !s.Before {
				s.Cost, s.Returned = &cost, max(0, charged-cost)
			} else if p.Charge.Limits[i].Algorithm == limit.InFlight {
				s.Returned = charged // its place
			}
			all[p.PolicyName(i)] = s
		}
	}
	return all
}

// renewal is the answer of Renewals.
type renewal struct {
	SettleBy time.Time `json:"settle_by"`
}

// renew extends the places in flight of a receipt, whose text stays valid.
func (a *API) renew(ctx context.Context, f *fields) (any, *Problem) {
	r := a.open(f)
	f.refuseOthers()
	if f.problem == nil && !slices.ContainsFunc(r.Pending, func(p engine.Pending) bool { return p.InFlight() }) {
		f.fail("/receipt", "it has no place in flight to renew: settle it by its settle_by")
	}
	if f.problem != nil {
		return nil, f.problem
	}
	now := a.Now()
	states := a.each(ctx, r, func(ctx context.Context, p *engine.Pending) string {
		if !p.InFlight() {
			return stateDone
		}
		err := p.Renew(ctx, now, a.Store, a.Observer)
		p.Receipt.Until = p.Charge.Hold.Until(now)
		return a.state(ctx, p, "renew", err)
	})
	for _, state := range [...]string{stateClosed, stateReset} {
		if slices.Contains(states, state) {
			return nil, refusals[state]()
		}
	}
	if slices.Contains(states, stateFailed) {
		return nil, unavailable("the store did not renew all places: send the same renewal again")
	}
	return renewal{receipt.SettleBy(r.Pending, now).UTC()}, nil
}

// open reads the receipt of a call.
func (a *API) open(f *fields) *receipt.Receipt {
	text := f.string("receipt")
	r, err := receipt.Parse(text)
	switch _, unsigned := a.Keys.Open(text); {
	case f.problem != nil:
	case text == "":
		f.fail("/receipt", "want the receipt of a decision")
	case err != nil:
		f.problem = refused("malformed", http.StatusBadRequest, "This is no receipt", fmt.Sprintf("receipt: %v: send the text of the decision as it is", err))
	case unsigned != nil:
		f.problem = refused("forged", http.StatusBadRequest, "This receipt is not signed by this server", "receipt: it was changed, or comes from a server with "+
			"another SLIDEGATE_RECEIPT_SECRET, or without one from before its last start: give all servers the same secret. The charge stays")
	}
	return r
}

// each calls do for all charges of a receipt at once, and waits for their states.
// The program may have hung up: its call is completed all the same.
func (a *API) each(ctx context.Context, r *receipt.Receipt, do func(context.Context, *engine.Pending) string) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	states := make([]string, len(r.Pending))
	var writes sync.WaitGroup
	for i := range r.Pending {
		writes.Go(func() { states[i] = do(ctx, &r.Pending[i]) })
	}
	writes.Wait()
	return states
}

// state returns the state of a charge after a call of the store.
func (a *API) state(ctx context.Context, p *engine.Pending, action string, err error) string {
	switch {
	case err == nil:
		return stateDone
	case errors.Is(err, limit.ErrClosed):
		return stateClosed
	case errors.Is(err, limit.ErrReset):
		return stateReset
	}
	a.Observer.StoreFailed(ctx, action, p.Rule, p.Key(), err)
	return stateFailed
}
