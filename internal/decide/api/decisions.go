package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Decided is what the program that asks learns of a decision.
type Decided struct {
	headers.Answer
	Issued
	Reason   string
	Decision *engine.Decision // nil for credentials that are not valid
}

// Issued is how the charges of an allowed request are settled.
type Issued struct {
	// Receipt is empty if no outcome can correct the charges, and they have no place
	// in flight.
	Receipt  string    `json:"receipt,omitempty"`
	SettleBy time.Time `json:"settle_by,omitzero"` // as receipt.SettleBy returns it
	Settles  []string  `json:"settles,omitempty"`  // the limits for which a settlement may state costs
	// Unsettled are the rules whose charges an outcome could correct, and which are
	// not in the receipt.
	Unsettled []string `json:"unsettled,omitempty"`
	Before    bool     `json:"before,omitempty"` // an earlier call has made all charges
}

// Unauthorized is the reason of a decision about credentials that are not valid.
const Unauthorized = "unauthorized"

// Decide decides a request. It has a receipt only if the request has Reserve.
func (a *API) Decide(ctx context.Context, r *request.Request) (*Decided, *Problem) {
	d, err := a.Decider.DecideRequest(ctx, r)
	if errors.Is(err, engine.ErrUnauthorized) {
		return &Decided{Answer: headers.Answer{Problem: headers.Unauthorized}, Reason: Unauthorized}, nil
	}
	if err == nil {
		out := &Decided{Answer: headers.Describe(d), Reason: d.Reason.String(), Decision: d}
		a.issue(ctx, r, out)
		return out, nil
	}
	return nil, a.failed(ctx, err, "no decision", "there is no decision")
}

// failed logs an error without a result, and returns its problem.
func (a *API) failed(ctx context.Context, err error, line, detail string) *Problem {
	if unmet, ok := errors.AsType[*rules.UnmetError](err); ok {
		return badRequest("/ip", unmet.Error())
	}
	if ctx.Err() == nil {
		a.Log.ErrorContext(ctx, line, "error", err)
	}
	return unavailable(detail + ": the log of slidegate says why")
}

// issue adds the receipt of an allowed request, and logs the rules that are not in
// it.
func (a *API) issue(ctx context.Context, r *request.Request, out *Decided) {
	d, now := out.Decision, a.Now()
	var held receipt.Receipt
	if r.Reserve != nil && len(a.Keys) > 0 {
		text, issued, _ := receipt.Encode(now, d)
		held.Pending = slices.DeleteFunc(d.Pending(), func(p engine.Pending) bool {
			return p.Receipt.Hold == 0 || !slices.Contains(issued, p.Rule)
		})
		if len(held.Pending) > 0 {
			out.Receipt, out.SettleBy, out.Settles = a.Keys.Sign(text), receipt.SettleBy(held.Pending, now).UTC(), held.SettlingLimits()
		}
	}
	made := false // charges by this call
	for v := range d.All() {
		if !d.Allowed || v.Uncounted {
			continue
		}
		out.Before = out.Before || v.Before != nil
		made = made || v.Before == nil && !v.Charge.ZeroCost()
		settles := slices.ContainsFunc(held.Pending, func(p engine.Pending) bool { return p.Rule == v.Rule.Name })
		if reason := why(r, v); !settles && v.Pends() {
			out.Unsettled = append(out.Unsettled, v.Rule.Name)
			if _, again := a.told.LoadOrStore(v.Rule.Name, true); r.Reserve != nil || !again { // else it is so for every request
				a.Log.WarnContext(ctx, "nothing settles a charge of this rule", "rule", v.Rule.Name, "key", v.Key, "reason", reason)
			}
		}
	}
	out.Before = out.Before && !made
}

// why says why a receipt does not settle the charge of a verdict.
func why(r *request.Request, v *engine.Verdict) string {
	switch {
	case r.Reserve == nil:
		return "there are no receipts without SLIDEGATE_RECEIPT_SECRET"
	case v.Charge.Hold.ID != 0 && v.Receipt.Hold == 0:
		return "its key has as many open reservations as the rule allows: settle them, or raise reservations"
	}
	return "it is charged ahead by lease, or by this process alone, or the receipt has no room"
}

// decision is the answer of Decisions.
type decision struct {
	Allowed  bool   `json:"allowed"`
	Reason   string `json:"reason"`
	Degraded bool   `json:"degraded"`
	// Rule and the three below are those of the tightest limit; absent if no
	// limit was counted.
	Rule       string      `json:"rule,omitempty"`
	Capacity   json.Number `json:"capacity,omitempty"`
	Remaining  json.Number `json:"remaining,omitempty"`
	Reset      json.Number `json:"reset_s,omitempty"`
	RetryAfter json.Number `json:"retry_after_s"`
	Delay      float64     `json:"delay_s"`
	// Headers are the fields for the answer to the client.
	Headers map[string]string `json:"headers"`
	Status  int               `json:"status,omitempty"` // of the answer to a denied request
	Body    string            `json:"body,omitempty"`   // of the answer to a denied request
	Issued
}

func (a *API) decide(ctx context.Context, f *fields) (any, *Problem) {
	req := f.request()
	if f.problem != nil {
		return nil, f.problem
	}
	if len(a.Keys) == 0 && req.Reserve.ID == "" {
		req.Reserve = nil
	}
	out, p := a.Decide(ctx, req)
	if p != nil {
		return nil, p
	}
	return describe(out), nil
}

// describe returns a decision as JSON.
func describe(a *Decided) *decision {
	d := &decision{
		Allowed: a.Allowed, Reason: a.Reason, Degraded: a.Degraded, Rule: a.Rule,
		Capacity: json.Number(a.Limit), Remaining: json.Number(a.Remaining), Reset: json.Number(a.Reset),
		RetryAfter: json.Number(a.RetryAfter), Delay: a.Delay.Seconds(), Headers: map[string]string{}, Issued: a.Issued,
	}
	switch {
	case a.Allowed:
		d.RetryAfter = "0"
	case a.RetryAfter == "":
		d.RetryAfter = "-1" // waiting does not help
	}
	for field := range a.Fields() {
		d.Headers[field.Name] = field.Value
	}
	if !a.Allowed {
		denial := a.Denial()
		d.Status, d.Body = denial.Status, denial.Body
		d.Headers["Content-Type"] = denial.ContentType
	}
	if a.Reason == Unauthorized {
		d.Headers["WWW-Authenticate"] = headers.InvalidToken
	}
	return d
}

// usage answers with what a caller has used. The request states the caller as for a
// decision. Nothing is charged.
func (a *API) usage(ctx context.Context, f *fields) (any, *Problem) {
	req := f.request()
	if f.problem != nil {
		return nil, f.problem
	}
	err := a.Decider.Authenticate(ctx, req)
	var report *usage.Report
	if err == nil {
		report, err = a.Usage(ctx, req)
	}
	if errors.Is(err, usage.ErrRefused) {
		return nil, NewProblem(http.StatusForbidden, "%v: ask /v1/decisions what to answer", err)
	}
	if err != nil {
		return nil, a.failed(ctx, err, "cannot report a caller's usage", "the usage of the caller is not known now")
	}
	return report, nil
}
