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

	hold uint64 // ID of the holds of the decision; 0 before the first
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

	named bool // the caller names the hold, and may look for it again
}

// Bypass is the reason for which the counter of a resolution is not charged.
type Bypass uint8

// The reasons for which a counter is not charged.
const (
	NoBypass    Bypass = iota // the counter decides
	Refused                   // an override denies every request of the key
	Unlimited                 // a plan or an override lifts the rule
	ErrorDenies               // the override could not be read, and on_error is deny
)

// Bypass returns why the counter is not charged, or NoBypass. An override that
// could not be read never lifts a limit: the counter decides by the limits that
// are known, and on_error: allow waits until the counter fails too.
func (r *Resolution) Bypass() Bypass {
	switch {
	case r.Terms.Denied:
		return Refused
	case r.Terms.Err != nil && r.Rule.OnError == rules.OnErrorDeny:
		return ErrorDenies
	case r.Terms.Unlimited:
		return Unlimited
	}
	return NoBypass
}

// Plan returns the plan of the caller who makes a request.
func (r *Resolver) Plan(ctx context.Context, req *request.Request) Plan {
	var buffer [64]byte
	key, _ := r.Set.AppendPlanKey(buffer[:0], req) // none if there are no overrides
	return r.PlanByKey(ctx, req, string(key))
}

// PlanByKey is Plan for a caller whose override key is known already. If the
// key is empty, the plan is the one that the request's credentials name.
func (r *Resolver) PlanByKey(ctx context.Context, req *request.Request, key string) (p Plan) {
	if key == "" {
		return Plan{Name: r.Set.Plan(req)}
	}
	p.Key = key
	p.Override, p.Err = r.override(ctx, rules.PlanOverrides, key, true)
	p.Name, p.Denied, p.Stale = r.Set.ResolvePlan(req, p.Override, p.Override.InForce(r.Now))
	return p
}

// Resolve resolves a rule for a request that it matches, of a caller on this plan
// ("" for none).
func (r *Resolver) Resolve(ctx context.Context, rule *rules.Rule, req *request.Request, plan string) Resolution {
	var buffer [64]byte
	key := string(rule.AppendKey(buffer[:0], req))
	overrideKey := key
	if !rule.OverridesByKey() {
		other, _ := rule.AppendOverrideKey(buffer[:0], req) // none if there are no overrides
		overrideKey = string(other)
	}
	return r.ResolveKey(ctx, rule, req, plan, key, overrideKey)
}

// ResolveKey is Resolve for keys that are known already. If overrideKey is empty,
// no override of the rule applies. The request states the costs.
func (r *Resolver) ResolveKey(ctx context.Context, rule *rules.Rule, req *request.Request, plan, key, overrideKey string) Resolution {
	var override *rules.Override
	var err error
	if overrideKey != "" {
		override, err = r.override(ctx, rule.Name, overrideKey, rule.TakesOverrides())
	}
	terms := rule.Terms(req, plan, override, r.Now)
	if err != nil {
		own := *terms // which other requests share
		own.Err, terms = err, &own
	}
	resolved := Resolution{Rule: rule, Key: key, Terms: terms, Charge: limit.Charge{
		Key: rule.Item(key, terms), Limits: terms.Limits, Costs: terms.Costs, Checked: terms.Checked, Lease: int32(rule.Lease),
	}}
	resolved.openHold(req.Reserve, &r.hold)
	return resolved
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
