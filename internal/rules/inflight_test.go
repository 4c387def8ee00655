package rules

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// withPlaces returns a rule of a document, with these fields.
func withPlaces(t *testing.T, fields string) *Rule {
	t.Helper()
	return parse(t, "rules: [{name: r, key: k, "+fields+"}]").Rules[0]
}

// TestInFlight: what a limit in flight compiles to. A request takes one place,
// whatever it takes from other limits.
func TestInFlight(t *testing.T) {
	r := withPlaces(t, "cost: 5, limits: [{in_flight: 20, expires: 90s}, 100/minute]")
	want := limit.Limit{Name: "in-flight", Algorithm: limit.InFlight, Capacity: 20, Window: 90 * time.Second}
	if i := InFlight(r.Limits); i != 0 || r.Limits[i] != want || !slices.Equal(own(r).Costs, []int64{1, 5}) {
		t.Errorf("%+v with costs %d", r.Limits, own(r).Costs)
	}
	if r.SettleWithin != 15*time.Minute || r.Reservations != 100 {
		t.Errorf("settle within %v, %d reservations", r.SettleWithin, r.Reservations)
	}
	r = withPlaces(t, "refund_on: 5xx, limit: 100/minute, settle_within: 2h, reservations: 7")
	if r.SettleWithin != 2*time.Hour || r.Reservations != 7 || InFlight(r.Limits) >= 0 {
		t.Errorf("settle within %v, %d reservations", r.SettleWithin, r.Reservations)
	}
}

// TestPlacesKeepTheirCounter: other numbers of places, and other times, are counted
// in the counter that is there: a second one would admit as many again.
func TestPlacesKeepTheirCounter(t *testing.T) {
	item := func(fields string) string { r := withPlaces(t, fields); return r.Item("k", own(r)) }
	places := item("limit: {in_flight: 20, expires: 90s}")
	for fields, same := range map[string]bool{
		"limit: {in_flight: 5, expires: 90s}":                 true,
		"limits: [{in_flight: 20, expires: 2h, cost: 0}]":     true,
		"limit: {name: x, in_flight: 20, expires: 90s}":       false,
		"limits: [{in_flight: 20, expires: 90s}, 100/minute]": false,
		"limit: {capacity: 20, window: 90s}":                  false,
	} {
		if got := item(fields); (got == places) != same {
			t.Errorf("%s: %s beside %s", fields, got, places)
		}
	}
}

// TestWithoutPlaces: replays charge the other limits of a rule alone, on every plan.
func TestWithoutPlaces(t *testing.T) {
	set := parse(t, `
rules:
  - {name: a, key: k, limits: [{in_flight: 20, expires: 90s}, {name: tokens, capacity: 100, window: 1m}]}
  - {name: b, key: k, limit: 100/minute}
plan: {from: jwt.plan}
plans: {pro: {a: {in-flight: 50}}}`)
	if names := set.WithoutPlaces(); strings.Join(names, " ") != "a" {
		t.Errorf("left out of %q", names)
	}
	for _, plan := range []string{"", "pro"} {
		terms := set.Rules[0].Terms(&request.Request{}, plan, nil, time.Time{})
		if !slices.Equal(terms.Costs, []int64{0, 1}) {
			t.Errorf("plan %q: costs %d", plan, terms.Costs)
		}
	}
}
