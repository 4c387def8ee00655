package graphql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request/graphql"
)

// TestRead: what runs, as "TYPE NAME FIELDS, COUNT", or why that is not clear.
func TestRead(t *testing.T) {
	deep := func(open string, n int) string {
		return "{" + strings.Repeat(open+"{", n) + "x" + strings.Repeat("}", n) + "}"
	}
	for _, tt := range []struct{ name, query, operation, want string }{
		{"a query", "query Items { items { id } }", "", "query Items [items], 1"},
		{"the short form", "{ items other }", "", "query  [items other], 2"},
		{"a mutation", "mutation { createOrder(id: 1) { id } }", "", "mutation  [createOrder], 1"},
		{"a subscription", "subscription OnOrder($id: ID!) { onOrder(id: $id) { id } }", "OnOrder", "subscription OnOrder [onOrder], 1"},
		{"introspection", "{ __schema { types { name } } __type(name: \"A\") { name } __typename }", "", "query  [__schema __type __typename], 3"},

		{"aliases of one field", "mutation { a: createOrder(id: 1) b: createOrder(id: 2) }", "", "mutation  [createOrder], 2"},
		{"an alias that hides a field", "mutation { ping: createOrder }", "", "mutation  [createOrder], 1"},
		{"a field and its alias", "{ items a: items items }", "", "query  [items], 2"},
		{"a field twice runs once", "{ items { id } items { name } }", "", "query  [items], 1"},
		{"one alias of two fields", "{ a: items a: other }", "", "query  [items other], 2"},
		{"fields below the root", "{ items { createOrder } }", "", "query  [items], 1"},

		{"a fragment", "mutation { ...F } fragment F on Mutation { createOrder }", "", "mutation  [createOrder], 1"},
		{"an inline fragment", "mutation { ... on Mutation { createOrder } ... { a: createOrder } ... @include(if: $x) { pay } }", "", "mutation  [createOrder pay], 3"},
		{"fragments in fragments", "{ ...A } fragment A on Query { a ...B } fragment B on Query { b ... { c ...C } } fragment C on Query { d }", "", "query  [a b c d], 4"},
		{"a fragment twice", "{ ...A ...A } fragment A on Query { a b: a }", "", "query  [a], 2"},
		{"a fragment of itself", "{ ...A } fragment A on Query { a ...A }", "", "query  [a], 1"},
		{"a cycle of fragments", "{ ...A c } fragment A on Query { a ...B } fragment B on Query { b ...A }", "", "query  [a b c], 3"},
		{"a fragment of nothing but itself", "{ ...A } fragment A on Query { ...A }", "", "has no fields"},
		{"a fragment that is not there", "{ a ...F }", "", "lacks a fragment"},
		{"one not there inside another", "{ a ... { ...F } } fragment F on Query { ...G }", "", "lacks a fragment"},
		{"a fragment not used", "{ a } fragment F on Query { ...G }", "", "query  [a], 1"},
		{"two fragments of one name", "mutation { ...F } fragment F on Mutation { ping } fragment F on Mutation { createOrder }", "", "has two fragments of one name"},

		{"skipped or not", "mutation($v: Boolean!) { a @skip(if: $v) b @include(if: false) c @skip(if: true) }", "", "mutation  [a b c], 3"},

		{"one of several", "query A { a } mutation B { b }", "B", "mutation B [b], 1"},
		{"none of several", "query A { a } mutation B { b }", "C", "does not say which operation runs"},
		{"several, and no name", "query A { a } mutation B { b }", "", "does not say which operation runs"},
		{"several without names", "{ a } mutation { b }", "", "does not say which operation runs"},
		{"several of one name", "query A { a } mutation A { b }", "A", "has two operations of one name"},
		{"another name than the only one", "query A { a }", "B", "query A [a], 1"},
		{"no operation", "fragment F on Query { a }", "", "does not say which operation runs"},
		{"nothing", " ,\n# { a }", "", "does not say which operation runs"},

		{"braces in strings", `mutation { a(x: "} b: pay {", y: """ } c: pay { "" """) }`, "", "mutation  [a], 1"},
		{"braces in comments", "mutation { a # } b: pay {\n c #}\r d}", "", "mutation  [a c d], 3"},
		{"escaped quotes", `{ a(x: "\"} b {", y: "\\") c(x: """ \""" } d { """) }`, "", "query  [a c], 2"},
		{"escapes of Unicode", `{ a(x: "\u007D\u{1F600} } \u0022 b") }`, "", "query  [a], 1"},
		{"escapes outside of strings", `{ \u0061 }`, "", "cannot be parsed"},
		{"a string in several lines", "{ a(x: \"\n\") }", "", "cannot be parsed"},
		{"a byte order mark", "\ufeff{ a }", "", "query  [a], 1"},
		{"a NUL", "{ a \x00 }", "", "cannot be parsed"},
		{"a blank of another alphabet", "{ a\u00a0b }", "", "cannot be parsed"},
		{"letters of another alphabet", "{ \u0430 }", "", "cannot be parsed"}, // a Cyrillic a
		// To GraphQL's specification this is a list of two strings, and pay is a field.
		// To others the first string ends at the sixth quote, and pay is part of a string.
		{"a string behind another", `mutation { a(x: [""" """""" ]) b(y: """ "]) pay c(y: ["""]) }`, "", "has more than three quotes in a row"},
		// A comment ends at these separators in some grammars.
		{"a separator of lines", "mutation { a #\u2028 pay\n}", "", "has a separator of lines or paragraphs"},
		{"a separator of paragraphs", "mutation { a #\u2029 pay\n}", "", "has a separator of lines or paragraphs"},

		{"no end", "mutation { a", "", "cannot be parsed"},
		{"too many ends", "{ a } }", "", "cannot be parsed"},
		{"no field", "{ }", "", "cannot be parsed"},
		{"a type", "type Query { a: Int } { a }", "", "cannot be parsed"},
		{"JSON", `[{"query": "{ a }"}]`, "", "cannot be parsed"},

		{"a long query", "{ a(x: \"" + strings.Repeat("x", 250<<10) + "\") }", "", "query  [a], 1"},
		{"one too long", "{ a #" + strings.Repeat("x", 256<<10) + "\n}", "", "is too long"},
		{"many tokens", "{" + strings.Repeat("a ", 14_000) + "}", "", "query  [a], 1"},
		{"too many tokens", "{" + strings.Repeat("a ", 15_000) + "}", "", "cannot be parsed"},
		{"a deep query", deep("a", 900), "", "query  [a], 1"},
		{"one too deep", deep("a", 1000), "", "cannot be parsed"},
		{"fragments too deep", deep("...", 1000), "", "cannot be parsed"},
		{"lists too deep", "{ a(x: " + strings.Repeat("[", 7000) + strings.Repeat("]", 7000) + ") }", "", "cannot be parsed"},
	} {
		got := graphql.Read(tt.query, tt.operation)
		text := got.Ambiguous
		if text == "" {
			text = fmt.Sprintf("%s %s %v, %d", got.Type, got.Name, got.Fields, got.Count)
		} else if got.Type+got.Name != "" || got.Fields != nil || got.Count < 1<<62 {
			t.Errorf("%s: ambiguous, and yet %+v", tt.name, got)
		}
		if text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

// FuzzRead: no query stops the reading, and what it returns is complete.
func FuzzRead(f *testing.F) {
	f.Add("query A($v: [Int!]! = [1]) @d(a: {b: $v}) { a: b(c: \"\\u0061\") { d } ...F } fragment F on T { ... on U { e } }", "A")
	f.Add(`mutation { a(x: """ \""" """, y: [1.5e3, null, E]) } # {`, "")
	f.Add("{ ...A } fragment A on Q { ...A }", "")
	f.Fuzz(func(t *testing.T, query, name string) {
		op := graphql.Read(query, name)
		types := []string{"query", "mutation", "subscription"}
		if op.Ambiguous == "" && (!slices.Contains(types, op.Type) || op.Count < int64(len(op.Fields)) || len(op.Fields) == 0) {
			t.Errorf("%q: %+v", query, op)
		}
	})
}
