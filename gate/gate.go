package gate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Gate decides requests by many rules. It is what the Lambda authorizer and the
// local gateway run. It is safe for concurrent use.
//
// Programs with an http.Handler take limithttp.GateMiddleware. Others call
// [Gate.Decide], and [Gate.Finish] once they have answered.
//
// Trade-off: a gate matches rules and makes keys for each request, which takes
// about a microsecond more than a [slidegate.Limiter] to which the program gives
// the key.
type Gate struct {
	config setup.Config
	rules  setup.Rules
	engine *engine.Engine
	costs  *oplog.CostWarnings
}

// Option sets up a [Gate]: a [slidegate.StoreOption], a [slidegate.SharedOption]
// or a [slidegate.ErrorPolicy]. Names, limits and leases are in the rules.
type Option interface {
	// ForGate is for this module.
	ForGate(*setup.Config)
}

// New returns a gate that decides by rules: by [Rules], by a file of package
// rulesfile, or by a table of package rulestable. Without
// [slidegate.WithStore] it counts in memory.
//
// The error lists everything that is wrong with the rules, each with its place,
// such as "Rules[1].When.Paths[0]". What is valid but probably not meant is
// logged.
func New(source RuleSource, options ...Option) (*Gate, error) {
	g, err := newGate(source, options)
	if err != nil {
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	return g, nil
}

func newGate(source RuleSource, options []Option) (*Gate, error) {
	g := &Gate{}
	c := &g.config
	if err := setup.Apply(c, options, func(o Option) { o.ForGate(c) }); err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errors.New("a gate needs rules, such as gate.Rules{Rules: []gate.Rule{…}}")
	}
	if c.Store == nil {
		c.Store = memory.New(0)
	}
	g.costs = oplog.NewCostWarnings(c.Log)
	var err error
	if g.rules, err = source.OpenRules(setup.RuleOptions{Defaults: c.Defaults(), Log: c.Log}); err != nil {
		return nil, err
	}
	g.engine = c.NewEngine(engine.Options{Rules: g.rules.RuleSource, Overrides: g.rules.Overrides})
	return g, nil
}

// Request is what rules look at. limithttp.GateMiddleware fills it in
// from an http.Request.
type Request struct {
	Method string     // of HTTP, such as "POST"
	Path   string     // as sent, with percent-escapes, without the query
	Route  string     // the router's pattern, such as "/users/{id}"; "" for none
	Stage  string     // of API Gateway, for {stage}; "" for none
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

// ForRules is for this module. It returns the request as rules see it.
func (r *Request) ForRules() *request.Request {
	return &request.Request{
		Method: r.Method, Path: r.Path, Route: r.Route, Stage: r.Stage, IP: r.IP,
		Headers: r.Headers, Query: r.Query, PathParams: r.PathParams, Claims: r.Claims, APIKey: r.APIKey, Rejected: r.Rejected,
		NoOperation: true,
	}
}

// Decision is a gate's answer to a request.
type Decision struct {
	// Result is that of the tightest limit of all rules that matched, without
	// Limits. For a request that no rule limited, only Allowed and Degraded are
	// set.
	slidegate.Result
	// Rule is the rule of that limit; "" for none.
	Rule string
	// Key is what that rule counts by.
	Key string
	// Reason says what decided.
	Reason slidegate.Reason

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
	// Usage is what the request has used, in place of costs: the limits with
	// weights compute their cost from it. Its names are those of the weights, such
	// as input_tokens.
	Usage map[string]int64
	// Aborted says that the answer broke off before its costs were known. Limits
	// that settle then charge the most.
	Aborted bool
}

// Decide decides a request, and charges the rules that match it. A denial is a
// decision, and refunds what other rules took by windows. The error is nil
// unless the context was cancelled, a table of rules could not be read yet, or a
// rule reads what the request lacks: then nothing was charged.
//
// A caller waits for the Delay of an allowed request before it goes on, and then
// passes its answer to Finish.
func (g *Gate) Decide(ctx context.Context, r *Request) (*Decision, error) {
	d, err := g.decide(ctx, r.ForRules())
	if err != nil {
		return nil, err
	}
	return DecisionOf(d), nil
}

func (g *Gate) decide(ctx context.Context, r *request.Request) (*engine.Decision, error) {
	now := g.config.Now()
	d, err := g.engine.Decide(ctx, now, r)
	if err != nil {
		if ctx.Err() == nil {
			g.config.Observe(ctx, &setup.Event{Time: now, Action: string(ActionDecide), Err: err})
		}
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	return d, nil
}

// Occupy keeps the places in flight of an allowed decision until [Gate.Finish]: it
// renews them while the caller works. The caller works under the context that it
// returns, which ends when another request may have the place. The context is ctx
// for a decision that no rule in flight covers.
//
//	ctx = g.Occupy(ctx, d)
//	defer g.Finish(ctx, d, gate.Outcome{Aborted: true})
func (g *Gate) Occupy(ctx context.Context, d *Decision) context.Context {
	work, _ := g.engine.Occupy(ctx, g.config.Now, d.decision)
	return work
}

// Finish corrects the charge of an allowed request by its outcome. Only rules
// with RefundOn or in flight, and limits that settle, need it. The context may have been
// cancelled. A correction that fails is logged, and the charge stays.
//
// Only the first call for a decision counts, so that a deferred one can stand for
// an answer that broke off:
//
//	defer g.Finish(ctx, d, gate.Outcome{Aborted: true})
func (g *Gate) Finish(ctx context.Context, d *Decision, o Outcome) {
	if d.finished.Swap(true) {
		return
	}
	g.finish(ctx, d.decision, &engine.Outcome{Status: o.Status, Costs: o.Costs, Usage: o.Usage, Aborted: o.Aborted}, nil)
}

// finish corrects the charge, and warns of costs that have no effect.
func (g *Gate) finish(ctx context.Context, d *engine.Decision, o *engine.Outcome, malformed []string) {
	g.costs.Report(ctx, d, o, malformed)
	g.engine.Finish(ctx, g.config.Now(), d, o)
}

// DecisionOf is for this module.
func DecisionOf(d *engine.Decision) *Decision {
	decision := &Decision{Reason: slidegate.Reason(d.Reason.String()), decision: d}
	v, _ := d.Tightest()
	if v == nil && len(d.Verdicts) > 0 { // nothing was counted, or by quiet rules alone
		v = &d.Verdicts[0]
	}
	if v != nil {
		decision.Result, decision.Rule, decision.Key = slidegate.ResultOf(v), v.Rule.Name, v.Key
	}
	decision.Allowed, decision.Degraded, decision.Delay = d.Allowed, d.Degraded, d.Delay
	if !d.Allowed && d.Delay > 0 { // too long for the middleware
		decision.RetryAfter, decision.Delay = d.Delay, 0
	}
	return decision
}

// Parts is for this module. It returns what a middleware needs of the gate.
func (g *Gate) Parts() *setup.GateParts {
	return &setup.GateParts{Config: &g.config, Rules: g.rules, Decide: g.decide, Occupy: g.engine.Occupier(g.config.Now), Finish: g.finish}
}
