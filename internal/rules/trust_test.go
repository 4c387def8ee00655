package rules

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// Overrides may loosen a rule only if the client does not fill in their keys.
func TestRestrictOnly(t *testing.T) {
	for fields, want := range map[string]bool{
		"key: 'u:{jwt.sub}', overrides: true":                                      false,
		"key: '{ip}|{route}|{stage}|{apikey}', overrides: true":                    false,
		"key: 'p:{path.p}', overrides: true":                                       true,
		"key: 'h:{header.h}', overrides: true":                                     true,
		"key: '{method}', overrides: true":                                         true,
		"key: 'p:{path.p}', overrides: true, trusted: path.p":                      false,
		"key: 'p:{path.p}|{query.q}', overrides: true, trusted: [path.p]":          true,
		"key: 'p:{path.p}|{query.q}', overrides: true, trusted: [path.p, query.q]": false,
		"key: 'h:{header.X-H}', overrides: true, trusted: header.x-h":              false,
		"key: 'p:{path.p}|{jwt.sub}', overrides: 'u:{jwt.sub}'":                    false,
		"key: 'u:{jwt.sub}', overrides: 'p:{path.p}'":                              true,
		"key: 'u:{jwt.sub}', overrides: 'p:{path.p}', trusted: path.p":             false,
		"key: 'p:{path.p}', trusted: path.p":                                       false,
	} {
		if got := parseRule(t, fields).restrictOnly; got != want {
			t.Errorf("%s: %t, want %t", fields, got, want)
		}
	}
}

// A rule without overrides: true has only the document's overrides.
func TestDocumentOnly(t *testing.T) {
	s := parse(t, kinds)
	plain, _ := s.Rule("plain")
	if plain.TakesOverrides() {
		t.Error("it takes overrides from outside the document")
	}
	req := user("GET", "/", nil)
	key, ok := plain.AppendOverrideKey(nil, req)
	if o := s.Override("plain", string(key)); !ok || o == nil || o.Capacity[""] != 7 {
		t.Errorf("key %q, %t: %+v", key, ok, o)
	}
	s = parse(t, "{rules: [{name: r, key: 'p:{path.p}', limits: [{capacity: 9, window: 1s}]}], overrides: {r: {'p:a': {capacity: 3}}}}")
	if !s.Rules[0].restrictOnly {
		t.Error("the client's key may loosen")
	}
}

// An override of a table cannot loosen a rule whose keys the client fills in.
func TestClientKeysCannotLoosen(t *testing.T) {
	s := parse(t, kinds)
	partner, _ := s.Rule("partner")
	for document, want := range map[string]string{
		"capacity: 1000":                        "100/1m0s cost 1",
		"capacity: 10":                          "10/1m0s cost 1",
		"unlimited: true":                       "100/1m0s cost 1",
		"limits: [{capacity: 999, window: 1s}]": "100/1m0s cost 1",
	} {
		o, err := parseOverride("o", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		terms := partner.Terms(&request.Request{}, "", o, time.Time{})
		if got := describeTerms(terms); got != want {
			t.Errorf("%s: %s, want %s", document, got, want)
		}
	}
}
