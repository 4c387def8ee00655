package match_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// TestIndex: of a thousand selectors, few are compared with a request, whichever
// field tells them apart. That the index leaves out none, the tests of package
// rules show.
func TestIndex(t *testing.T) {
	patterns := func(parse func(string) (match.Pattern, problem.Fault), texts ...string) (all []match.Pattern) {
		for _, text := range texts {
			p, wrong := parse(text)
			if wrong.Found() {
				t.Fatal(wrong.Reason())
			}
			all = append(all, p)
		}
		return all
	}
	path := func(format string, i int) []match.Pattern { return patterns(match.ParsePath, fmt.Sprintf(format, i)) }
	claim := func(name, format string, i int) []match.Condition {
		return []match.Condition{{Part: key.Part{Kind: key.FromClaim, Text: name}, Words: []string{fmt.Sprintf(format, i)}}}
	}
	many := func(i int) (words []string) {
		for n := range 17 {
			words = append(words, fmt.Sprint("t", i+1000*n))
		}
		return words
	}
	sent := request.Request{
		Method: "GET", Path: "/V1/items7/x/y", Stage: "prod",
		Claims: map[string]any{"tenant": "t7", "roles": []any{"a", "t8", "t9"}, "plan": "pro"},
	}
	dirty, routed := sent, sent
	dirty.Path, routed.Route = "/v1/items9/..;/items7/x", "GET /v1/items7/{id}"
	for _, tt := range []struct {
		name string
		when func(i int) match.Selector
		req  request.Request
		want []int32 // places, in order
	}{
		{"by path", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/**", i)} }, sent, []int32{7}},
		{"by path alone", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/**", i)} }, routed, []int32{7}},
		{"by either reading of a path", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/**", i)} }, dirty, []int32{7, 9}},
		{"by another path", func(i int) match.Selector { return match.Selector{Paths: path("/v1/things%d/**", i)} }, sent, nil},
		{"by a longer path", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/x/y/z", i)} }, sent, nil},
		{"by a path with a star", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/*/y", i)} }, sent, []int32{7}},
		{"by two paths", func(i int) match.Selector {
			return match.Selector{Paths: patterns(match.ParsePath, fmt.Sprintf("/v1/items%d/a", i), fmt.Sprintf("/v1/items%d/x/*", i), fmt.Sprintf("/v2/items%d", i))}
		}, sent, []int32{7}},
		{"by route", func(i int) match.Selector {
			return match.Selector{Routes: patterns(match.ParseRoute, fmt.Sprintf("/v1/items%d/{id}", i))}
		}, routed, []int32{7}},
		{"by route without a template", func(i int) match.Selector { return match.Selector{Routes: path("/v1/items%d/**", i)} }, sent, []int32{7}},
		{"by the template alone", func(i int) match.Selector {
			return match.Selector{Routes: patterns(match.ParseRoute, fmt.Sprintf("/v1/items%d/x/**", i))}
		}, routed, nil},
		{"by two paths with one head", func(i int) match.Selector {
			return match.Selector{Paths: patterns(match.ParsePath, fmt.Sprintf("/v1/items%d/*/a", i), fmt.Sprintf("/v1/items%d/*/y", i))}
		}, sent, []int32{7}},
		{"by a path that several share", func(i int) match.Selector { return match.Selector{Paths: path("/v1/items%d/**", i%400)} }, sent, []int32{7, 407, 807}},
		{"by claim", func(i int) match.Selector { return match.Selector{Match: claim("tenant", "t%d", i)} }, sent, []int32{7}},
		{"by a list of claims", func(i int) match.Selector { return match.Selector{Match: claim("roles", "t%d", i)} }, sent, []int32{8, 9}},
		{"by claim on one path", func(i int) match.Selector {
			return match.Selector{Paths: patterns(match.ParsePath, "/v1/items7/**"), Match: claim("tenant", "t%d", i)}
		}, sent, []int32{0, 7}},
		{"by path for one plan", func(i int) match.Selector {
			return match.Selector{Paths: path("/v1/items%d/**", i), Match: claim("plan", "pro", i)}
		}, sent, []int32{7}},
		{"by path below all routes", func(i int) match.Selector {
			return match.Selector{Paths: path("/v1/items%d/**", i), Routes: patterns(match.ParseRoute, "/**")}
		}, sent, []int32{7}},
	} {
		list := make([]*match.Selector, 1000)
		for i := range list {
			s := tt.when(i)
			list[i] = &s
		}
		var got []int32
		match.NewIndex(list).Each(&tt.req, func(place int32) { got = append(got, place) })
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got[:min(len(got), 10)], tt.want)
		}
	}
	long := match.Selector{Match: []match.Condition{{Part: key.Part{Kind: key.FromClaim, Text: "tenant"}, Words: many(0)}}}
	list := []*match.Selector{&long, {}, {Paths: patterns(match.ParsePath, "/v1/*")}}
	for i := range 9 {
		list = append(list, &match.Selector{Paths: path("/v2/%d", i)})
	}
	wide := &match.Selector{}
	for i := range 17 {
		wide.Paths = append(wide.Paths, path("/v3/%d", i)...)
	}
	list = append(list, wide)
	var got []int32
	match.NewIndex(list).Each(&sent, func(place int32) { got = append(got, place) })
	if slices.Sort(got); !slices.Equal(got, []int32{0, 1, 2, 12}) {
		t.Errorf("%v are compared, want those of many values, of none, of the head, and of many paths", got)
	}
}
