package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/slidegate/slidegate/internal/rules"
)

// print spells the explanation out for people.
func (t *explanation) print(w io.Writer, paint colours) error {
	p := &printer{w: w}
	p.line("%s %s: %s", t.Method, plainText(t.Path), t.Outcome.spell(paint))
	p.line("")
	p.table("ll", t.circumstances())
	apart := true
	for i := range t.Rules {
		rule := &t.Rules[i]
		if apart || rule.Covers {
			p.line("")
		}
		apart = rule.Covers
		rule.print(p)
	}
	return p.err
}

func (o *outcomeTold) spell(paint colours) string {
	verdict := paint.green("allowed")
	if !o.Allowed {
		verdict = paint.red("denied")
	}
	switch {
	case o.By != "" && o.RetryAfter < 0:
		return verdict + " by " + o.By + ", which can never allow what it costs"
	case o.By != "":
		return fmt.Sprintf("%s by %s, again allowed in %s", verdict, o.By, waitSeconds(o.RetryAfter))
	case o.Why != "":
		return verdict + ": " + o.Why
	case o.Delay > 0:
		return fmt.Sprintf("%s, its turn is in %s", verdict, waitSeconds(o.Delay))
	}
	return verdict
}

func waitSeconds(s float64) string { return wait(ofSeconds(s)) }

// circumstances are what the rules are told of the request.
func (t *explanation) circumstances() (rows [][]string) {
	say := func(name, text string) { rows = append(rows, []string{name, text}) }
	client := t.Client
	if client == "" {
		client = "not known; --ip says who"
	}
	if t.Peer != "" {
		client += ", behind " + t.Peer
	}
	say("client", client)
	say("caller", t.Caller)
	if t.Plan != nil {
		say("plan", t.Plan.spell())
		if o := t.Plan.Override; o != nil {
			for _, line := range o.lines() {
				say("", "override of "+t.Plan.Key+": "+line)
			}
		}
		if t.Plan.Error != "" {
			say("", plainText(t.Plan.Error))
			say("", "limiters go on without this override")
		}
		if t.Plan.Misfit {
			say("misfit", "part of the override does not fit the rules as they are now, and is left out")
		}
	}
	switch {
	case len(t.Rules) == 0:
	case t.Counters == "":
		say("counters", "taken to be empty; --store says where they are")
	default:
		say("counters", t.Counters)
	}
	if t.Remark != "" {
		say("remark", t.Remark)
	}
	return rows
}

func (p *planTold) spell() string {
	name := p.Name
	if name == "" {
		name = "none"
	}
	switch {
	case p.Override != nil && p.Override.InForce && (p.Override.Deny || p.Override.Plan != ""):
		return name + ", by an override"
	case p.Why == "":
		return name + ": no override of " + p.Key
	}
	return name + ": " + p.Why
}

// print spells out what a rule makes of the request.
func (t *ruleSeen) print(p *printer) {
	name := t.Rule
	if t.Mode == "shadow" {
		name += ", on trial,"
	}
	if !t.Covers {
		p.line("rule %s does not cover it: %s", name, t.Why)
		return
	}
	p.line("rule %s counts it by %s", name, t.Key)
	var rows [][]string
	say := func(name, text string) { rows = append(rows, []string{"  " + name, text}) }
	if t.Why != "" {
		say("remark", t.Why)
	}
	if t.Plan != "" {
		say("plan", t.Plan)
	}
	switch {
	case t.Override != nil:
		for _, line := range t.Override.lines() {
			say("override", line)
		}
	case t.OverrideKey != "" && t.Error == "":
		say("override", "none for "+t.OverrideKey)
	}
	if t.Error != "" {
		say("override", plainText(t.Error))
		say("on_error", t.OnError+", "+withoutOverride[t.OnError])
	}
	if t.Misfit {
		say("misfit", "part of the override does not fit the rule as it is now, and is left out")
	}
	if t.Counter != "" {
		say("counter", t.Counter)
	}
	say("verdict", t.Verdict)
	p.table("ll", rows)
	p.table("lrrrrrl", t.limits())
}

// withoutOverride is what limiters do, by on_error, where an override cannot be read.
var withoutOverride = map[string]string{
	rules.OnErrorAllow.String(): "which allows it and counts nothing",
	rules.OnErrorDeny.String():  "which denies it and counts nothing",
	rules.OnErrorLocal.String(): "which goes on without this override",
}

func (t *ruleSeen) limits() (rows [][]string) {
	if len(t.Limits) > 0 {
		rows = append(rows, []string{"  limit", "holds", "window", "cost", "remaining", "retry after", "algorithm"})
	}
	for i := range t.Limits {
		l := &t.Limits[i]
		algorithm := l.Algorithm
		if l.Candidate > 0 {
			algorithm += ", " + thousands(l.Candidate) + " on trial"
		}
		rows = append(rows, []string{
			"  " + strings.TrimSuffix(t.Rule+"."+l.Name, "."), thousands(l.Used + l.Remaining), l.window(), thousands(l.Cost),
			thousands(l.Remaining), l.retry(), algorithm,
		})
	}
	return rows
}
