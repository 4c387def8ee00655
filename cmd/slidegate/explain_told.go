package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// explanation is what explain --json prints.
type explanation struct {
	Method   string      `json:"method"`
	Path     string      `json:"path"`
	Route    string      `json:"route,omitempty"`
	Stage    string      `json:"stage,omitempty"`
	Client   string      `json:"client"`         // the address that keys hold; empty if it is not known
	Peer     string      `json:"peer,omitempty"` // who calls the gateway, where that is a proxy
	Caller   string      `json:"caller"`         // anonymous, known or rejected
	Plan     *planTold   `json:"plan"`           // null where the rules have no plans
	At       time.Time   `json:"at"`
	Counters string      `json:"counters"` // the store; empty if they were taken to be empty
	Outcome  outcomeTold `json:"outcome"`
	Remark   string      `json:"remark,omitempty"` // what nearly was otherwise
	Rules    []ruleSeen  `json:"rules"`            // none if the request is banned or skipped before they are asked
}

type planTold struct {
	Name     string        `json:"name"` // empty for none
	Why      string        `json:"why"`
	Key      string        `json:"override_key,omitempty"`
	Override *overrideTold `json:"override,omitempty"`
	Error    string        `json:"error,omitempty"`  // the override in the table cannot be read; limiters go on without it
	Misfit   bool          `json:"misfit,omitempty"` // something of the override was left out
}

// outcomeTold is what would become of the request.
type outcomeTold struct {
	Allowed    bool    `json:"allowed"`
	Reason     string  `json:"reason"` // limited, skipped, banned, unmatched, exempt or ambiguous
	Why        string  `json:"why,omitempty"`
	By         string  `json:"by,omitempty"`  // the limit that denies it, as clients know it
	RetryAfter float64 `json:"retry_after_s"` // 0 where allowed, -1 for never
	Delay      float64 `json:"delay_s"`       // until its turn in a leaky bucket
}

// ruleSeen is what one rule makes of the request.
type ruleSeen struct {
	Rule        string        `json:"rule"`
	Mode        string        `json:"mode"`
	Covers      bool          `json:"covers"`
	Why         string        `json:"why,omitempty"` // it does not
	Key         string        `json:"key,omitempty"`
	OverrideKey string        `json:"override_key,omitempty"`
	Override    *overrideTold `json:"override,omitempty"`
	Error       string        `json:"error,omitempty"`    // the override in the table cannot be read, and OnError decides
	OnError     string        `json:"on_error,omitempty"` // then alone
	Plan        string        `json:"plan,omitempty"`     // whose capacities or limits these are, overrides aside
	Misfit      bool          `json:"misfit,omitempty"`
	Verdict     string        `json:"verdict,omitempty"` // allowed, denied, unlimited, or refused by an override
	Counter     string        `json:"counter,omitempty"`
	Limits      []limitSeen   `json:"limits,omitempty"`
}

// limitSeen is a limit and what it says of the request.
type limitSeen struct {
	limitTold
	Candidate int64 `json:"candidate_capacity,omitempty"` // on trial
}

// caller says who asks, and reads the client's address as the rules say.
func (x *explainer) caller(req *rules.Request) *explanation {
	told := &explanation{
		Method: req.Method, Path: req.Path, Route: req.Route, Stage: req.Stage, Caller: req.Caller(), At: x.said.now.UTC(), Rules: []ruleSeen{},
	}
	peer := req.IP
	if x.set.Locate(req); req.IP.IsValid() {
		told.Client = req.IP.String()
	}
	if peer != req.IP {
		told.Peer = peer.String()
	}
	return told
}

// plan says which plan the caller has; nil where the rules have none.
func (x *explainer) plan(ctx context.Context, req *rules.Request) (*planTold, error) {
	told := &planTold{Why: x.set.WhyPlan(req)}
	key, overridable := x.set.AppendPlanKey(nil, req)
	if told.Why == "" && !overridable {
		return nil, nil
	}
	var o *rules.Override
	var err error
	if overridable {
		told.Key = string(key)
		o, told.Override, err = x.said.decides(ctx, rules.PlanOverrides, told.Key)
		if told.Error, err = unreadable(err); err != nil {
			return nil, err
		}
	}
	told.Name, _, told.Misfit = x.set.ResolvePlan(req, o, o.InForce(x.said.now))
	return told, nil
}

// rule says what a rule makes of the request.
func (x *explainer) rule(ctx context.Context, r *rules.Rule, req *rules.Request, plan string) (told ruleSeen, err error) {
	told = ruleSeen{Rule: r.Name, Mode: r.Mode.String()}
	if told.Why, told.Covers = r.Why(req); !told.Covers {
		return told, nil
	}
	told.Key = string(r.AppendKey(nil, req))
	var o *rules.Override
	if key, ok := r.AppendOverrideKey(nil, req); ok {
		told.OverrideKey = string(key)
		o, told.Override, err = x.said.limits(ctx, r, told.OverrideKey)
		if told.Error, err = unreadable(err); err != nil {
			return told, err
		}
	}
	if _, ok := x.set.Document().Plans[plan][r.Name]; ok {
		told.Plan = plan
	}
	ct := newCounter(r, told.Key, r.Terms(req, plan, o, x.said.now))
	told.Misfit = ct.terms.Stale
	if told.Error != "" {
		told.OnError = r.OnError.String()
	}
	if told.Verdict = ct.idle(); told.Verdict != "refused" {
		told.Verdict = cmp.Or(told.blind(), told.Verdict)
	}
	if told.Verdict != "" {
		return told, nil
	}
	return told, x.look(ctx, &ct, &told)
}

// unreadable returns what to tell of an override that cannot be read, and any other error as it is.
func unreadable(err error) (text string, other error) {
	if errors.Is(err, ruletable.ErrUnreadable) {
		return strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", err
}

// blind is the verdict of a rule that decides without counting, as its override cannot be read; empty if it counts.
func (t *ruleSeen) blind() string {
	switch t.OnError {
	case rules.OnErrorAllow.String():
		return "allowed"
	case rules.OnErrorDeny.String():
		return "denied"
	}
	return ""
}

// look asks the rule's counter what the request would get.
func (x *explainer) look(ctx context.Context, ct *counter, told *ruleSeen) error {
	told.Counter = ct.charge.Key
	if err := x.store.Charge(ctx, x.said.now, &ct.charge, &ct.verdict); err != nil {
		return err
	}
	told.Verdict = "denied"
	if ct.verdict.Allowed {
		told.Verdict = "allowed"
	}
	for i := range ct.terms.Limits {
		candidate, _ := ct.terms.Candidate(i)
		told.Limits = append(told.Limits, limitSeen{ct.tell(i), candidate})
	}
	return nil
}

// conclude says what would become of the request. why is the reason of a ban or a skip.
func (t *explanation) conclude(d *engine.Decision, set *rules.Set, why string) {
	t.Outcome = outcomeTold{Allowed: d.Allowed, Reason: reasons[d.Reason], Delay: d.Delay.Seconds()}
	o := &t.Outcome
	switch {
	case why != "":
		o.Why = why
	case d.Reason == engine.Banned:
		o.Why = t.refusal()
	case d.Reason == engine.Unmatched:
		o.Why = fmt.Sprintf("no rule covers it, and unmatched is %s", set.Unmatched)
	case d.Reason == engine.Exempt:
		o.Why = "every rule that covers it is lifted by a plan or an override"
	case !d.Allowed:
		v := &d.Verdicts[0]
		o.By, o.RetryAfter = v.Rule.Name, retrySeconds(v.RetryAfter)
		if tight, i := d.Tightest(); tight != nil {
			o.By = tight.PolicyName(i)
		}
	}
}

var reasons = map[engine.Reason]string{
	engine.Limited: "limited", engine.Skipped: "skipped", engine.Banned: "banned", engine.Unmatched: "unmatched", engine.Exempt: "exempt",
	engine.Ambiguous: "ambiguous",
}

// refusal says which override denies the request.
func (t *explanation) refusal() string {
	if t.Plan.denies() {
		return fmt.Sprintf("the override of the plan for %s denies it%s", t.Plan.Key, because(t.Plan.Override.Why))
	}
	for _, r := range t.Rules {
		if r.Verdict == "refused" && r.Mode == rules.Enforce.String() {
			return fmt.Sprintf("the override of rule %s for %s denies it%s", r.Rule, r.OverrideKey, because(r.Override.Why))
		}
	}
	return ""
}

// name returns the plan's name; empty for none.
func (p *planTold) name() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// denies reports whether an override denies everything to the caller.
func (p *planTold) denies() bool {
	return p != nil && p.Override != nil && p.Override.Deny && p.Override.InForce
}

// decide has the engine decide by what there is to see.
func (x *explainer) decide(ctx context.Context, req *rules.Request) (*engine.Decision, error) {
	return engine.New(engine.Options{
		Rules: engine.Fixed{Set: x.set}, Overrides: x.said, Store: x.store, Local: x.store, Recorder: silent{},
	}).Decide(ctx, x.said.now, req)
}

// silent hears nothing: what fails has failed, or was told, before the engine is asked.
type silent struct{}

func (silent) StoreFailed(context.Context, string, string, string, error) {}
func (silent) Decided(context.Context, time.Time, *engine.Decision)       {}
func (silent) Misfit(context.Context, time.Time, string, string)          {}

// peeker says what a charge would get.
type peeker interface {
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
}

// peeked is a store that charges nothing: a charge gets what it would get, the same each time.
type peeked struct {
	of    peeker
	found map[string]limit.Verdict
}

// Charge says what the charge would get.
func (p *peeked) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	charge := fmt.Sprint(c.Costs) + c.Key
	if found, ok := p.found[charge]; ok {
		*v = found
		return nil
	}
	if err := p.of.Peek(ctx, now, c, v); err != nil {
		return err
	}
	p.found[charge] = *v
	return nil
}

// ChargeAll says what each charge would get.
func (p *peeked) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	for i, c := range cs {
		if err := p.Charge(ctx, now, c, vs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Denies knows nothing beforehand.
func (*peeked) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

// Settle has nothing to correct.
func (*peeked) Settle(context.Context, time.Time, *limit.Charge, *limit.Receipt, []int64) error {
	return nil
}
