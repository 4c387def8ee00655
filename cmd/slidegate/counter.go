package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// counter is what one rule counts a key by, and what it would say of the next request.
type counter struct {
	rule     *rules.Rule
	terms    rules.Terms
	override *overrideTold // that the terms come from; nil for none
	missing  []string      // what its key would take; nil where it is known, or where there is none
	banned   *overrideTold // of the plan, which denies everything to the caller; nil for none
	// unplanned is what the key of the plan's override would take, beside the credentials that were given.
	unplanned []string
	charge    limit.Charge
	verdict   limit.Verdict
}

func newCounter(rule *rules.Rule, key string, terms rules.Terms) counter {
	return counter{rule: rule, terms: terms, charge: limit.Charge{Key: rule.Item(key, &terms), Limits: terms.Limits, Costs: terms.Costs}}
}

// idle says why the counter is not asked; it is empty for one that is.
func (ct *counter) idle() string {
	switch {
	case ct.terms.Denied, ct.banned != nil:
		return "refused"
	case ct.terms.Unlimited:
		return "unlimited"
	}
	return ""
}

// limitTold is a limit and how much of it is used.
type limitTold struct {
	limitShown
	Used       int64   `json:"used"`
	Remaining  int64   `json:"remaining"`
	Reset      float64 `json:"reset_s"`       // until the key is empty again
	RetryAfter float64 `json:"retry_after_s"` // until the next request is allowed; 0 for now, -1 for never
}

func (ct *counter) tell(i int) limitTold {
	l, r := &ct.terms.Limits[i], &ct.verdict.Limits[i]
	cost := rules.Fixed(ct.charge.Costs[i])
	return limitTold{showLimit(l, &cost), l.Most() - r.Remaining, r.Remaining, r.Reset.Seconds(), retrySeconds(r.RetryAfter)}
}

func retrySeconds(d time.Duration) float64 {
	if d == limit.Never {
		return -1
	}
	return d.Seconds()
}

// holder is whose counters are looked at: what is known of the caller besides the key, where plans and the first days of
// months depend on it.
type holder struct {
	said *said
	req  *rules.Request
}

// plan returns the plan that the caller has, empty for none, and the override that denies everything to the caller, nil for
// none. Where the override's key is not known, the plan is the one that the caller's own claims name.
func (h *holder) plan(ctx context.Context, key string) (plan string, banned *overrideTold, err error) {
	if key == "" {
		return h.said.set.Plan(h.req), nil, nil
	}
	o, told, err := h.said.decides(ctx, rules.PlanOverrides, key)
	if err != nil {
		return "", nil, err
	}
	plan, denied, _ := h.said.set.ResolvePlan(h.req, o, o.InForce(h.said.now))
	if denied {
		banned = told
	}
	return plan, banned, nil
}

// counter returns the counter of a key of the rule, as the key's override and the caller's plan have it.
func (h *holder) counter(ctx context.Context, rule *rules.Rule, keys rules.Keys) (ct counter, err error) {
	plan, banned, err := h.plan(ctx, keys.Plan.Key)
	if err != nil {
		return ct, err
	}
	var o *rules.Override
	var told *overrideTold
	if keys.Override.Key != "" {
		if o, told, err = h.said.limits(ctx, rule, keys.Override.Key); err != nil {
			return ct, fmt.Errorf("rule %s: %w", rule.Name, err)
		}
	}
	ct = newCounter(rule, keys.Counter, rule.Terms(h.req, plan, o, h.said.now))
	ct.override, ct.missing, ct.banned = told, keys.Override.Missing, banned
	if len(h.req.Claims) > 0 || h.req.APIKey != "" {
		ct.unplanned = keys.Plan.Missing
	}
	return ct, nil
}

// toGive says by which flags sources are made known; empty where none of them would do.
func toGive(sources []string) string {
	var flags []string
	for _, source := range sources {
		name, isClaim := strings.CutPrefix(source, "jwt.")
		switch {
		case isClaim && strings.HasPrefix(name, "/"):
			flags = append(flags, "--claims JSON with "+name)
		case isClaim:
			flags = append(flags, "--claim "+name+"=VALUE")
		case source == "apikey":
			flags = append(flags, "--apikey ID")
		default:
			return ""
		}
	}
	return strings.Join(flags, " ")
}

// retry says when the next request would be allowed.
func (t *limitTold) retry() string {
	switch {
	case t.RetryAfter == 0:
		return "now"
	case t.RetryAfter < 0:
		return "never"
	}
	return waitSeconds(t.RetryAfter)
}
