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
	"github.com/slidegate/slidegate/internal/decide/headers"
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

// Why a receipt or one of its charges is not settled. The store and package receipt
// have errors of their own.
var (
	errBefore  = errors.New("the charge was settled before")
	errLate    = errors.New("settle_by has passed, and the charge stays unless it was settled before")
	errForeign = errors.New("an authorizer has issued the receipt, without reservations, and the charge stays")
)

// refusals are the problems of receipts that settle or renew nothing. Their details
// begin with the error, and say what to do.
var refusals = [...]struct {
	err             error
	status          int
	name, title, do string
}{
	{receipt.ErrMalformed, http.StatusBadRequest, "malformed", "This is no receipt", "send the text of the decision as it is"},
	{receipt.ErrUnsigned, http.StatusBadRequest, "forged", "This receipt is not signed by this server",
		"give all servers the same SLIDEGATE_RECEIPT_SECRET. Without one, receipts end with the process"},
	{errForeign, http.StatusUnprocessableEntity, "foreign", "This receipt has no reservation to settle here",
		"settle by SettleMiddleware of the backend"},
	{errLate, http.StatusGone, "late", "The reservation of this receipt has ended", "settle sooner, or raise settle_within of the rule"},
	{limit.ErrClosed, http.StatusGone, "closed", "The place of this receipt is gone",
		"stop the work, because another may have its place. Nothing has changed"},
	{limit.ErrReset, http.StatusGone, "reset", "The counter of this receipt is gone", "there is nothing to settle or to renew"},
}

// refused returns the problem of an error, and its short name; nil for none.
func refused(err error) (p *Problem, name string) {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			p = NewProblem(r.status, "%v: %s", err, r.do)
			p.Type, p.Title = headers.ProblemsPage+"#receipt-"+r.name, r.title
			return p, r.name
		}
	}
	return nil, ""
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
	errs, p := a.each(ctx, "settle", r, func(ctx context.Context, p *engine.Pending) error {
		late := now.UnixMilli() > p.Receipt.Until
		if late && !p.InFlight() {
			return errLate
		}
		err := p.Settle(ctx, now, a.Store, a.Observer, o)
		if errors.Is(err, limit.ErrClosed) && !late { // the hold cannot have ended
			return errBefore
		}
		return err
	})
	if p != nil {
		return nil, p
	}
	settles := func(err error) bool { return err == nil || errors.Is(err, errBefore) }
	if first, _ := refused(errs[0]); !slices.ContainsFunc(errs, settles) {
		return nil, first
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errBefore) }) {
		return settlement{Before: true}, nil
	}
	return settlement{Limits: describeSettled(r, errs, o)}, nil
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
func describeSettled(r *receipt.Receipt, errs []error, o *engine.Outcome) map[string]settled {
	all := map[string]settled{}
	for n := range r.Pending {
		p := &r.Pending[n]
		for i, charged := range p.Charge.Costs {
			s := settled{Charged: charged}
			switch cost, corrected := p.Cost(i, o); {
			case errs[n] != nil:
				_, s.Refused = refused(errs[n])
				s.Before = s.Refused == ""
			case corrected:
				s.Cost, s.Returned = &cost, max(0, charged-cost)
			case p.Charge.Limits[i].Algorithm == limit.InFlight:
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
	errs, p := a.each(ctx, "renew", r, func(ctx context.Context, p *engine.Pending) error {
		if !p.InFlight() {
			return nil
		}
		p.Receipt.Until = p.Charge.Hold.Until(now)
		return p.Renew(ctx, now, a.Store, a.Observer)
	})
	if p != nil {
		return nil, p
	}
	if gone := cmp.Or(errs...); gone != nil {
		p, _ = refused(gone)
		return nil, p
	}
	return renewal{receipt.SettleBy(r.Pending, now).UTC()}, nil
}

// open reads the receipt of a call, with the charges that have holds.
func (a *API) open(f *fields) *receipt.Receipt {
	text := f.string("receipt")
	r, err := receipt.Parse(text)
	if text == "" {
		err = fmt.Errorf("%w: it is missing", receipt.ErrMalformed)
	}
	switch {
	case err != nil && !errors.Is(err, receipt.ErrMalformed): // a time zone that is not known here
		err = fmt.Errorf("%w: %w", receipt.ErrMalformed, err)
	case err == nil && !a.Keys.Signed(text):
		err = receipt.ErrUnsigned
	case err == nil:
		r.Pending = slices.DeleteFunc(r.Pending, func(p engine.Pending) bool { return p.Receipt.Hold == 0 })
		if len(r.Pending) == 0 {
			err = errForeign
		}
	}
	if p, _ := refused(err); p != nil && f.problem == nil {
		f.problem, p.Pointer = p, new("/receipt")
	}
	return r
}

// each calls do for all charges of a receipt at once, and returns its errors. p is
// not nil if the store has failed. The program may have hung up: its call is
// completed all the same.
func (a *API) each(ctx context.Context, action string, r *receipt.Receipt, do func(context.Context, *engine.Pending) error) (errs []error, p *Problem) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	errs = make([]error, len(r.Pending))
	var writes sync.WaitGroup
	for i := range r.Pending {
		writes.Go(func() { errs[i] = do(ctx, &r.Pending[i]) })
	}
	writes.Wait()
	for i, err := range errs {
		if gone, _ := refused(err); gone == nil && err != nil && !errors.Is(err, errBefore) {
			a.Observer.StoreFailed(ctx, action, r.Pending[i].Rule, r.Pending[i].Key(), err)
			p = unavailable("the store did not answer for all charges: send the same call again. Nothing counts twice")
		}
	}
	return errs, p
}
