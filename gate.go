package slidegate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/request"
)

// Gate decides requests by many rules: it charges all that match, and answers by
// the tightest. If one denies, the windows of the others are refunded. A Gate is
// what the Lambda authorizer and the local gateway run. It is safe for concurrent
// use.
//
// [Gate.Middleware] limits an http.Handler. Programs without one call
// [Gate.Decide], and [Gate.Finish] once they have answered.
//
// Trade-off: a gate matches rules and makes keys for each request, which takes
// some microseconds more than a [Limiter] with a key that the program has.
type Gate struct {
	config
	engine *engine.Engine
	costs  *oplog.CostWarnings
}

// NewGate returns a gate that decides by rules: by [Rules], by a file of package
// rulesfile, or by a table of package rulestable. It takes the options of [New],
// but for limits, a name and a lease, which are in the rules. FailError is for limiters.
//
// The error lists everything that is wrong with the rules, each with its place,
// such as "Rules[1].When.Paths[0]". What is valid but probably not meant is
// logged.
func NewGate(source RuleSource, options ...Option) (*Gate, error) {
	g, err := newGate(source, options)
	if err != nil {
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	return g, nil
}

func newGate(source RuleSource, options []Option) (*Gate, error) {
	c, err := newConfig(options)
	switch {
	case err != nil:
		return nil, err
	case source == nil:
		return nil, errors.New("a gate needs rules, such as Rules{Rules: []Rule{…}}")
	case len(c.limits) > 0 || c.name != "" || c.lease > 0:
		return nil, errors.New("a gate takes no limits, no name and no lease: write them in its rules")
	case c.policy.fail:
		return nil, errors.New("FailError is for limiters: a gate takes FailOpen, FailClosed or FailLocal")
	}
	g := &Gate{config: c, costs: oplog.NewCostWarnings(c.log)}
	if g.store == nil {
		g.store = NewMemory(0)
	}
	opened, overrides, err := source.Open(c.defaults(), c.log)
	if err != nil {
		return nil, err
	}
	g.engine = g.newEngine(engine.Options{Rules: opened, Overrides: overrides})
	return g, nil
}

// Request is what rules look at. [Gate.Middleware] fills it in from an
// http.Request.
type Request struct {
	Method string
	Path   string // as sent, with percent-escapes, without the query
	Route  string // the router's pattern, such as "/users/{id}"; "" for none
	Stage  string
	IP     netip.Addr // the zero Addr if it is not known

	Headers    map[string][]string // names in any case
	Query      map[string][]string // values decoded
	PathParams map[string]string   // values decoded

	// Claims are the verified claims of the caller's token, as encoding/json
	// decodes them, or with Go's strings, whole numbers and []string; nil for an
	// anonymous caller. A claim of another type counts as missing, so convert a
	// UUID to a string. The gate does not verify claims.
	Claims map[string]any
	// APIKey is the id of a verified API key, never the key itself; "" for none.
	APIKey string
	// Rejected says that the caller sent invalid credentials.
	Rejected bool
}

func (r *Request) internal() *request.Request {
	return &request.Request{
		Method: r.Method, Path: r.Path, Route: r.Route, Stage: r.Stage, IP: r.IP,
		Headers: r.Headers, Query: r.Query, PathParams: r.PathParams, Claims: r.Claims, APIKey: r.APIKey, Rejected: r.Rejected,
	}
}

// Decision is a gate's answer to a request.
type Decision struct {
	// Result is that of the tightest limit of all rules that matched, without
	// Limits. For a request that no rule limited, only Allowed and Degraded are
	// set.
	Result
	// Rule is the rule of that limit; "" for none.
	Rule string
	// Key is what that rule counts by.
	Key string
	// Reason says what decided; see [Event].
	Reason string

	decision *engine.Decision
	finished atomic.Bool
}

// Outcome is the answer to an allowed request, by which its charge is corrected.
type Outcome struct {
	// Status is the HTTP status of the answer; 0 for none. Rules with RefundOn
	// return their units for some.
	Status int
	// Costs are the true costs in units, by limit: "chat" or "chat.tokens". Only
	// limits that settle use them.
	Costs map[string]int64
	// Aborted says that the answer broke off before its costs were known. Limits
	// that settle then charge the most.
	Aborted bool
}

// Decide decides a request, and charges the rules that match it. A denial is a
// decision, and refunds what other rules took by windows. The error is nil
// unless the context was cancelled, or a table of rules could not be read yet:
// then nothing was charged.
//
// A caller waits for the Delay of an allowed request before it goes on, and then
// passes its answer to Finish.
func (g *Gate) Decide(ctx context.Context, r *Request) (*Decision, error) {
	d, err := g.decide(ctx, r.internal())
	if err != nil {
		return nil, err
	}
	return newDecision(d), nil
}

func (g *Gate) decide(ctx context.Context, r *request.Request) (*engine.Decision, error) {
	now := g.now()
	d, err := g.engine.Decide(ctx, now, r)
	if err != nil {
		if ctx.Err() == nil {
			g.observe(ctx, Event{Time: now, Action: "decide", Err: err})
		}
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	return d, nil
}

// Finish corrects the charge of an allowed request by its outcome. Only rules
// with RefundOn, and limits that settle, need it. The context may have been
// cancelled. A correction that fails is logged, and the charge stays.
//
// Only the first call for a decision counts, so that a deferred one can stand for
// an answer that broke off:
//
//	defer gate.Finish(ctx, d, slidegate.Outcome{Aborted: true})
func (g *Gate) Finish(ctx context.Context, d *Decision, o Outcome) {
	if d.finished.Swap(true) {
		return
	}
	out := &engine.Outcome{Status: o.Status, Costs: o.Costs, Aborted: o.Aborted}
	g.costs.Report(ctx, d.decision, out, nil)
	g.finish(ctx, d.decision, out)
}

func (g *Gate) finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	g.engine.Finish(ctx, g.now(), d, o)
}

func newDecision(d *engine.Decision) *Decision {
	decision := &Decision{Result: Result{Allowed: d.Allowed, Degraded: d.Degraded}, Reason: d.Reason.String(), decision: d}
	if v, _ := d.Tightest(); v != nil {
		decision.Result, decision.Rule, decision.Key = resultOf(v), v.Rule.Name, v.Key
	} else if len(d.Verdicts) > 0 { // nothing was counted, or by quiet rules alone
		decision.Result, decision.Rule, decision.Key = resultOf(&d.Verdicts[0]), d.Verdicts[0].Rule.Name, d.Verdicts[0].Key
	}
	decision.Allowed, decision.Degraded, decision.Delay = d.Allowed, d.Degraded, d.Delay
	if !d.Allowed && d.Delay > 0 { // too long for the middleware
		decision.RetryAfter, decision.Delay = d.Delay, 0
	}
	return decision
}

// Decided passes the decision of a gate on to the observer: one event for each
// rule that was charged, or one for the request if none was.
func (o *observer) Decided(ctx context.Context, now time.Time, d *engine.Decision) {
	o.Observer.Decided(ctx, now, d)
	report := func(vs []engine.Verdict, r engine.Reason, shadow bool) {
		for i := range vs {
			v := &vs[i]
			o.config.observe(ctx, Event{Time: now, Rule: v.Rule.Name, Key: v.Key, Reason: r.String(), Shadow: shadow, Result: resultOf(v)})
		}
	}
	report(d.Verdicts, d.Reason, false)
	report(d.Shadows, engine.Limited, true) // whatever decided the request
	if len(d.Verdicts) == 0 {
		o.config.observe(ctx, Event{Time: now, Reason: d.Reason.String(), Result: Result{Allowed: d.Allowed, Degraded: d.Degraded}})
	}
}
