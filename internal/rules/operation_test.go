package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/graphql"
)

const byOperation = `
deny: [{match: {graphql.fields: [dropAll]}}]
skip: [{match: {graphql.type: query, graphql.fields: [ping, __typename]}}]
rules:
  - {name: any, key: all, cost: {from: graphql.fields, min: 1, max: 5}, limit: 100/minute}
  - {name: writes, when: {match: {graphql.type: mutation}}, key: "{graphql.type}|{graphql.name}|{graphql.fields}", limit: 100/minute}
  - {name: orders, when: {match: {graphql.fields: [createOrder, payOrder]}}, unless: {match: {graphql.fields: [createOrder]}}, key: all, limit: 100/minute}
`

// TestOperations: what rules make of a GraphQL operation: the rules that cover it,
// with the cost of the first, and the key of writes.
func TestOperations(t *testing.T) {
	s := parse(t, byOperation)
	for _, tt := range []struct{ query, want string }{
		{"{ items }", "any 1"},
		{"{ a: items b: items c }", "any 3"},
		{"{ a b c d e f g }", "any 5"},
		{"subscription { onOrder }", "any 1"},
		{"mutation Save { save a: save }", "any 2, writes mutation|Save|save"},
		{"mutation { pay: save edit }", "any 2, writes mutation|-|edit,save"},
		// A rule covers an operation by any of its fields.
		{"mutation { a: payOrder save }", "any 2, writes mutation|-|payOrder,save, orders"},
		{"mutation { save ...F } fragment F on Mutation { payOrder }", "any 2, writes mutation|-|payOrder,save, orders"},
		{"{ dropAll: items }", "any 1"},
		{"{ items x: dropAll }", "banned"},
		// What lifts a limit needs them all.
		{"mutation { a: createOrder }", "any 1, writes mutation|-|createOrder"},
		{"mutation { createOrder payOrder }", "any 2, writes mutation|-|createOrder,payOrder, orders"},
		{"{ ping }", "skipped"},
		{"{ ping a: __typename }", "skipped"},
		{"{ ping items }", "any 2"},
		{"{ ping items @skip(if: true) }", "any 2"},
		{"mutation { ping }", "any 1, writes mutation|-|ping"},
		// What runs is not clear.
		{"{ ping", "ambiguous"},
		{"query A { ping } query B { ping }", "ambiguous"},
		{"", "any 1"}, // a connection for subscriptions
	} {
		req := &request.Request{Method: "POST", Path: "/graphql"}
		if tt.query != "" {
			req.Operation = graphql.Read(tt.query, "")
		}
		var got []string
		for _, r := range s.Match(nil, req) {
			switch r.Name {
			case "any":
				got = append(got, fmt.Sprintf("any %d", r.Terms(req, "", nil, time.Time{}).Costs[0]))
			case "writes":
				got = append(got, "writes "+string(r.AppendKey(nil, req)))
			default:
				got = append(got, r.Name)
			}
		}
		switch {
		case s.Ambiguous(req):
			got = []string{"ambiguous"}
		case s.Banned(req):
			got = []string{"banned"}
		case s.Skipped(req):
			got = []string{"skipped"}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.query, got, tt.want)
		}
	}
}

// TestAmbiguousOperations: an operation that is not clear is denied if anything
// reads operations that could deny, or lift a limit.
func TestAmbiguousOperations(t *testing.T) {
	const limit = ", limit: 5/minute}"
	for _, tt := range []struct{ document, want string }{
		{"rules: [{name: r, key: all" + limit + "]", ""},
		{"rules: [{name: r, when: {match: {graphql.type: query}}, key: all" + limit + "]", "rule r reads graphql.type"},
		{"rules: [{name: r, unless: {match: {graphql.fields: a}}, key: all" + limit + "]", "rule r reads graphql.fields"},
		{"rules: [{name: r, key: '{graphql.name}'" + limit + "]", "rule r reads {graphql.name}"},
		{"rules: [{name: r, key: all, cost: {from: graphql.fields, min: 1, max: 9}" + limit + "]", "rule r reads graphql.fields"},
		{"rules: [{name: r, key: all, overrides: '{graphql.type}'" + limit + "]", "rule r reads {graphql.type}"},
		{"rules: [{name: r, mode: shadow, key: '{graphql.type}'" + limit + "]", ""},
		{"rules: [{name: r, mode: 'off', key: '{graphql.type}'" + limit + "]", ""},
		{"ambiguous_paths: clean\ndeny: [{path: /a}, {match: {graphql.type: subscription}}]\nrules: []", "deny[1] reads graphql.type"},
		{"skip: [{match: {graphql.fields: ping}}]\nrules: []", "skip[0] reads graphql.fields"},
		{"authentication: {api_key: {}, required: [{match: {graphql.type: mutation}}]}\nrules: []", "authentication.required[0] reads graphql.type"},
	} {
		req := &request.Request{Operation: graphql.Read("mutation { a", "")}
		why, ambiguous := parse(t, tt.document).WhyAmbiguous(req)
		if want := "the GraphQL query cannot be parsed, and " + tt.want; ambiguous != (tt.want != "") || ambiguous && why != want {
			t.Errorf("%s: %s", tt.document, why)
		}
		clear := &request.Request{Operation: graphql.Read("mutation { a }", "")}
		if why, ambiguous := parse(t, tt.document).WhyAmbiguous(clear); ambiguous {
			t.Errorf("%s: %s", tt.document, why)
		}
	}
}

// TestMostOfAmbiguous: a rule in shadow takes the most for an operation that is not
// clear.
func TestMostOfAmbiguous(t *testing.T) {
	s := parse(t, "rules: [{name: r, mode: shadow, key: all, cost: {from: graphql.fields, min: 1, max: 9}, limit: 100/minute}]")
	req := &request.Request{Operation: graphql.Read("{ a", "")}
	if got := s.Rules[0].Terms(req, "", nil, time.Time{}).Costs[0]; got != 9 {
		t.Errorf("it costs %d, want 9", got)
	}
}

// TestWhyOperation: explanations agree with what covers an operation.
func TestWhyOperation(t *testing.T) {
	s := parse(t, byOperation)
	for _, tt := range []struct{ query, rule, want string }{
		{"{ a b }", "writes", "graphql.type is query, not among mutation"},
		{"{ a b }", "orders", "graphql.fields is a,b, not among createOrder, payOrder"},
		{"{ createOrder }", "orders", "unless: graphql.fields is createOrder"},
		{"{ createOrder a }", "orders", "unless does not hold: graphql.fields is a,createOrder, not among createOrder"},
	} {
		r, _ := s.Rule(tt.rule)
		if got, _ := r.Why(&request.Request{Operation: graphql.Read(tt.query, "")}); got != tt.want {
			t.Errorf("%s: rule %s: %s", tt.query, tt.rule, got)
		}
	}
}

// TestCoversCallerOfOperations: a caller's own usage lists rules for operations that
// the request for it does not run.
func TestCoversCallerOfOperations(t *testing.T) {
	s := parse(t, byOperation+"  - {name: strangers, when: {caller: rejected, match: {graphql.type: mutation}}, key: all, limit: 5/minute}\n")
	for _, query := range []string{"", "mutation { createOrder }"} { // which orders leaves out
		var names []string
		for _, r := range s.Rules {
			if r.CoversCaller(&request.Request{Operation: graphql.Read(query, "")}) {
				names = append(names, r.Name)
			}
		}
		if got := strings.Join(names, " "); got != "any writes orders" {
			t.Errorf("%q: %s cover the caller", query, got)
		}
	}
}

func TestOperationErrors(t *testing.T) {
	rule := func(fields string) string { return "rules: [{name: r, limit: 5/minute, " + fields + "}]" }
	for _, tt := range []struct{ document, want string }{
		{rule("key: all, when: {match: {graphql.type: Mutation}}"), `rules[0].when.match.graphql.type: "Mutation" is no type of operations: write query, mutation or subscription`},
		{rule("key: all, when: {match: {graphql.fields: [a, 'admin*']}}"), `rules[0].when.match.graphql.fields[1]: "admin*" is no field: write the whole name of one, such as createOrder`},
		{rule("key: all, when: {match: {graphql.name: Save}}"), "rules[0].when.match.graphql.name: graphql.name can be set by any client: use graphql.fields, or {graphql.name} in a key"},
		{rule("key: all, when: {match: {graphql.kind: query}}"), "rules[0].when.match.graphql.kind: unknown source graphql.kind: did you mean graphql.type?"},
		{rule("key: all, when: {match: {operation: query}}"), "rules[0].when.match.operation: unknown source operation: did you mean graphql.type?"},
		{rule("key: '{graphql}'"), "rules[0].key: unknown source {graphql}: did you mean {graphql.fields}?"},
		{rule("key: '{graphql.fields.a}'"), "rules[0].key: unknown source {graphql.fields.a}: did you mean {graphql.fields}?"},
		{rule("key: all, cost: {from: graphql.type, max: 5}"), "rules[0].cost.from: graphql.type states no number: write a header, a parameter or a claim, such as header.x-tokens"},
		{rule("key: all, cost: {from: graphql.fields, max: 5}"), "rules[0].cost: min is missing or 0, and the client sets graphql.fields: write the least that a client can pay, 1 or more"},
		{"plan: {from: graphql.type}\nplans: {query: {r: 5}}\n" + rule("key: all"), "plan.from: graphql.type does not tell callers apart: use a claim such as jwt.plan, apikey or stage"},
		{"plan: {from: graphql.name}\nplans: {query: {r: 5}}\n" + rule("key: all"), "plan.from: graphql.name can be set by any client: use a claim such as jwt.plan, apikey or stage"},
	} {
		_, err := read(t, "f", tt.document)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.document, err, tt.want)
		}
	}
}
