package usageplans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

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
	Value any    `json:"value"` // a secret, never used
	Name  string `json:"name"`
}

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
