package usageplans

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// shape is all of a limit but its capacity. Plans whose limits have the same
// shape share a rule.
type shape struct {
	kind              string // "throttle", "throttle GET /pets" or "quota"
	base              string // the start of its rule's name
	route, method     string // the requests that it covers; "" for all
	algorithm, window string
	burst             int64 // 0 if it follows the capacity
}

// sharedLimit becomes a rule.
type sharedLimit struct {
	shape
	capacities map[*plan]int64
	name       string
}

func (im *importer) importPlan(p *plan) {
	if p.Throttle != nil {
		im.addThrottle(p, p.Throttle, shape{kind: "throttle"})
	}
	if p.Quota != nil {
		im.addQuota(p)
	}
	for _, s := range p.Stages {
		im.lose(s.place, p, fmt.Sprintf("API %s, stage %s", imports.Show(s.API), imports.Show(s.Stage)),
			"a document is for one API, and no rule can be for the stages of a plan: here the plan is for all that the API serves")
		for _, path := range slices.Sorted(maps.Keys(s.Methods)) {
			if t := s.Methods[path]; t != nil {
				im.addMethod(p, path, t)
			}
		}
	}
}

// addThrottle gives a plan a token bucket; s has its kind and its requests.
func (im *importer) addThrottle(p *plan, t *throttle, s shape) {
	capacity, whyNot := t.fill(&s)
	if whyNot != "" {
		im.lose(t.place, p, s.kind, whyNot)
		p.lostKinds[s.kind] = true
		return
	}
	if t.Burst == 0 {
		im.lose(t.place, p, "the burst of "+s.kind, "the file states none, or 0: here it is what "+s.window+" allows")
	}
	s.base = s.kind
	im.addLimit(p, s, capacity)
}

// fill makes a shape a token bucket: the shortest window of whole seconds in
// which the rate allows a whole number of requests, and that number.
func (t *throttle) fill(s *shape) (capacity int64, whyNot string) {
	if t.rate.Sign() == 0 {
		return 0, "the file states no rate, or 0, and a limit is at least 1: if you mean that, deny the plan's keys by overrides"
	}
	seconds, units := t.rate.Denom(), t.rate.Num()
	if seconds.Cmp(big.NewInt(int64(ruledoc.MaxWindow/time.Second))) > 0 || units.Cmp(big.NewInt(limit.MaxCapacity)) > 0 {
		return 0, "the rate has too many digits: round it"
	}
	capacity = units.Int64()
	window := time.Duration(seconds.Int64()) * time.Second
	interval := (window + time.Duration(capacity) - 1) / time.Duration(capacity)
	if max(capacity, t.Burst) > int64(limit.MaxDrain/interval) {
		return 0, "the burst would take more than ten years to refill"
	}
	s.algorithm, s.window = "token_bucket", ruledoc.FormatDuration(window)
	if t.Burst != capacity {
		s.burst = t.Burst
	}
	return capacity, ""
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
	window := periods[q.Period]
	im.addLimit(p, shape{kind: "quota", base: "quota-" + window, algorithm: "fixed_window", window: window}, q.Limit)
}

// methodPath matches the name of a method's throttle, such as "/pets/GET".
var methodPath = regexp.MustCompile(`^(/.*)/([A-Z]+)$`)

// addMethod gives a plan a token bucket for one method of a resource. It
// applies beside the plan's own, as in API Gateway.
func (im *importer) addMethod(p *plan, path string, t *throttle) {
	whyNot := "is not the path of a resource and a method, such as /pets/GET"
	if parts := methodPath.FindStringSubmatch(path); parts != nil {
		s := shape{route: parts[1], method: parts[2]}
		if before, greedy := strings.CutSuffix(s.route, "+}"); greedy {
			s.route = before[:strings.LastIndexByte(before, '/')] + "/**"
		}
		if whyNot = imports.Refused("all", s.requests()); whyNot == "" {
			s.kind = "throttle " + s.method + " " + imports.Show(s.route)
			im.addThrottle(p, t, s)
			return
		}
	}
	im.lose(t.place, p, "the throttle of "+imports.Show(path), whyNot)
}

// requests selects the requests that a limit covers.
func (s *shape) requests() *ruledoc.Selector {
	selector := &ruledoc.Selector{Caller: ruledoc.Texts{"known"}}
	if s.route != "" {
		selector.Route = ruledoc.Texts{s.route}
	}
	if s.method != "" && s.method != "ANY" {
		selector.Methods = ruledoc.Texts{s.method}
	}
	return selector
}

// addLimit gives a plan a limit.
func (im *importer) addLimit(p *plan, s shape, capacity int64) {
	l := im.byShape[s]
	if l == nil {
		l = &sharedLimit{shape: s, capacities: map[*plan]int64{}}
		im.byShape[s] = l
		im.limits = append(im.limits, l)
	}
	if other, twice := l.capacities[p]; twice {
		im.lose(p.place, p, s.base, "two stages have one each: here they are one, of the smaller rate")
		capacity = min(capacity, other)
	}
	l.capacities[p] = capacity
}

// maxPlans bounds the plans, and the rules. An AWS account has fewer.
const maxPlans = 1000

// addRules makes the rules.
func (im *importer) addRules(file string) error {
	im.Comment("", "Imported from the usage plans of API Gateway in "+imports.Show(file)+".")
	if len(im.plans) > maxPlans || len(im.limits) > maxPlans {
		return fmt.Errorf("%d plans with %d different limits are more than a document can hold (%d): split the file",
			len(im.plans), len(im.limits), maxPlans)
	}
	names, sameBase := imports.Names{}, map[string]int{}
	for _, l := range im.limits {
		sameBase[l.base]++
	}
	for _, l := range im.limits {
		words := []string{l.base}
		if sameBase[l.base] > 1 {
			words = append(words, l.qualifier())
		}
		l.name = names.Take(words...)
		least := slices.Min(slices.Collect(maps.Values(l.capacities)))
		im.AddRule(imports.Place{}, ruledoc.Rule{
			Name: l.name, When: l.requests(), Key: planKey,
			Limits: []ruledoc.Limit{{Algorithm: l.algorithm, Capacity: least, Window: l.window, Burst: l.burst}},
		}, l.base+": without a plan, the least that any plan has")
	}
	if len(im.limits) > 0 {
		im.Record(imports.Place{Name: file}, "API keys in no plan", "API Gateway refuses them if a method asks for a key: here they have the least that any plan has")
	}
	return nil
}

// qualifier tells the names of limits with the same base apart.
func (s *shape) qualifier() string {
	if s.burst == 0 {
		return "per-" + s.window
	}
	return fmt.Sprintf("burst-%d-per-%s", s.burst, s.window)
}
