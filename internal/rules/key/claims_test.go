package key

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// claims decodes a token's payload as a verifier of tokens does.
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

// Keys take claims that are text, numbers or booleans.
func TestClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload)}
	for name, want := range map[string]string{
		"sub": "7", "n": "12345678901234567890", "f": "1.50", "yes": "true",
		"none": "-", "missing": "-", "list": "-", "realm": "-",
		"https://example.com/plan": "pro", "a/b": "slash",
		"/sub": "7", "/a~1b": "slash", "/m~0n": "tilde", "/realm/deep/x": "y", "/realm/roles/0": "admin", "/realm/roles/1": "3",
		"/realm/roles/2": "-", "/realm/roles/01": "-", "/realm/roles/-1": "-", "/realm/roles": "-", "/sub/x": "-", "/": "-", "/realm/": "-",
	} {
		p := Part{Kind: FromClaim, Text: name}
		made := Template{Parts: []Part{p}}
		if got := string(made.Append(nil, r, "")); got != want {
			t.Errorf("{jwt.%s} is %q, want %q", name, got, want)
		}
	}
}

// Claims and keys of invalid credentials count for nothing.
func TestRejectedClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload), APIKey: "k1", Rejected: true}
	for _, p := range []Part{{Kind: FromClaim, Text: "sub"}, {Kind: FromClaim, Text: "/sub"}, {Kind: FromAPIKey, Text: ""}} {
		if text, ok := p.Value(r); ok {
			t.Errorf("%v has the value %q", p, text)
		}
		if key := (&Template{Parts: []Part{p}}).Append(nil, r, ""); string(key) != "-" {
			t.Errorf("%v makes the key %q", p, key)
		}
	}
	if c := r.Caller(); c != request.Rejected {
		t.Errorf("caller %v", c)
	}
}
