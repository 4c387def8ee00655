package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// PlanKeys are the API keys of a usage plan: what `aws apigateway get-usage-plan-keys --usage-plan-id ID` prints.
type PlanKeys struct {
	Plan string // its id or name
	File
}

// overrides say which API key has which plan.
func (im *plansImport) overrides(keys []PlanKeys) ([]Override, error) {
	var all []Override
	var errs yamlfile.Errors
	plans := map[string]*usagePlan{} // of each key
	given := map[*usagePlan]bool{}
	for number, k := range keys {
		i := slices.IndexFunc(im.plans, func(p *usagePlan) bool { return p.id == k.Plan || p.name == k.Plan && p.name != "" })
		if i < 0 {
			return nil, fmt.Errorf("%s has the keys of plan %q, and there is none of this id or name", k.Name, k.Plan)
		}
		given[im.plans[i]] = true
		t, root, err := readTree(k.File, number+1)
		if err != nil {
			return nil, err
		}
		reader := planFile{t, &im.losses}
		reader.items(root, func(v value) { all = im.key(&reader, v, im.plans[i], plans, all) })
		errs = append(errs, t.errors...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	for _, p := range im.plans {
		if p.said && !given[p] {
			im.lose(p.spot, "plan "+p.String()+": its API keys", fmt.Sprintf("they are not in this file: give what "+
				"`aws apigateway get-usage-plan-keys --usage-plan-id %s` prints, or set an override of the plan for each key", show(p.id)))
		}
	}
	return all, nil
}

// key adds the override of one API key.
func (im *plansImport) key(f *planFile, v value, p *usagePlan, plans map[string]*usagePlan, all []Override) []Override {
	fields := f.fields(v, "id", "type", "value", "name")
	id, kind, name := f.text(fields["id"]), f.text(fields["type"]), f.text(fields["name"])
	switch other := plans[id]; {
	case id == "":
		f.fail(v, "id is missing: give what `aws apigateway get-usage-plan-keys` prints, as JSON")
		return all
	case other != nil:
		im.lose(f.spot(v), fmt.Sprintf("API key %s in plan %s", show(id), p), fmt.Sprintf("it has plan %s already, and can have one here", other))
		return all
	case kind != "" && kind != "API_KEY":
		im.lose(f.spot(v), fmt.Sprintf("key %s in plan %s", show(id), p), fmt.Sprintf("its type is %s, and only API keys are known here", show(kind)))
		return all
	}
	plans[id] = p
	if !p.said {
		return all
	}
	text, _ := json.Marshal(struct { // two strings: it cannot fail
		Plan string `json:"plan"`
		Why  string `json:"why,omitempty"`
	}{p.called, short(name)})
	return append(all, Override{rules.PlanOverrides, strings.Replace(planKey, "{apikey}", keyValue(id), 1), string(text)})
}
