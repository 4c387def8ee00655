package ruledoc

import (
	"slices"
	"testing"
)

// Go programs can state more than a document can.
func TestCheckOfTwoFormsAtOnce(t *testing.T) {
	for _, tt := range []struct {
		limit Limit
		want  string
	}{
		{Limit{Cost: &Cost{Units: 2, From: "jwt.n", Max: 3}}, "limits[0].cost: states both Units and From: keep one of them"},
		{Limit{Candidate: &Candidate{Units: 5, Percent: 80}}, "limits[0].candidate: states both Units and Percent: keep one of them"},
		{Limit{Candidate: &Candidate{Units: 5}, Anchor: &Anchor{From: "jwt.d", Day: 3}, Cost: &Cost{Units: 2}}, ""},
	} {
		tt.limit.Capacity, tt.limit.Window = 1, "60s"
		checkProblems(t, &Override{Limits: []Limit{tt.limit}}, tt.want)
	}
	rule := Rule{Name: "r", Key: "k", Limits: []Limit{{Capacity: 1, Window: "60s"}}}
	plan := func(c PlanCapacity) map[string]Plan { return map[string]Plan{"p": {"r": c}} }
	for _, tt := range []struct {
		capacity PlanCapacity
		want     string
	}{
		{PlanCapacity{Unlimited: true, Capacity: Capacities{"": 5}}, "plans.p.r: states both Capacity and Unlimited: keep one of them"},
		{PlanCapacity{Unlimited: true, Capacity: Capacities{"a": 5}}, "plans.p.r: states both Capacities and Unlimited: keep one of them"},
		{PlanCapacity{}, "plans.p.r: 0 is out of range: write a number from 1 to 4294967295"},
		{PlanCapacity{Capacity: Capacities{}}, "plans.p.r: is empty: write a value or remove it"},
		{PlanCapacity{Unlimited: true}, ""},
	} {
		checkProblems(t, &Document{Rules: []Rule{rule}, Plans: plan(tt.capacity)}, tt.want)
	}
	rule.Overrides = &OverrideKeys{OwnKey: true, Template: "t:{jwt.t}"}
	checkProblems(t, &Document{Rules: []Rule{rule}}, "rules[0].overrides: states both Template and OwnKey: keep one of them")
}

func checkProblems(t *testing.T, of any, want string) {
	t.Helper()
	var got, wanted []string
	for _, p := range Check(of) {
		got = append(got, p.String())
	}
	if want != "" {
		wanted = []string{want}
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("got %q, want %q", got, wanted)
	}
}
