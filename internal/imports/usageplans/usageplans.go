// Package usageplans imports usage plans of Amazon API Gateway.
package usageplans

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// Import turns the usage plans that `aws apigateway get-usage-plans` prints
// into a rules document that counts by the ids of API keys. A throttle becomes
// a token bucket, a quota a fixed window, and each usage plan a plan.
//
// A plan of a document only changes capacities. Limits that differ otherwise,
// in burst or period, become rules of their own, which do not limit the plans
// that lack such a limit. Overrides say which key has which plan: one for each
// of keys. Import does not read the keys themselves, which are secrets.
//
// The error is of type yamlfile.Errors for what is wrong in a file.
func Import(plans imports.File, keys ...Keys) (*imports.Document, error) {
	im := &importer{byShape: map[shape]*sharedLimit{}}
	if err := im.read(plans); err != nil {
		return nil, err
	}
	im.namePlans()
	for i := range im.plans {
		im.importPlan(&im.plans[i])
	}
	if err := im.addRules(plans.Name); err != nil {
		return nil, err
	}
	for i := range im.plans {
		im.addPlan(&im.plans[i])
	}
	overrides, err := im.overrides(keys)
	if err != nil {
		return nil, err
	}
	text, err := im.draft.Write()
	if err != nil {
		return nil, err
	}
	return &imports.Document{YAML: text, Overrides: overrides, Lost: im.Sorted()}, nil
}

// planKey is the key of all rules, and of the overrides of plans.
const planKey = "apikey:{apikey}"

// importer is the state of one import.
type importer struct {
	plans   []plan
	limits  []*sharedLimit
	byShape map[shape]*sharedLimit // of limits
	draft   imports.Draft
	imports.Losses
}

func (im *importer) read(f imports.File) error {
	var content page[plan]
	source, err := imports.Read(f, 0, &content)
	if err != nil {
		return err
	}
	r := &fileReader{source, &im.Losses}
	im.plans = items(r, &content)
	ids := map[string]bool{}
	for i := range im.plans {
		p, path := &im.plans[i], fmt.Sprintf("items[%d]", i)
		r.checkPlan(path, p)
		if ids[p.ID] {
			r.Fail(path, "plan %s is there twice: remove one of them", p)
		}
		ids[p.ID] = true
	}
	return r.Err()
}

// planName matches the names that plans of a document may have.
var planName = ruledoc.Pattern(ruledoc.Override{}, "plan")

// namePlans gives each plan its name in the document: its own name if a plan
// may have that and no other plan has it.
func (im *importer) namePlans() {
	taken, made := map[string]bool{}, imports.Names{}
	for i := range im.plans {
		p := &im.plans[i]
		p.nameHere = p.Name
		for !planName.MatchString(p.nameHere) || taken[p.nameHere] {
			p.nameHere = made.Take(p.Name, p.ID)
		}
		taken[p.nameHere] = true
	}
}

// addPlan adds a plan to the document, if anything is left of it.
func (im *importer) addPlan(p *plan) {
	capacities := im.planCapacities(p)
	if len(capacities) == 0 {
		im.Record(p.place, "plan "+p.String(), "nothing is left of it: its keys are limited like keys without a plan")
		return
	}
	p.isWritten = true
	if im.draft.Plans == nil {
		im.draft.Plans = map[string]ruledoc.Plan{}
		im.draft.Plan = &ruledoc.PlanSource{Overrides: planKey}
	}
	im.draft.Plans[p.nameHere] = capacities
	im.draft.Comment("plans."+p.nameHere, p.place.Name+": "+p.String())
}
