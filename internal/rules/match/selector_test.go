package match

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestConditions(t *testing.T) {
	payload := map[string]any{
		"sub": "7", "n": json.Number("12345678901234567890"), "yes": true, "https://example.com/plan": "pro", "scope": "read write:all",
		"realm": map[string]any{"roles": []any{"admin", json.Number("3")}}, "list": []any{"a", "b", json.Number("7")},
	}
	r := &request.Request{Claims: payload, APIKey: "k1", Stage: "prod"}
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
		c := Condition{Part: test.part, Words: strings.Fields(test.words)}
		if got := c.Holds(r); got != test.want {
			t.Errorf("%v is one of %s: %v, want %v", test.part, test.words, got, test.want)
		}
	}
	if (&Condition{Part: key.Part{Kind: key.FromStage, Text: ""}, Words: []string{""}}).Holds(&request.Request{}) {
		t.Error("a missing stage equals the empty text")
	}
}

func TestCallers(t *testing.T) {
	for _, test := range []struct {
		name string
		r    request.Request
		want string
	}{
		{"nothing", request.Request{}, request.Anonymous},
		{"a token", request.Request{Claims: map[string]any{}}, request.Known},
		{"a key", request.Request{APIKey: "k"}, request.Known},
		{"bad credentials", request.Request{Rejected: true}, request.Rejected},
	} {
		if got := test.r.Caller(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		for _, of := range []string{request.Anonymous, request.Known, request.Rejected} {
			s := Selector{Callers: []string{of}}
			if got := s.Covers(&test.r); got != (of == test.want) {
				t.Errorf("%s: a rule for %s covers it: %v", test.name, of, got)
			}
		}
	}
}
