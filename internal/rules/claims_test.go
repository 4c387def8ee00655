package rules

import (
	"encoding/json"
	"strings"
	"testing"
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
	r := &Request{Claims: claims(t, payload)}
	for name, want := range map[string]string{
		"sub": "7", "n": "12345678901234567890", "f": "1.50", "yes": "true",
		"none": "-", "missing": "-", "list": "-", "realm": "-",
		"https://example.com/plan": "pro", "a/b": "slash",
		"/sub": "7", "/a~1b": "slash", "/m~0n": "tilde", "/realm/deep/x": "y", "/realm/roles/0": "admin", "/realm/roles/1": "3",
		"/realm/roles/2": "-", "/realm/roles/01": "-", "/realm/roles/-1": "-", "/realm/roles": "-", "/sub/x": "-", "/": "-", "/realm/": "-",
	} {
		p := part{fromClaim, name}
		made := template{parts: []part{p}}
		if got := string(made.append(nil, r, &selector{})); got != want {
			t.Errorf("{jwt.%s} is %q, want %q", name, got, want)
		}
	}
}

// TestRejectedClaims: what bad credentials say counts for nothing.
func TestRejectedClaims(t *testing.T) {
	r := &Request{Claims: claims(t, payload), APIKey: "k1", Rejected: true}
	for _, p := range []part{{fromClaim, "sub"}, {fromClaim, "/sub"}, {fromAPIKey, ""}} {
		if text, ok := p.only(r); ok {
			t.Errorf("%v says %q", p, text)
		}
		if key := (&template{parts: []part{p}}).append(nil, r, &selector{}); string(key) != "-" {
			t.Errorf("%v makes the key %q", p, key)
		}
	}
	if c := r.caller(); c != rejected {
		t.Errorf("caller %v", c)
	}
}

func TestConditions(t *testing.T) {
	r := &Request{Claims: claims(t, payload), APIKey: "k1", Stage: "prod"}
	for _, test := range []struct {
		part  part
		words string
		want  bool
	}{
		{part{fromClaim, "sub"}, "7", true},
		{part{fromClaim, "sub"}, "6 7", true},
		{part{fromClaim, "sub"}, "70", false},
		{part{fromClaim, "yes"}, "true", true},
		{part{fromClaim, "n"}, "12345678901234567890", true},
		{part{fromClaim, "list"}, "b", true},
		{part{fromClaim, "list"}, "7", true},
		{part{fromClaim, "list"}, "c", false},
		{part{fromClaim, "/realm/roles"}, "admin", true},
		{part{fromClaim, "scope"}, "write:all", true},
		{part{fromClaim, "scope"}, "write", false},
		{part{fromClaim, "/scope"}, "write:all", true},
		{part{fromClaim, "/scope"}, "write", false},
		{part{fromClaim, "https://example.com/plan"}, "PRO", false},
		{part{fromClaim, "realm"}, "admin", false},
		{part{fromClaim, "missing"}, "-", false},
		{part{fromAPIKey, ""}, "k1", true},
		{part{fromStage, ""}, "prod", true},
		{part{fromStage, ""}, "dev", false},
	} {
		c := condition{test.part, strings.Fields(test.words)}
		if got := c.holds(r); got != test.want {
			t.Errorf("%v is one of %s: %v, want %v", test.part, test.words, got, test.want)
		}
	}
	if (&condition{part{fromStage, ""}, []string{""}}).holds(&Request{}) {
		t.Error("a stage that is missing is no text")
	}
}

func TestCallers(t *testing.T) {
	for _, test := range []struct {
		name string
		r    Request
		want caller
	}{
		{"nothing", Request{}, anonymous},
		{"a token", Request{Claims: map[string]any{}}, known},
		{"a key", Request{APIKey: "k"}, known},
		{"bad credentials", Request{Rejected: true}, rejected},
	} {
		if got := test.r.caller(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		for _, of := range []caller{anonymous, known, rejected} {
			s := selector{callers: of}
			if got := s.covers(&test.r); got != (of == test.want) {
				t.Errorf("%s: a rule for %s covers it: %v", test.name, callers[of/2], got)
			}
		}
	}
}

// TestStatedCost holds costs that the request states to their bounds: garbling one never pays.
func TestStatedCost(t *testing.T) {
	cost := Cost{from: part{fromHeader, "x-tokens"}, min: 500, max: 8000}
	for _, test := range []struct {
		sent []string
		want int64
	}{
		{[]string{"700"}, 700}, {[]string{"1"}, 500}, {[]string{"0"}, 500}, {[]string{"8000"}, 8000}, {[]string{"8001"}, 8000},
		{nil, 8000}, {[]string{""}, 8000}, {[]string{"x"}, 8000}, {[]string{"-1"}, 8000}, {[]string{"+700"}, 8000}, {[]string{"7e2"}, 8000},
		{[]string{" 700"}, 8000}, {[]string{"700", "700"}, 8000}, {[]string{"99999999999999999999"}, 8000}, {[]string{"0x2bc"}, 8000},
	} {
		r := &Request{Headers: map[string][]string{"X-Tokens": test.sent}}
		if got := cost.of(r, 100_000); got != test.want {
			t.Errorf("%q costs %d, want %d", test.sent, got, test.want)
		}
	}
	clamped := Cost{from: part{fromClaim, "size"}, min: 1, max: 8000, Clamp: true}
	if got := clamped.of(&Request{Claims: claims(t, `{"size": 5000}`)}, 4000); got != 4000 {
		t.Errorf("5000 of a limit that holds 4000 cost %d", got)
	}
	fixed := Fixed(5)
	if got := fixed.of(nil, 4); got != 5 {
		t.Errorf("a fixed cost of 5 is %d", got)
	}
}
