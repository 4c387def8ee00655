package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// ExplainReport explains what the rules decide about one request.
type ExplainReport struct {
	Method   string        `json:"method"`
	Path     string        `json:"path"`
	Route    string        `json:"route,omitempty"`
	Stage    string        `json:"stage,omitempty"`
	Client   string        `json:"client"`          // the address in keys; empty if it is not known
	Peer     string        `json:"peer,omitempty"`  // who calls the gateway, if that is a proxy
	Entry    string        `json:"entry,omitempty"` // of a proxy for its client that is no address, with its header
	Caller   string        `json:"caller"`          // anonymous, known or rejected
	Plan     *PlanReport   `json:"plan"`            // null if the rules have no plans
	At       time.Time     `json:"at"`
	Counters string        `json:"counters"` // the store; empty if they were taken to be empty
	Outcome  OutcomeReport `json:"outcome"`
	Remark   string        `json:"remark,omitempty"` // an entry of skip that nearly covers the request, or a caller without credentials
	Rules    []RuleVerdict `json:"rules"`            // none if the request is banned or skipped before
}

// PlanReport describes the caller's plan.
type PlanReport struct {
	Name     string          `json:"name"` // empty for none
	Why      string          `json:"why"`
	Key      string          `json:"override_key,omitempty"`
	Override *OverrideReport `json:"override,omitempty"`
	Error    string          `json:"error,omitempty"` // the override in the table cannot be read; limiters go on without it
	Stale    bool            `json:"stale,omitempty"` // part of the override was left out
}

// OutcomeReport is the decision about the request.
type OutcomeReport struct {
	Allowed    bool    `json:"allowed"`
	Reason     string  `json:"reason"` // limited, skipped, banned, unmatched, exempt, ambiguous or preflight
	Why        string  `json:"why,omitempty"`
	By         string  `json:"by,omitempty"`  // the limit that denies it, as clients know it
	RetryAfter float64 `json:"retry_after_s"` // 0 if allowed, -1 for never
	Delay      float64 `json:"delay_s"`       // until its turn in a leaky bucket
}

// RuleVerdict is what one rule decides about the request.
type RuleVerdict struct {
	Rule        string          `json:"rule"`
	Mode        string          `json:"mode"`
	Covers      bool            `json:"covers"`
	Why         string          `json:"why,omitempty"` // it does not
	Key         string          `json:"key,omitempty"`
	OverrideKey string          `json:"override_key,omitempty"`
	Override    *OverrideReport `json:"override,omitempty"`
	Error       string          `json:"error,omitempty"`    // the override in the table cannot be read, and OnError decides
	OnError     string          `json:"on_error,omitempty"` // only with Error
	Local       string          `json:"local,omitempty"`    // what one process counts by on_error: local while the store is away
	Plan        string          `json:"plan,omitempty"`     // whose capacities or limits these are, overrides aside
	Stale       bool            `json:"stale,omitempty"`    // part of the override was left out
	Verdict     string          `json:"verdict,omitempty"`  // allowed, denied, unlimited, or refused by an override
	Counter     string          `json:"counter,omitempty"`
	Limits      []UsageReport   `json:"limits,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"` // about the rule, if it covers the request
}

// ExplainOptions describe a request to explain.
type ExplainOptions struct {
	Locations session.Locations
	Request   *request.Request
	At        time.Time // the moment to decide at; the zero value for now
}

// Explain reports what every rule decides about a request. It charges nothing.
func Explain(ctx context.Context, o *ExplainOptions) (*ExplainReport, error) {
	s, err := session.Open(ctx, o.Locations, app.LoadSecrets)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	store, now := s.Counters(), s.Now()
	if !o.At.IsZero() {
		store, _ = s.Recorded()
		now = o.At
	}
	x := newExplainer(NewLookup(s.Rules, s.Table(), now), store)
	report, err := x.explain(ctx, o.Request)
	if err == nil && !s.InMemory() {
		report.Counters = s.StoreName()
	}
	return report, err
}

// explainer explains requests by rules, overrides and counters.
type explainer struct {
	*OverrideLookup
	store *peekStore
}

func newExplainer(lookup *OverrideLookup, store limit.Store) *explainer {
	return &explainer{lookup, &peekStore{store, map[string]limit.Verdict{}}}
}

func (x *explainer) explain(ctx context.Context, req *request.Request) (report *ExplainReport, err error) {
	original := *req // the engine resolves the client's address itself
	report = x.request(req)
	plan := x.Plan(ctx, req)
	if report.Plan, err = x.plan(req, &plan); err != nil {
		return nil, err
	}
	var why string
	var decided bool
	for _, reason := range []func(*request.Request) (string, bool){x.Set.WhyAmbiguous, x.Set.WhyBanned, x.Set.WhySkipped} {
		if why, decided = reason(req); decided {
			break
		}
	}
	if !decided {
		report.Remark, why = why, ""
	}
	if !decided && !plan.Denied {
		document := x.Set.Document()
		warnings := append(lint.Check(document, x.Set), lint.Caveats(document, x.Set)...)
		for i, r := range x.Set.Rules {
			one, err := x.rule(ctx, r, req, plan.Name)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.Name, err)
			}
			for _, w := range warnings {
				if of, ok := strings.CutPrefix(w.String(), ruledoc.Index("rules", i)+"."); ok && one.Covers {
					one.Warnings = append(one.Warnings, of)
				}
			}
			report.Rules = append(report.Rules, one)
		}
	}
	d, err := engine.New(engine.Options{
		Rules: engine.Fixed{Set: x.Set}, Overrides: x.Overrides, Store: x.store, Local: x.store,
		Observer: &replay.Failures{}, // x has reported the failures already
	}).Decide(ctx, x.Now, &original)
	if err == nil {
		report.conclude(d, x.Set, plan.Denied, why)
		if d.Allowed && x.Set.LacksCaller(req) {
			report.Remark = "its answer is 401 nevertheless: authentication.required covers it, and its caller is anonymous"
		}
	}
	return report, err
}

// request describes the request, with the client's address as the rules define
// it.
func (x *explainer) request(req *request.Request) *ExplainReport {
	report := &ExplainReport{
		Method: req.Method, Path: req.Path, Route: req.Route, Stage: req.Stage, Caller: req.Caller(), At: x.Now.UTC(),
		Rules: []RuleVerdict{},
	}
	peer := req.IP
	if x.Set.Locate(req); req.IP.IsValid() {
		report.Client = req.IP.String()
	}
	if peer != req.IP && peer.IsValid() {
		report.Peer = peer.String()
	}
	report.Entry = req.Unreadable
	return report
}

// plan describes the caller's plan; nil if the rules have none.
func (x *explainer) plan(req *request.Request, plan *engine.Plan) (report *PlanReport, err error) {
	why := x.Set.WhyPlan(req)
	if why == "" && plan.Key == "" {
		return nil, nil
	}
	report = &PlanReport{
		Name: plan.Name, Why: why, Key: plan.Key, Stale: plan.Stale, Override: x.report(rules.PlanOverrides, plan.Key, plan.Override),
	}
	report.Error, err = unreadable(plan.Err)
	return report, err
}

// rule reports what a rule decides about the request.
func (x *explainer) rule(ctx context.Context, r *rules.Rule, req *request.Request, plan string) (report RuleVerdict, err error) {
	report = RuleVerdict{Rule: r.Name, Mode: r.Mode.String()}
	if report.Why, report.Covers = r.Why(req); !report.Covers {
		return report, nil
	}
	res := x.Resolve(ctx, r, req, plan)
	if !r.Counts(req) && !(r.BansPreflights() && (res.Terms.Denied || res.Terms.Err != nil)) {
		report.Why, report.Covers = "its when does not name the method of a CORS preflight", false
		return report, nil
	}
	if report.Error, err = unreadable(res.Terms.Err); err != nil {
		return report, err
	}
	if report.Error != "" {
		report.OnError = r.OnError.String()
	}
	overrideKey, _ := r.AppendOverrideKey(nil, req) // none if there are no overrides
	report.Key, report.OverrideKey, report.Stale = res.Key, string(overrideKey), res.Terms.Stale
	report.Override = x.report(r.Name, report.OverrideKey, res.Terms.Override)
	if _, ok := x.Set.Document().Plans[plan][r.Name]; ok {
		report.Plan = plan
	}
	if report.Verdict = bypassNames[res.Bypass()]; report.Verdict != "" {
		return report, nil
	}
	return report, x.peek(ctx, &res, &report)
}

// unreadable returns what to report of an override that cannot be read, and any
// other error as it is.
func unreadable(err error) (report string, other error) {
	if errors.Is(err, ruletable.ErrUnreadable) {
		return strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", err
}

// peek reads from the rule's counter what the request would get.
func (x *explainer) peek(ctx context.Context, res *engine.Resolution, report *RuleVerdict) error {
	var v limit.Verdict
	report.Counter = res.Charge.Key
	if err := x.store.Charge(ctx, x.Now, &res.Charge, &v); err != nil {
		return err
	}
	report.Verdict = "denied"
	if v.Allowed {
		report.Verdict = "allowed"
	}
	report.Limits = reportUsages(res, &v)
	if res.Rule.OnError == rules.OnErrorLocal && !res.Charge.ZeroCost() {
		report.Local = localText(x.Set, res.Charge.Limits, res.Charge.Costs) + " " + Processes(x.Set)
	}
	for i := range report.Limits {
		report.Limits[i].CandidateCapacity, _ = res.Terms.Candidate(i)
	}
	return nil
}

// conclude adds the decision. why is the reason of a ban or a skip.
func (r *ExplainReport) conclude(d *engine.Decision, set *rules.Set, planDenies bool, why string) {
	r.Outcome = OutcomeReport{Allowed: d.Allowed, Reason: d.Reason.String(), Why: why, Delay: d.Delay.Seconds()}
	o := &r.Outcome
	switch {
	case why != "":
	case d.Reason == engine.Banned:
		o.Why = r.refusal(planDenies)
	case d.Reason == engine.Preflight:
		o.Why = "it is a CORS preflight, which no rule counts and no ban denies"
	case d.Reason == engine.Unmatched && slices.ContainsFunc(r.Rules, func(v RuleVerdict) bool { return v.Covers }): // shadows
		o.Why = fmt.Sprintf("no enforced rule covers it, and unmatched is %s", set.Unmatched)
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

// refusal names the override that denies the request.
func (r *ExplainReport) refusal(planDenies bool) string {
	if planDenies {
		return fmt.Sprintf("the override of the plan for %s denies it%s", r.Plan.Key, Because(r.Plan.Override.Why))
	}
	for _, one := range r.Rules {
		if one.Verdict == bypassNames[engine.Refused] && one.Mode == rules.Enforce.String() {
			return fmt.Sprintf("the override of rule %s for %s denies it%s", one.Rule, one.OverrideKey, Because(one.Override.Why))
		}
	}
	return ""
}

// peekStore is a store that charges nothing. Equal charges get equal verdicts.
type peekStore struct {
	limit.Store
	found map[string]limit.Verdict
}

// Charge returns what the charge would get.
func (p *peekStore) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	charge := fmt.Sprint(c.Costs) + c.Key
	found, ok := p.found[charge]
	if !ok {
		if err := p.Peek(ctx, now, c, &found); err != nil {
			return err
		}
		p.found[charge] = found
	}
	*v = found
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
