package imports

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// UsagePlans turns the usage plans that `aws apigateway get-usage-plans` prints into a rules document that counts by the id
// of the API key: a token bucket for a throttle, a fixed window for a quota, and a plan of the document for each plan.
//
// A plan of a document says how many, and no more: what differs otherwise, the burst or the period, takes a rule of its own,
// and the plans that it is not for are unlimited by it. Which key has which plan are the Overrides, one for each of keys.
// The keys themselves are secrets and are not read: requests are told apart by the key's id.
//
// The error is of type yamlfile.Errors for what is wrong in a file.
func UsagePlans(plans File, keys ...PlanKeys) (*Document, error) {
	im := &plansImport{forms: map[string]*form{}}
	if err := im.read(plans); err != nil {
		return nil, err
	}
	im.call()
	for _, p := range im.plans {
		im.plan(p)
	}
	if err := im.finish(plans.Name); err != nil {
		return nil, err
	}
	overrides, err := im.overrides(keys)
	if err != nil {
		return nil, err
	}
	text, err := im.doc.write()
	if err != nil {
		return nil, err
	}
	return &Document{YAML: text, Overrides: overrides, Lost: im.sorted()}, nil
}

// planKey is what rules and overrides of plans count by.
const planKey = "apikey:{apikey}"

// plansImport is an import on its way.
type plansImport struct {
	plans []*usagePlan
	forms map[string]*form
	doc   document
	losses
}

// form is what a limit has besides its capacity: plans that have it in common share a rule.
type form struct {
	order int
	kind  string // what it limits
	base  string // of the rule's name
	when  selector
	bound bound // its capacity is the least of all plans
	name  string
}

func (im *plansImport) read(f File) error {
	t, root, err := readTree(f, 0)
	if err != nil {
		return err
	}
	reader := planFile{t, &im.losses}
	ids := map[string]bool{}
	reader.items(root, func(v value) {
		p := reader.plan(v)
		if ids[p.id] {
			t.fail(v, "plan %s is there twice: remove one of them", p)
		}
		ids[p.id] = true
		im.plans = append(im.plans, p)
	})
	return t.err()
}

// planName is the form of names that plans may have.
var planName = regexp.MustCompile(`^[!-~]([ -~]{0,61}[!-~])?$`)

// call gives each plan its name in the document: its own, where plans can have that and no other plan has it.
func (im *plansImport) call() {
	taken, others := map[string]bool{}, names{}
	for _, p := range im.plans {
		p.called = p.name
		for !planName.MatchString(p.called) || taken[p.called] {
			p.called = others.take(p.name, p.id)
		}
		taken[p.called] = true
	}
}

// plan imports a plan.
func (im *plansImport) plan(p *usagePlan) {
	if p.throttle != nil {
		im.throttle(p, *p.throttle, "throttle", nil)
	}
	if p.quota != nil {
		im.quota(p)
	}
	for _, s := range p.stages {
		im.lose(s.spot, fmt.Sprintf("plan %s: API %s, stage %s", p, show(s.api), show(s.stage)),
			"a document is for one API, and no rule can be for the stages of a plan: here the plan is for all that the API serves")
		for _, m := range s.methods {
			im.method(p, m)
		}
	}
}

// throttle gives a plan a token bucket.
func (im *plansImport) throttle(p *usagePlan, t throttle, base string, when selector) {
	b, why := bucket(t)
	if why != "" {
		im.lose(t.spot, fmt.Sprintf("plan %s: %s", p, base), why)
		p.unsaid = append(p.unsaid, base)
		return
	}
	if t.burst == 0 {
		im.lose(t.spot, fmt.Sprintf("plan %s: the burst of %s", p, base), "none is said, or 0: here it is as much as comes in "+b.window)
	}
	im.give(p, b, base, base, when)
}

// bucket returns a throttle as a limit: the capacity is whole in a window of that many seconds.
func bucket(t throttle) (b bound, why string) {
	if t.rate == nil {
		return b, "no rate is said, or one of 0, and a limit is 1 at least: deny the plan's keys by overrides, if that is what is meant"
	}
	seconds, capacity := t.rate.Denom(), t.rate.Num()
	if !seconds.IsInt64() || seconds.Int64() > int64(longestWindow/time.Second) || !capacity.IsInt64() || capacity.Int64() > limit.MaxCapacity {
		return b, "the rate has too many digits: round it"
	}
	window := time.Duration(seconds.Int64()) * time.Second
	b = bound{"token_bucket", capacity.Int64(), windowOf(window), t.burst}
	interval := (window + time.Duration(b.capacity) - 1) / time.Duration(b.capacity)
	if max(b.capacity, b.burst) > int64(limit.MaxDrain/interval) {
		return b, "the burst would take more than ten years to refill"
	}
	if b.burst == b.capacity {
		b.burst = 0 // a plan's burst follows its capacity where the rule's own are the same
	}
	return b, ""
}

// give gives a plan a limit, by the rule that has its form.
func (im *plansImport) give(p *usagePlan, b bound, kind, base string, when selector) {
	capacity := b.capacity
	b.capacity = 0
	id := fmt.Sprint(base, when, b)
	f := im.forms[id]
	if f == nil {
		b.capacity = capacity
		f = &form{order: len(im.forms), kind: kind, base: base, when: when, bound: b}
		im.forms[id] = f
	}
	if have, twice := p.capacities[f]; twice {
		im.lose(p.spot, fmt.Sprintf("plan %s: %s", p, base), "two stages have one each: here they are one, of the smaller rate")
		capacity = min(capacity, have)
	}
	f.bound.capacity = min(f.bound.capacity, capacity)
	p.capacities[f] = capacity
}

// quota gives a plan a fixed window.
func (im *plansImport) quota(p *usagePlan) {
	q, what := p.quota, fmt.Sprintf("plan %s: quota", p)
	if q.limit == 0 {
		im.lose(q.spot, what, "its limit is 0, and a limit is 1 at least: deny the plan's keys by overrides, if that is what is meant")
		p.unsaid = append(p.unsaid, "quota")
		return
	}
	if q.offset > 0 {
		im.lose(q.spot, what+": offset", "is taken off the first period alone: grants raise a limit for a time, and nothing lowers it")
	}
	if q.period == periods["WEEK"] {
		im.lose(q.spot, what+": the first day of the week", "API Gateway does not say which it is: here weeks begin on Monday, in UTC")
	}
	im.give(p, bound{"fixed_window", q.limit, q.period, 0}, "quota", "quota-"+q.period, nil)
}

// methodKey is what a throttle of one method stands under, such as "/pets/GET".
var methodKey = regexp.MustCompile(`^(/.*)/([A-Z]+)$`)

// method gives a plan a token bucket for one method of a resource. It comes beside the plan's own, as it does there.
func (im *plansImport) method(p *usagePlan, m methodThrottle) {
	why := "is not the path of a resource and a method, such as /pets/GET"
	if parts := methodKey.FindStringSubmatch(m.path); parts != nil {
		route, method := parts[1], parts[2]
		if before, greedy := strings.CutSuffix(route, "+}"); greedy {
			route = before[:strings.LastIndexByte(before, '/')] + "/**"
		}
		when := selector{{"route", []string{route}}}
		if method != "ANY" {
			when = append(when, criterion{"methods", []string{method}})
		}
		if why = refused("all", when); why == "" {
			im.throttle(p, m.throttle, "throttle "+method+" "+show(route), when)
			return
		}
	}
	im.lose(m.spot, fmt.Sprintf("plan %s: the throttle of %s", p, show(m.path)), why)
}

// maxPlans is the most plans, and the most rules that they speak of: an account of AWS has fewer.
const maxPlans = 1000

// finish writes down the rules and the plans.
func (im *plansImport) finish(file string) error {
	im.doc.head = []string{"Imported from the usage plans of API Gateway in " + show(file) + "."}
	if len(im.plans) > maxPlans || len(im.forms) > maxPlans {
		return fmt.Errorf("%d plans with %d different limits are more than a document can hold (%d): split the file",
			len(im.plans), len(im.forms), maxPlans)
	}
	forms := slices.SortedFunc(maps.Values(im.forms), func(a, b *form) int { return cmp.Compare(a.order, b.order) })
	taken := names{}
	for _, f := range forms {
		words := []string{f.base}
		if slices.ContainsFunc(forms, func(o *form) bool { return o != f && o.base == f.base }) {
			words = append(words, f.bound.apart())
		}
		f.name = taken.take(words...)
		im.doc.rules = append(im.doc.rules, &rule{
			order: f.order, comment: f.base + ": without a plan, the least that any plan has", name: f.name, key: planKey,
			when: append(f.when[:len(f.when):len(f.when)], criterion{"caller", []string{"known"}}), limit: f.bound,
		})
	}
	for _, p := range im.plans {
		im.say(p, forms)
	}
	if len(forms) > 0 {
		im.lose(spot{file, 0}, "API keys in no plan", "API Gateway refuses them where a method asks for a key: here they have the least that any plan has")
	}
	return nil
}

// apart names what tells a token bucket from others.
func (b bound) apart() string {
	if b.burst == 0 {
		return "per-" + b.window
	}
	return fmt.Sprintf("burst-%d-per-%s", b.burst, b.window)
}

// say writes down a plan, if there is anything to say of it.
func (im *plansImport) say(p *usagePlan, forms []*form) {
	said := plan{comment: p.spot.text + ": " + p.String(), name: p.called}
	for _, f := range forms {
		capacity, ok := p.capacities[f]
		switch {
		case ok:
			said.capacities = append(said.capacities, fmt.Sprintf("%s: %d", quote(f.name), capacity))
		case !slices.Contains(p.unsaid, f.kind):
			said.capacities = append(said.capacities, quote(f.name)+": unlimited")
		}
	}
	if p.said = len(said.capacities) > 0; !p.said {
		im.lose(p.spot, "plan "+p.String(), "nothing is left of it: its keys are limited as those without a plan")
		return
	}
	im.doc.key = planKey
	im.doc.plans = append(im.doc.plans, said)
}
