package engine

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Resolver finds the plan of one caller, then for each rule the override of the
// key, the resulting limits and costs, and the charge to make. Decisions use it,
// and so do the commands that explain, show and reset counters. It charges
// nothing.
type Resolver struct {
	Set *rules.Set
	// Overrides are the overrides that operators set by command; nil for none.
	// If one cannot be read, the document's applies, and Err says why.
	Overrides OverrideSource
	Now       time.Time // when overrides are looked up, and whether they have ended

	room names // for the names of counters
}

// Plan is the plan of one caller, and where it comes from.
type Plan struct {
	Name string // empty for none
	// Key is the key by which overrides of the plan are looked up; empty if the
	// rules have no such overrides, or if the key is not known.
	Key      string
	Override *rules.Override // of Key; nil for none
	Denied   bool            // Override denies everything to the caller
	Stale    bool            // part of Override does not fit the rules and was left out
	Err      error           // the overrides set by command could not be read
}

// Resolution is the result of resolving one rule for one caller.
//
// Say rule api allows 100 requests a minute, the caller's plan makes that 500,
// and an operator has granted 50 more for an hour. Then Terms.Limits holds a
// capacity of 550, Terms.Costs holds 1, and Charge names the counter, such as
// "api|user:7|0f3b9a2c", with the same limits and costs.
type Resolution struct {
	Rule   *rules.Rule
	Key    string       // what the rule counts by
	Terms  *rules.Terms // the limits and costs in effect; read-only
	Charge limit.Charge // what the next request would take
}

// Bypass is the reason for which the counter of a resolution is not charged.
type Bypass uint8

// The reasons for which a counter is not charged.
const (
	NoBypass    Bypass = iota // the counter decides
	Refused                   // an override denies every request of the key
	Unlimited                 // a plan or an override lifts the rule
	ErrorAllows               // the override could not be read, and on_error is allow
	ErrorDenies               // the override could not be read, and on_error is deny
)

// Bypass returns why the counter is not charged, or NoBypass.
func (r *Resolution) Bypass() Bypass {
	switch {
	case r.Terms.Denied:
		return Refused
	case r.Terms.Err != nil && r.Rule.OnError == rules.OnErrorAllow:
		return ErrorAllows
	case r.Terms.Err != nil && r.Rule.OnError == rules.OnErrorDeny:
		return ErrorDenies
	case r.Terms.Unlimited:
		return Unlimited
	}
	return NoBypass
}

// Plan returns the plan of the caller who makes a request.
func (r *Resolver) Plan(ctx context.Context, req *request.Request) (p Plan) {
	r.plan(ctx, req, &p)
	return p
}

// plan is Plan into a new Plan.
func (r *Resolver) plan(ctx context.Context, req *request.Request, p *Plan) {
	var buffer [64]byte
	key, _ := r.Set.AppendPlanKey(buffer[:0], req) // none if there are no overrides
	r.planByKey(ctx, req, string(key), p)
}

// PlanByKey is Plan for a caller whose override key is known already. If the
// key is empty, the plan is the one that the request's credentials name.
func (r *Resolver) PlanByKey(ctx context.Context, req *request.Request, key string) (p Plan) {
	r.planByKey(ctx, req, key, &p)
	return p
}

// planByKey is PlanByKey into a new Plan.
func (r *Resolver) planByKey(ctx context.Context, req *request.Request, key string, p *Plan) {
	if key == "" {
		p.Name = r.Set.Plan(req)
		return
	}
	p.Key = key
	p.Override, p.Err = r.override(ctx, rules.PlanOverrides, key, true)
	p.Name, p.Denied, p.Stale = r.Set.ResolvePlan(req, p.Override, p.Override.InForce(r.Now))
}

// Resolve resolves a rule for a request that it matches, of a caller on this plan
// ("" for none).
func (r *Resolver) Resolve(ctx context.Context, rule *rules.Rule, req *request.Request, plan string) (res Resolution) {
	r.resolve(ctx, &res, rule, req, plan)
	return res
}

// resolve is Resolve into a new Resolution.
func (r *Resolver) resolve(ctx context.Context, res *Resolution, rule *rules.Rule, req *request.Request, plan string) {
	var most [128]byte
	name := r.room.text(rule.AppendCounter(most[:0], req))
	res.Key = rule.KeyIn(name)
	overrideKey := res.Key
	if !rule.OverridesByKey() {
		var buffer [64]byte
		text, _ := rule.AppendOverrideKey(buffer[:0], req) // none if there are no overrides
		overrideKey = string(text)
	}
	r.resolveKeys(ctx, res, rule, req, plan, overrideKey)
	res.Charge.Borrowed = true
	if res.Charge.Key = name; !rule.CountsBy(res.Terms) {
		res.Charge.Key = rule.Item(res.Key, res.Terms)
	}
}

// ResolveKey is Resolve for keys that are known already. If overrideKey is empty,
// no override of the rule applies. The request states the costs.
func (r *Resolver) ResolveKey(ctx context.Context, rule *rules.Rule, req *request.Request, plan, key, overrideKey string) Resolution {
	res := Resolution{Key: key}
	r.resolveKeys(ctx, &res, rule, req, plan, overrideKey)
	res.Charge.Key = rule.Item(key, res.Terms)
	return res
}

// resolveKeys completes a Resolution that has its key, but for the name of the
// counter.
func (r *Resolver) resolveKeys(ctx context.Context, res *Resolution, rule *rules.Rule, req *request.Request, plan, overrideKey string) {
	var override *rules.Override
	var err error
	if overrideKey != "" {
		override, err = r.override(ctx, rule.Name, overrideKey, rule.TakesOverrides())
	}
	res.Rule, res.Terms = rule, rule.Terms(req, plan, override, r.Now)
	if err != nil {
		terms := *res.Terms // which other requests share
		terms.Err, res.Terms = err, &terms
	}
	c := &res.Charge
	c.Limits, c.Costs, c.Checked, c.Lease = res.Terms.Limits, res.Terms.Costs, res.Terms.Checked, int32(rule.Lease)
}

// override returns the override of a key: the one set by command, if the rule
// takes those, else the document's.
func (r *Resolver) override(ctx context.Context, rule, key string, byCommand bool) (*rules.Override, error) {
	if r.Overrides == nil || !byCommand {
		return r.Set.Override(rule, key), nil
	}
	set, err := r.Overrides.Override(ctx, r.Now, rule, key)
	if err != nil {
		return r.Set.Override(rule, key), err
	}
	return r.Set.Overlay(rule, key, set, r.Now), nil
}
