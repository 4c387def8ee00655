package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// claims decodes a token's payload as whoever verifies it does.
func claims(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

const payload = `{"sub": "7", "n": 12345678901234567890, "f": 1.50, "yes": true, "none": null, "a/b": "slash", "m~n": "tilde",
	"https://example.com/plan": "pro", "realm": {"roles": ["admin", 3], "deep": {"x": "y"}}, "scope": "read write:all", "list": ["a", "b", 7]}`

// TestClaims reads claims as keys take them: text, numbers and booleans.
func TestClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload)}
	for name, want := range map[string]string{
		"sub": "7", "n": "12345678901234567890", "f": "1.50", "yes": "true",
		"none": "-", "missing": "-", "list": "-", "realm": "-",
		"https://example.com/plan": "pro", "a/b": "slash",
		"/sub": "7", "/a~1b": "slash", "/m~0n": "tilde", "/realm/deep/x": "y", "/realm/roles/0": "admin", "/realm/roles/1": "3",
		"/realm/roles/2": "-", "/realm/roles/01": "-", "/realm/roles/-1": "-", "/realm/roles": "-", "/sub/x": "-", "/": "-", "/realm/": "-",
	} {
		p := key.Part{Kind: key.FromClaim, Text: name}
		made := key.Template{Parts: []key.Part{p}}
		if got := string(made.Append(nil, r, "")); got != want {
			t.Errorf("{jwt.%s} is %q, want %q", name, got, want)
		}
	}
}

// TestRejectedClaims: what bad credentials say counts for nothing.
func TestRejectedClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload), APIKey: "k1", Rejected: true}
	for _, p := range []key.Part{{Kind: key.FromClaim, Text: "sub"}, {Kind: key.FromClaim, Text: "/sub"}, {Kind: key.FromAPIKey, Text: ""}} {
		if text, ok := p.Value(r); ok {
			t.Errorf("%v says %q", p, text)
		}
		if key := (&key.Template{Parts: []key.Part{p}}).Append(nil, r, ""); string(key) != "-" {
			t.Errorf("%v makes the key %q", p, key)
		}
	}
	if c := r.Caller(); c != request.Rejected {
		t.Errorf("caller %v", c)
	}
}

func TestConditions(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload), APIKey: "k1", Stage: "prod"}
	for _, test := range []struct {
		part  key.Part
		words string
		want  bool
	}{
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "7", true},
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "6 7", true},
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "70", false},
		{key.Part{Kind: key.FromClaim, Text: "yes"}, "true", true},
		{key.Part{Kind: key.FromClaim, Text: "n"}, "12345678901234567890", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "b", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "7", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "c", false},
		{key.Part{Kind: key.FromClaim, Text: "/realm/roles"}, "admin", true},
		{key.Part{Kind: key.FromClaim, Text: "scope"}, "write:all", true},
		{key.Part{Kind: key.FromClaim, Text: "scope"}, "write", false},
		{key.Part{Kind: key.FromClaim, Text: "/scope"}, "write:all", true},
		{key.Part{Kind: key.FromClaim, Text: "/scope"}, "write", false},
		{key.Part{Kind: key.FromClaim, Text: "https://example.com/plan"}, "PRO", false},
		{key.Part{Kind: key.FromClaim, Text: "realm"}, "admin", false},
		{key.Part{Kind: key.FromClaim, Text: "missing"}, "-", false},
		{key.Part{Kind: key.FromAPIKey, Text: ""}, "k1", true},
		{key.Part{Kind: key.FromStage, Text: ""}, "prod", true},
		{key.Part{Kind: key.FromStage, Text: ""}, "dev", false},
	} {
		c := match.Condition{Part: test.part, Words: strings.Fields(test.words)}
		if got := c.Holds(r); got != test.want {
			t.Errorf("%v is one of %s: %v, want %v", test.part, test.words, got, test.want)
		}
	}
	if (&match.Condition{Part: key.Part{Kind: key.FromStage, Text: ""}, Words: []string{""}}).Holds(&request.Request{}) {
		t.Error("a stage that is missing is no text")
	}
}

func TestCallers(t *testing.T) {
	for _, test := range []struct {
		name string
		r    request.Request
		want request.Caller
	}{
		{"nothing", request.Request{}, request.Anonymous},
		{"a token", request.Request{Claims: map[string]any{}}, request.Known},
		{"a key", request.Request{APIKey: "k"}, request.Known},
		{"bad credentials", request.Request{Rejected: true}, request.Rejected},
	} {
		if got := test.r.Caller(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		for _, of := range []request.Caller{request.Anonymous, request.Known, request.Rejected} {
			s := match.Selector{Callers: of}
			if got := s.Covers(&test.r); got != (of == test.want) {
				t.Errorf("%s: a rule for %s covers it: %v", test.name, request.Callers[of/2], got)
			}
		}
	}
}

// TestStatedCost holds costs that the request states to their bounds: garbling one never pays.
func TestStatedCost(t *testing.T) {
	cost := Cost{from: key.Part{Kind: key.FromHeader, Text: "x-tokens"}, min: 500, max: 8000}
	for _, test := range []struct {
		sent []string
		want int64
	}{
		{[]string{"700"}, 700}, {[]string{"1"}, 500}, {[]string{"0"}, 500}, {[]string{"8000"}, 8000}, {[]string{"8001"}, 8000},
		{nil, 8000}, {[]string{""}, 8000}, {[]string{"x"}, 8000}, {[]string{"-1"}, 8000}, {[]string{"+700"}, 8000}, {[]string{"7e2"}, 8000},
		{[]string{" 700"}, 8000}, {[]string{"700", "700"}, 8000}, {[]string{"99999999999999999999"}, 8000}, {[]string{"0x2bc"}, 8000},
	} {
		r := &request.Request{Headers: map[string][]string{"X-Tokens": test.sent}}
		if got := cost.of(r, 100_000); got != test.want {
			t.Errorf("%q costs %d, want %d", test.sent, got, test.want)
		}
	}
	clamped := Cost{from: key.Part{Kind: key.FromClaim, Text: "size"}, min: 1, max: 8000, Clamp: true}
	if got := clamped.of(&request.Request{Claims: claims(t, `{"size": 5000}`)}, 4000); got != 4000 {
		t.Errorf("5000 of a limit that holds 4000 cost %d", got)
	}
	fixed := Fixed(5)
	if got := fixed.of(nil, 4); got != 5 {
		t.Errorf("a fixed cost of 5 is %d", got)
	}
}
