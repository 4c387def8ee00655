// Package usageplans imports usage plans of Amazon API Gateway.
package usageplans

import (
	"fmt"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Import turns the usage plans that `aws apigateway get-usage-plans` prints
// into a rules document that counts by the ids that API Gateway states of its own
// API keys. A throttle becomes
// a token bucket, a quota a fixed window, and each usage plan a plan.
//
// A plan of a document only changes capacities. Limits that differ otherwise,
// in burst or period, become rules of their own, which do not limit the plans
// that lack such a limit. Overrides say which key has which plan: one for each
// of keys. Import does not read the keys themselves, which are secrets.
//
// The error is of type yamlfile.Errors for what is wrong in a file.
func Import(plans imports.File, keys ...Keys) (*imports.Result, error) {
	im := &importer{Builder: imports.NewBuilder(), byID: map[string]*sharedLimit{}, named: map[string]int{}}
	im.Authentication = &ruledoc.Authentication{APIKey: &ruledoc.KeySource{From: "api_gateway"}}
	if err := im.read(plans); err != nil {
		return nil, err
	}
	for i := range im.plans {
		p := &im.plans[i]
		if p.Throttle != nil {
			im.addThrottle(p)
		}
		if p.Quota != nil {
			im.addQuota(p)
		}
	}
	if err := im.addRules(plans.Name); err != nil {
		return nil, err
	}
	im.addPlans()
	overrides, err := im.overrides(keys)
	if err != nil {
		return nil, err
	}
	result, err := im.Result()
	if err == nil {
		result.Overrides, result.OverridesOf = append(result.Overrides, overrides...), "plan"
	}
	return result, err
}

// planKey is the key of all rules, and of the overrides of plans.
const planKey = "apikey:{apikey}"

// importer is the state of one import.
type importer struct {
	imports.Builder
	plans  []plan
	limits []*sharedLimit
	byID   map[string]*sharedLimit // limits, by every field except their capacities
	named  map[string]int          // how many of the limits have a name
}

// planName matches the names that plans of a document may have.
var planName = ruledoc.Pattern(ruledoc.Override{}, "plan")

// addPlans adds each plan to the document, if anything is left of it. A plan
// keeps its own name if a plan may have that and no other plan has it.
func (im *importer) addPlans() {
	taken, made := map[string]bool{}, imports.Names{}
	for i := range im.plans {
		p := &im.plans[i]
		name := p.Name
		for !planName().MatchString(name) || taken[name] {
			name = made.Take(p.Name, p.ID)
		}
		taken[name] = true
		capacities := im.planCapacities(p)
		if len(capacities) == 0 {
			im.Record(p.place, "plan "+p.String(), "nothing is left of it: its keys are limited like keys without a plan")
			continue
		}
		p.nameHere = name
		if im.Plans == nil {
			im.Plans = map[string]ruledoc.Plan{}
			im.Plan = &ruledoc.PlanSource{Overrides: planKey}
		}
		im.Plans[name] = capacities
		im.Comment("plans."+name, p.place.Name+": "+p.String())
	}
}

// planCapacities returns a plan's capacity of each rule. It leaves out a rule if
// the import lost this kind of limit of the plan.
func (im *importer) planCapacities(p *plan) ruledoc.Plan {
	capacities := ruledoc.Plan{}
	for _, l := range im.limits {
		capacity, ok := l.capacities[p]
		switch {
		case ok:
			capacities[l.name] = ruledoc.PlanCapacity{Capacity: ruledoc.Capacities{"": capacity}}
		case !p.lostKinds[l.kind]:
			capacities[l.name] = ruledoc.PlanCapacity{Unlimited: true}
		}
	}
	return capacities
}

// lose records a part of a plan that is lost.
func (im *importer) lose(at imports.Place, p *plan, part, why string) {
	im.Record(at, fmt.Sprintf("plan %s: %s", p, part), why)
}
