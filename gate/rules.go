package gate

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Rules are rules as Go data, for a [Gate]. All rules that match a request
// apply, and are charged in their order: those of single callers first, shared
// budgets last.
//
//	gate.Rules{Rules: []gate.Rule{
//		{Name: "login", When: gate.Match{Methods: []string{"POST"}, Paths: []string{"/login"}},
//			Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Minute)}},
//		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
//	}}
//
// A file of rules has more: plans, overrides, costs that requests state, hashed
// keys. Package rulesfile reads it.
type Rules struct {
	// Rules are charged in this order.
	Rules []Rule
	// Deny lists requests to refuse before anything else, and Skip requests that
	// no rule limits.
	Deny, Skip []Match
	// DenyUnmatched denies requests that no rule matches.
	DenyUnmatched bool
	// TrustedProxies is the number of proxies in front of the server that append
	// to X-Forwarded-For; {ip} is then the address that the first of them saw.
	TrustedProxies int
}

// Rule counts requests by a key, and limits each key.
type Rule struct {
	// Name is in lower case, such as "per-ip". Counters carry it.
	Name string
	// When says which requests the rule covers: all, if it is empty. Unless
	// leaves some of them out.
	When, Unless Match
	// Key is text with sources in braces, such as "ip:{ip}" or
	// "user:{jwt.sub}|{method}". See docs/rules.md for the sources.
	Key string
	// Limits are charged all or none.
	Limits []slidegate.Limit
	// Cost is the number of units that a request takes; 0 stands for 1.
	Cost int64
	// RefundOn lists statuses of the answer that refund the request, such as
	// "404" or "5xx".
	RefundOn []string
	// OnError says what happens while the store does not answer. The zero value
	// stands for the gate's policy. All rules with FailLocal count for the same
	// number of processes.
	OnError slidegate.ErrorPolicy
	// Shadow decides, charges and reports, but lets every request through.
	Shadow bool
	// Atomic charges this rule together with the other atomic ones, all or none.
	Atomic bool
	// Lease is for keys above 1,000 requests a second in package dynamostore: how
	// many requests a process may charge ahead in one write, from 2 to 1000; 0 for
	// none. It takes windows, and no Atomic.
	Lease int64
	// Quiet keeps the rule out of answers.
	Quiet bool
}

// Match says which requests something covers: those for which every field that
// is set matches, by one of its values. A list without values is an error, so
// that no missing setting makes a rule match everything.
type Match struct {
	Methods []string // of HTTP, such as "POST"
	// Paths are patterns: * matches any text within a segment, ** any number of
	// segments.
	Paths []string
	// Routes are patterns of Request.Route; matched against the path of a
	// request without a route.
	Routes []string
	CIDRs  []string // of client addresses, such as "198.51.100.0/24"
	// Callers are kinds of callers by their credentials: "anonymous", "known" or
	// "rejected".
	Callers []string
	// Claims are values of verified claims, by their source: "jwt.plan": {"pro"}.
	Claims map[string][]string
}

// RuleSource is where a [Gate] takes its rules from: [Rules], a file of package
// rulesfile, or a table of package rulestable.
type RuleSource interface {
	// OpenRules is for this module.
	OpenRules(setup.RuleOptions) (setup.Rules, error)
}

// OpenRules is for this module. It compiles the rules.
func (r Rules) OpenRules(o setup.RuleOptions) (setup.Rules, error) {
	doc, limits, err := r.document(o.Defaults)
	if err != nil {
		return setup.Rules{}, err
	}
	set, problems := rules.CompileWith(doc, limits)
	if len(problems) > 0 {
		return setup.Rules{}, setup.RuleErrors(problems, limits)
	}
	if len(doc.Rules) == 0 {
		o.Log.Warn("slidegate: rules", "warning", "Rules: there are none, so no request is limited")
	}
	for _, w := range lint.Check(doc, set) {
		o.Log.Warn("slidegate: rules", "warning", setup.Warning(w, limits))
	}
	lint.WarnOfOperation(o.Log, "Rules", set)
	return setup.Rules{RuleSource: engine.Fixed{Set: set}}, nil
}

// document returns the rules as a document, and their limits.
func (r Rules) document(defaults ruledoc.Defaults) (d *ruledoc.Document, limits [][]rules.GoLimit, err error) {
	d = &ruledoc.Document{Defaults: &defaults, Rules: []ruledoc.Rule{}}
	for _, m := range r.Deny {
		d.Deny = append(d.Deny, m.selector())
	}
	for _, m := range r.Skip {
		d.Skip = append(d.Skip, m.selector())
	}
	if r.DenyUnmatched {
		d.Unmatched = "deny"
	}
	if r.TrustedProxies != 0 {
		hops := int64(r.TrustedProxies)
		d.ClientIP = &ruledoc.ClientIP{TrustedHops: &hops}
	}
	for i := range r.Rules {
		rule, err := r.Rules[i].document(d.Defaults)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.OnError: %w", setup.RulePath(i), err)
		}
		var of setup.Limiter
		for _, l := range r.Rules[i].Limits {
			l.ForLimiter(&of)
		}
		d.Rules, limits = append(d.Rules, rule), append(limits, of.Limits)
	}
	return d, limits, nil
}

// onError returns the policy of a rule as a document has it. A gate counts for one
// number of processes: that of its own policy, or of the first rule that has one.
func onError(p slidegate.ErrorPolicy, d *ruledoc.Defaults) (string, error) {
	if p == (slidegate.ErrorPolicy{}) {
		return "", nil
	}
	var c setup.Config
	p.ForGate(&c)
	switch processes := int64(c.Policy.Processes); {
	case c.Policy.OnError != rules.OnErrorLocal:
	case processes < 1:
		return "", errors.New("give FailLocal at least one process")
	case d.Instances == 0:
		d.Instances = processes
	case d.Instances != processes:
		return "", fmt.Errorf("FailLocal(%d): a gate counts for one number of processes, and it is %d already", processes, d.Instances)
	}
	return c.Policy.OnError.String(), nil
}

func (r *Rule) document(defaults *ruledoc.Defaults) (d ruledoc.Rule, err error) {
	d = ruledoc.Rule{
		Name: r.Name, When: r.When.optional(), Unless: r.Unless.optional(), Key: r.Key,
		RefundOn: r.RefundOn, Atomic: r.Atomic, Lease: r.Lease,
	}
	if d.OnError, err = onError(r.OnError, defaults); err != nil {
		return d, err
	}
	if r.Cost != 0 {
		d.Cost = &ruledoc.Cost{Units: r.Cost}
	}
	if r.Shadow {
		d.Mode = "shadow"
	}
	if r.Quiet {
		d.Headers = "off"
	}
	return d, nil
}

func (m *Match) selector() ruledoc.Selector {
	s := ruledoc.Selector{Methods: m.Methods, Path: m.Paths, Route: m.Routes, CIDRs: m.CIDRs, Caller: m.Callers}
	for source, values := range m.Claims {
		if s.Match == nil {
			s.Match = map[string]ruledoc.Words{}
		}
		s.Match[source] = values
	}
	return s
}

// optional returns nil for an empty match.
func (m *Match) optional() *ruledoc.Selector {
	if m.Methods == nil && m.Paths == nil && m.Routes == nil && m.CIDRs == nil && m.Callers == nil && m.Claims == nil {
		return nil
	}
	s := m.selector()
	return &s
}
