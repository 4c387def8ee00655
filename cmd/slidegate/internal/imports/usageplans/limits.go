package usageplans

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// sharedLimit becomes a rule. The limits of plans that differ only in capacity
// share one.
type sharedLimit struct {
	kind       string        // "throttle" or "quota"
	name       string        // of the rule
	limit      ruledoc.Limit // without the capacity
	capacities map[*plan]int64
}

// addThrottle gives a plan a token bucket.
func (im *importer) addThrottle(p *plan) {
	t := p.Throttle
	l, whyNot := t.bucket()
	if whyNot != "" {
		im.lose(t.place, p, "throttle", whyNot)
		p.lostKinds["throttle"] = true
		return
	}
	if t.Burst == 0 {
		im.lose(t.place, p, "the burst of throttle", "the file states none, or 0: here it is what "+l.Window+" allows")
	}
	im.addLimit(p, sharedLimit{kind: "throttle", name: "throttle", limit: l})
}

// bucket returns a limit in the shortest window of whole seconds in which the
// rate allows a whole number of requests.
func (t *throttle) bucket() (l ruledoc.Limit, whyNot string) {
	if t.rate.Sign() == 0 {
		return l, "the file states no rate, or 0, and a limit is at least 1: if you mean that, deny the plan's keys by overrides"
	}
	seconds, units := t.rate.Denom(), t.rate.Num()
	if seconds.Cmp(big.NewInt(int64(ruledoc.MaxWindow/time.Second))) > 0 || units.Cmp(big.NewInt(limit.MaxCapacity)) > 0 {
		return l, "the rate has too many digits: round it"
	}
	capacity := units.Int64()
	window := time.Duration(seconds.Int64()) * time.Second
	interval := (window + time.Duration(capacity) - 1) / time.Duration(capacity)
	if max(capacity, t.Burst) > int64(limit.MaxDrain/interval) {
		return l, "the burst would take more than ten years to refill"
	}
	l = ruledoc.Limit{Algorithm: "token_bucket", Capacity: capacity, Window: ruledoc.FormatDuration(window)}
	if t.Burst != capacity {
		l.Burst = t.Burst
	}
	return l, ""
}

func (im *importer) addQuota(p *plan) {
	q := p.Quota
	if q.Limit == 0 {
		im.lose(q.place, p, "quota", "its limit is 0, and a limit is at least 1: if you mean that, deny the plan's keys by overrides")
		p.lostKinds["quota"] = true
		return
	}
	if q.Offset > 0 {
		im.lose(q.place, p, "quota: offset", "it lowers the limit of the first period alone: grants raise a limit for a time, and nothing lowers it")
	}
	if q.Period == "WEEK" {
		im.lose(q.place, p, "quota: the first day of the week", "API Gateway does not document it: here weeks begin on Monday, in UTC")
	}
	l := ruledoc.Limit{Algorithm: "fixed_window", Capacity: q.Limit, Window: periods[q.Period]}
	im.addLimit(p, sharedLimit{kind: "quota", name: "quota-" + l.Window, limit: l})
}

// addLimit gives a plan a limit, with its capacity.
func (im *importer) addLimit(p *plan, l sharedLimit) {
	capacity := l.limit.Capacity
	l.limit.Capacity = 0
	id := fmt.Sprint(l.name, l.limit)
	shared := im.byID[id]
	if shared == nil {
		l.capacities = map[*plan]int64{}
		shared = &l
		im.byID[id] = shared
		im.limits = append(im.limits, shared)
		im.named[l.name]++
	}
	shared.capacities[p] = capacity
}

// maxPlans bounds the plans, and the rules. An AWS account has fewer.
const maxPlans = 1000

// addRules makes the rules. Throttles have their burst and their window in their
// names if there are several. Two quotas of one name would be one limit.
func (im *importer) addRules(file string) error {
	im.Comment("", "Imported from the usage plans of API Gateway in "+imports.Show(file)+".")
	if len(im.plans) > maxPlans || len(im.limits) > maxPlans {
		return fmt.Errorf("%d plans with %d different limits are more than a document can hold (%d): split the file",
			len(im.plans), len(im.limits), maxPlans)
	}
	for _, l := range im.limits {
		comment := l.name + ": without a plan, the least that any plan has"
		if im.named[l.name] > 1 {
			if l.limit.Burst > 0 {
				l.name += fmt.Sprintf("-burst-%d", l.limit.Burst)
			}
			l.name += "-per-" + l.limit.Window
		}
		l.limit.Capacity = slices.Min(slices.Collect(maps.Values(l.capacities)))
		when := &ruledoc.Selector{Caller: ruledoc.Texts{"known"}}
		im.AddRule(imports.Place{}, ruledoc.Rule{Name: l.name, When: when, Key: planKey, Limits: []ruledoc.Limit{l.limit}}, comment)
	}
	if len(im.limits) > 0 {
		im.Record(imports.Place{Name: file}, "API keys in no plan",
			"API Gateway refuses them if a method asks for a key: here they have the least that any plan has")
	}
	return nil
}

// Keys are the API keys of a usage plan, as
// `aws apigateway get-usage-plan-keys --usage-plan-id ID` prints them.
type Keys struct {
	Plan string // its id or name
	imports.File
}

// apiKey is a key of a plan, without its secret value.
type apiKey struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Value string `json:"value"` // a secret, never used
	Name  string `json:"name"`
}

// shortestValue is the length of the shortest secret value that API Gateway takes.
// Ids that are no values have 10 characters; a file may lack the values.
const shortestValue = 20

// overrides returns an override for each key, with the key's plan.
func (im *importer) overrides(keys []Keys) (all []imports.Override, err error) {
	plans := map[string]*plan{} // by the id of their keys
	given := map[*plan]bool{}
	for _, k := range keys {
		i := slices.IndexFunc(im.plans, func(p plan) bool { return p.ID == k.Plan || p.Name == k.Plan && p.Name != "" })
		if i < 0 {
			return nil, fmt.Errorf("%s has the keys of plan %q, and no plan has this id or name", k.Name, k.Plan)
		}
		p := &im.plans[i]
		given[p] = true
		var content page[apiKey]
		s := im.Read(k.File, &content)
		if s == nil {
			continue
		}
		for i, one := range items(s, &content) {
			path := fmt.Sprintf("items[%d]", i)
			if one.ID == "" {
				s.Fail(path+".id", "is missing: give what `aws apigateway get-usage-plan-keys` prints, as JSON")
				continue
			}
			if one.Name == one.ID || one.Name == one.Value {
				one.Name = "" // it may be the secret
			}
			if one.ID == one.Value || len(one.ID) >= shortestValue {
				im.Record(s.Place(path), fmt.Sprintf("API key %q in plan %s", imports.Short(one.Name), p),
					"its id is its secret value, as of keys from before August 2016, and the authorizer takes it for none: make a new key")
				continue
			}
			what := fmt.Sprintf("key %s in plan %s", imports.Show(one.ID), p)
			if other := plans[one.ID]; other != nil {
				im.Record(s.Place(path), "API "+what, fmt.Sprintf("it has plan %s already, and can have one here", other))
				continue
			}
			if one.Type != "" && one.Type != "API_KEY" {
				im.Record(s.Place(path), what, fmt.Sprintf("its type is %s, and only API keys are known here", imports.Show(one.Type)))
				continue
			}
			plans[one.ID] = p
			if p.nameHere != "" {
				id := strings.Replace(planKey, "{apikey}", key.Escape(one.ID), 1)
				all = append(all, imports.NewOverride(id, ruledoc.Override{Plan: p.nameHere, Why: imports.Short(one.Name)}))
			}
		}
	}
	for i := range im.plans {
		if p := &im.plans[i]; p.nameHere != "" && !given[p] {
			im.lose(p.place, p, "its API keys", fmt.Sprintf("they are not in this file: give what "+
				"`aws apigateway get-usage-plan-keys --usage-plan-id %s` prints, or set an override of the plan for each key", imports.Show(p.ID)))
		}
	}
	return all, im.Err()
}
