package usageplans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// Keys are the API keys of a usage plan, as
// `aws apigateway get-usage-plan-keys --usage-plan-id ID` prints them.
type Keys struct {
	Plan string // its id or name
	imports.File
}

// apiKey is a key of a plan, without what it opens.
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
	for number, k := range keys {
		i := slices.IndexFunc(im.plans, func(p plan) bool { return p.ID == k.Plan || p.Name == k.Plan && p.Name != "" })
		if i < 0 {
			return nil, fmt.Errorf("%s has the keys of plan %q, and no plan has this id or name", k.Name, k.Plan)
		}
		p := &im.plans[i]
		given[p] = true
		var content page[apiKey]
		source, err := imports.Read(k.File, number+1, &content)
		if err != nil {
			return nil, err
		}
		r := &fileReader{source, &im.Losses}
		for i, key := range items(r, &content) {
			if im.checkKey(r, fmt.Sprintf("items[%d]", i), &key, p, plans) {
				all = append(all, key.override(p))
			}
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	for i := range im.plans {
		if p := &im.plans[i]; p.isWritten && !given[p] {
			im.Record(p.place, "plan "+p.String()+": its API keys", fmt.Sprintf("they are not in this file: give what "+
				"`aws apigateway get-usage-plan-keys --usage-plan-id %s` prints, or set an override of the plan for each key", imports.Show(p.ID)))
		}
	}
	return all, nil
}

// checkKey reports whether a key gets an override. plans holds the plan of each
// key so far, by the keys' ids.
func (im *importer) checkKey(r *fileReader, path string, k *apiKey, p *plan, plans map[string]*plan) bool {
	switch other := plans[k.ID]; {
	case k.ID == "":
		r.Fail(path+".id", "is missing: give what `aws apigateway get-usage-plan-keys` prints, as JSON")
		return false
	case other != nil:
		im.Record(r.Place(path), fmt.Sprintf("API key %s in plan %s", imports.Show(k.ID), p), fmt.Sprintf("it has plan %s already, and can have one here", other))
		return false
	case k.Type != "" && k.Type != "API_KEY":
		im.Record(r.Place(path), fmt.Sprintf("key %s in plan %s", imports.Show(k.ID), p), fmt.Sprintf("its type is %s, and only API keys are known here", imports.Show(k.Type)))
		return false
	}
	plans[k.ID] = p
	return p.isWritten
}

func (k *apiKey) override(p *plan) imports.Override {
	return imports.Override{
		Rule:     ruledoc.PlanOverrides,
		Key:      strings.Replace(planKey, "{apikey}", imports.KeyValue(k.ID), 1),
		Document: imports.OverrideJSON(ruledoc.Override{Plan: p.nameHere, Why: imports.Short(k.Name)}),
	}
}
