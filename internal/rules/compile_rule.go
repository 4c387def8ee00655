package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// rules compiles all rules, and then checks what they have in common.
func (c *compiler) rules() {
	taken := map[string]problem.Path{}
	for i := range c.doc.Rules {
		c.set.Rules = append(c.set.Rules, c.rule(i, taken))
	}
	c.checkCounters()
}

// rule compiles rule i. taken has the names of the rules before it.
func (c *compiler) rule(i int, taken map[string]problem.Path) *Rule {
	d, path := &c.doc.Rules[i], problem.Root("rules").At(i)
	r := &Rule{
		Name: d.Name, Key: d.Key, Atomic: d.Atomic, Lease: d.Lease, Quiet: d.Headers == "off", prefix: d.Name + "|", cost: Fixed(1),
		SettleWithin: ruledoc.DefaultSettleWithin, Reservations: cmp.Or(d.Reservations, ruledoc.DefaultReservations),
		plans:   map[string]*Terms{},
		OnError: OnError(indexOf(failures, d.OnError)), Mode: Mode(indexOf(modes, d.Mode)),
	}
	if c.name(path, "name", d.Name, ruleName, taken); c.isWrong(path.To("name")) {
		r.Name = "" // which no message suggests
	}
	if meaning, ok := ruledoc.ReservedNames[d.Name]; ok {
		c.fail(path.To("name"), problem.ReservedName, d.Name, meaning)
	}
	if d.When != nil {
		r.when = c.selector(path.To("when"), d.When, problem.New(problem.EmptyWhen))
	}
	if d.Unless != nil {
		unless := c.selector(path.To("unless"), d.Unless, problem.New(problem.EmptySelector, "leave out", "which ones"))
		r.unless = &unless
	}
	c.keys(path, d, r)
	if d.Counter != "" {
		c.name(path, "counter", d.Counter, ruleName, nil)
		r.prefix = d.Counter + "|"
	}
	if r.Denied = d.Denied; d.Denied != nil && !c.isWrong(problem.Root("denied")) { // what it takes from there is reported there
		c.denied(path.To("denied"), d.Denied)
	}
	c.ruleLimits(i, path, d, r)
	r.refunds = c.statuses(path.To("refund_on"), d.RefundOn)
	if r.Mode == Shadow && r.Atomic {
		c.fail(path.To("atomic"), problem.ShadowAtomic)
	}
	c.lease(path.To("lease"), r)
	c.reservations(path, d, r)
	return r
}

// reservations compiles how long a reservation can be settled, and how many a key
// has. A field without effect is a mistake: its author believes that it works.
func (c *compiler) reservations(path problem.Path, d *ruledoc.Rule, r *Rule) {
	if d.SettleWithin != "" {
		var wrong problem.Fault
		r.SettleWithin, wrong = holdDuration(d.SettleWithin)
		c.check(path.To("settle_within"), wrong)
	}
	why := ""
	switch settles := slices.ContainsFunc(r.Costs, func(c Cost) bool { return c.Settle }); {
	case c.isWrong(path):
	case InFlight(r.Limits) >= 0:
		why = "in_flight and expires of the limit in flight say how many reservations there are, and for how long"
	case r.Lease > 0:
		why = "charges that are made ahead by lease leave no reservations"
	case !settles && len(r.refunds) == 0 && d.SettleWithin != "":
		c.fail(path.To("settle_within"), problem.Instead, "nothing of the rule is settled", "settle: true in its cost, or refund_on, or remove it")
	}
	if why != "" && (d.SettleWithin != "" || d.Reservations != 0) {
		c.fail(path, problem.Remove, why, "settle_within and reservations")
	}
}

// lease checks a rule whose charges are made ahead. A lease ends with the slot in
// which it was charged, so all limits of the rule must count by slots.
func (c *compiler) lease(path problem.Path, r *Rule) {
	without := slices.IndexFunc(r.Limits, func(l limit.Limit) bool { return !l.Correctable() })
	switch {
	case r.Atomic && InFlight(r.Limits) >= 0:
		c.fail(path[:len(path)-1].To("atomic"), problem.AtomicInFlight)
	case r.Lease == 0:
	case r.Atomic:
		c.fail(path, problem.LeaseAtomic)
	case InFlight(r.Limits) >= 0:
		c.fail(path, problem.LeaseInFlight)
	case without >= 0:
		c.fail(path, problem.CannotLease, r.Limits[without].Algorithm, limit.SlidingWindow)
	}
}

// keys compiles the key templates of the rule and of its overrides. Overrides of
// keys that the client fills in may only restrict: otherwise a client could send
// the key of a caller with a higher limit.
func (c *compiler) keys(path problem.Path, d *ruledoc.Rule, r *Rule) {
	r.template = c.template(path.To("key"), d.Key)
	r.template.Hash = c.hashed(path, d.Hash)
	switch o := d.Overrides; {
	case o == nil:
	case o.Template != "":
		t := c.template(path.To("overrides"), o.Template)
		t.Hash = r.template.Hash
		r.overridable = &t
	case o.OwnKey:
		r.overridable = &r.template
	}
	for i, text := range d.Trusted {
		p, wrong := key.ParseSource(text)
		switch {
		case wrong.Found():
		case !p.Kind.IsClient():
			wrong = problem.New(problem.Remove, text+" is trusted as it is", "it")
		case !r.template.Has(p) && !r.overridable.Has(p):
			wrong = problem.New(problem.Remove, p.String()+" is no part of the key, "+r.Key, "it")
		}
		if c.check(path.To("trusted").At(i), wrong) {
			c.trusted[r] = append(c.trusted[r], p)
		}
	}
	r.restrictOnly = r.overridable != nil && len(c.untrusted(r, r.overridable)) > 0
}

// untrusted returns the sources of a template that the client fills in, and of
// which the rule does not say that the backend verifies them.
func (c *compiler) untrusted(r *Rule, t *key.Template) (parts []key.Part) {
	for _, p := range t.Parts {
		if p.Kind.IsClient() && !slices.Contains(c.trusted[r], p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// template compiles a key template; Check reports one that is missing.
func (c *compiler) template(path problem.Path, text string) key.Template {
	if text == "" {
		return key.Template{}
	}
	t, faults := key.Parse(text)
	for _, p := range t.Parts {
		faults = append(faults, c.viewerFault(p))
	}
	for _, wrong := range faults {
		c.check(path, wrong)
	}
	return t
}

// ruleLimits compiles the limits and their costs, in the order of their names.
func (c *compiler) ruleLimits(i int, path problem.Path, d *ruledoc.Rule, r *Rule) {
	in := limitContext{costPath: path.To("cost")}
	if d.Cost != nil {
		if in.cost = c.cost(in.costPath, d.Cost); in.cost != nil {
			r.cost = *in.cost
		}
	}
	var charges []charge
	switch {
	case i < len(c.values) && len(c.values[i]) > 0:
		charges = c.goLimits(path.To("limits"), c.values[i], in)
	case d.Limit == nil && d.Limits == nil:
		c.fail(path.To("limits"), problem.NoLimit)
	case d.Limit != nil && d.Limits != nil:
		c.fail(path.To("limit"), problem.Instead, "stands beside limits", "all of them in limits, or remove one of the two")
		fallthrough
	default:
		charges = c.limits(d.EachLimit(path), in)
	}
	for i, charge := range charges {
		r.add(i, charge, len(charges))
		switch l := &r.Limits[i]; {
		case d.RefundOn == nil || l.Correctable():
		case l.Algorithm != limit.InFlight:
			c.fail(path.To("refund_on"), problem.CannotRefund, charge.path, l.Algorithm, limit.SlidingWindow)
		case len(charges) == 1:
			c.fail(path.To("refund_on"), problem.Remove, "a place in flight is given back whatever the answer is", "it")
		}
	}
}

// add adds limit i of so many. Places keep the order in which the author wrote
// them, for programs that know their limits by it.
func (r *Rule) add(i int, ch charge, limits int) {
	r.Limits, r.Costs, r.Places = append(r.Limits, ch.limit), append(r.Costs, ch.cost), append(r.Places, ch.place)
	if ch.anchored.Kind != key.Literal && ch.limit.Calendar != nil {
		r.anchors = append(r.anchors, anchor{i, ch.anchored, ch.limit.Calendar.Anchor})
	}
	if ch.candidate != (Candidate{}) && r.Candidates == nil {
		r.Candidates = make([]Candidate, limits)
	}
	if r.Candidates != nil {
		r.Candidates[i] = ch.candidate
	}
}

var statusClass = ruledoc.Regexp(`^[1-5]xx$`)

// ParseStatuses reads a status such as "404", or a class such as "5xx", which
// stands for 500 to 599. The number of a status may be out of range.
func ParseStatuses(text string) (Statuses, error) {
	first, others := text, 0
	if statusClass().MatchString(text) {
		first, others = text[:1]+"00", 99
	}
	code, err := strconv.ParseUint(first, 10, 30)
	return Statuses{int(code), int(code) + others}, err
}

// statuses compiles texts of ParseStatuses.
func (c *compiler) statuses(path problem.Path, texts []string) (all []Statuses) {
	for i, text := range texts {
		parsed, err := ParseStatuses(text)
		switch {
		case err != nil:
			c.fail(path.At(i), problem.Malformed, strconv.Quote(text), "status", "a number such as 404, or a class such as 5xx")
		case parsed.First < 100 || parsed.First > 599:
			c.fail(path.At(i), problem.OutOfRange, text, 100, 599)
		default:
			all = append(all, parsed)
		}
	}
	return all
}

// checkCounters checks which rules share counters: only those that say so. A rule
// that names another's counter would otherwise take units from rules whose authors
// do not know of it.
func (c *compiler) checkCounters() {
	sharing := map[string][]*Rule{} // by the name of the counter, the rules so far that state it
	for i, r := range c.set.Rules {
		name, path := c.doc.Rules[i].Counter, problem.Root("rules").At(i)
		if name == "" || c.isWrong(path) {
			continue
		}
		path = path.To("counter")
		owner := slices.IndexFunc(c.set.Rules, func(r *Rule) bool { return r.Name == name })
		if owner >= 0 && c.doc.Rules[owner].Counter != name {
			c.fail(path, problem.Instead, fmt.Sprintf("%q is the name of rules[%d], which does not share its counters", name, owner),
				"counter: "+name+" there too, or another name")
		}
		for _, other := range sharing[name] {
			if why, instead := c.whyNotShare(r, other); why != "" {
				c.fail(path, problem.SharedCounter, other.Name, why, instead)
				break
			}
		}
		sharing[name] = append(sharing[name], r)
	}
}

// whyNotShare says why two rules cannot share counters. A client could take
// from the counters of the other rule's callers by a source that it fills in
// for one of the two alone.
func (c *compiler) whyNotShare(r, other *Rule) (why, instead string) {
	switch {
	case r.Mode == Off || other.Mode == Off:
		return "", ""
	case r.Atomic && other.Atomic:
		return "two atomic rules cannot be charged together on one", "remove atomic from one of them, or write another counter"
	case r.Hashed() != other.Hashed():
		return "only one of the two hashes its keys, so they would share nothing", "write hash: true in both"
	case r.Mode != other.Mode:
		return "what the one in shadow takes would be missing in the other", "write another counter while it is in shadow"
	}
	for _, pair := range [][2]*Rule{{r, other}, {other, r}} {
		of, others := pair[0], c.untrusted(pair[1], &pair[1].template)
		for _, p := range c.untrusted(of, &of.template) {
			if !slices.Contains(others, p) {
				return "{" + p.String() + "} in the key of " + of.Name + " is set by the client, which could use up the counters of others",
					"count by the same sources in both, or write another counter"
			}
		}
	}
	return "", ""
}
