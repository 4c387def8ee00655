package rules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// Entries with one network each are merged, so a long list is as quick as one entry.
func TestLookupMerges(t *testing.T) {
	var list []match.Selector
	for i := range 5000 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)
		list = append(list, match.Selector{CIDRs: []netip.Prefix{network}})
	}
	list = append(list, match.Selector{CIDRs: list[0].CIDRs, Methods: []string{"GET"}}, match.Selector{Methods: []string{"TRACE"}})
	if e := match.NewLookup(list); len(e.Others) != 2 {
		t.Errorf("%d entries are compared one by one, want 2", len(e.Others))
	}
}

// drawStated draws a selector as a document states it.
func drawStated(t *rapid.T) map[string]any {
	patterns := func(parameters bool) *rapid.Generator[string] {
		segments := []string{"a", "B", "ab", "*", "a*", "**"}
		if parameters {
			segments = append(segments, "{id}")
		}
		return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(segments), 1, 3), func(s []string) string { return "/" + strings.Join(s, "/") })
	}
	most := rapid.SampledFrom([]int{1, 2, 20}) // more than an index takes
	list := func(of *rapid.Generator[string], label string) []string {
		return rapid.SliceOfNDistinct(of, 1, most.Draw(t, "most"), rapid.ID).Draw(t, label)
	}
	words := rapid.Map(rapid.IntRange(0, 25), func(i int) string { return fmt.Sprint("w", i) })
	s := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(t, "fields") {
		switch rapid.IntRange(0, 5).Draw(t, "field") {
		case 0:
			s["methods"] = []string{"GET"}
		case 1:
			s["route"] = list(patterns(true), "route")
		case 2:
			s["path"] = list(patterns(false), "path")
		case 3:
			s["cidrs"] = list(rapid.SampledFrom([]string{"10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"}), "networks")
		case 4:
			s["caller"] = []string{rapid.SampledFrom([]string{"known", "anonymous"}).Draw(t, "caller")}
		case 5:
			source := rapid.SampledFrom([]string{"jwt.plan", "jwt.scope", "stage"}).Draw(t, "source")
			s["match"] = map[string]any{source: list(words, "words")}
		}
	}
	return s
}

func drawDocument(t *rapid.T) string {
	entries := func(label string, most int) (all []any) {
		for range rapid.IntRange(1, most).Draw(t, label) {
			all = append(all, drawStated(t))
		}
		return all
	}
	var rules []any
	for i := range rapid.IntRange(1, 30).Draw(t, "rules") {
		r := map[string]any{"name": fmt.Sprint("r", i), "key": "all", "limit": "1/minute"}
		if rapid.IntRange(0, 9).Draw(t, "for all") > 0 {
			r["when"] = drawStated(t)
		}
		if rapid.IntRange(0, 4).Draw(t, "with unless") == 0 {
			r["unless"] = drawStated(t)
		}
		rules = append(rules, r)
	}
	encoded, _ := json.Marshal(map[string]any{"rules": rules, "deny": entries("deny", 8), "skip": entries("skip", 8)})
	return string(encoded)
}

// TestMatchOfDocuments: what a document's set finds by its index is what a look
// at each of its rules and entries finds.
func TestMatchOfDocuments(t *testing.T) {
	matched, listed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		document := drawDocument(t)
		s, _, err := compileText("rules.yaml", []byte(document))
		if err != nil {
			t.Fatalf("%v, of %s", err, document)
		}
		for range 10 {
			req := drawSent(t)
			req.IP = rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")}).Draw(t, "ip")
			req.Path = rapid.OneOf(rapid.Just(req.Path), rapid.SampledFrom([]string{"/a", "/a/b", "/ab/B/a", "/A/ab", "/b/../a", "/a;x/b"})).Draw(t, "one of the paths")
			if req.Claims != nil {
				req.Claims["plan"] = rapid.SampledFrom([]any{"w1", "w2", "w20", []any{"w3", "w4"}}).Draw(t, "plan of the rules")
			}
			var want []*Rule
			for _, r := range s.Rules {
				if r.Matches(req) {
					want = append(want, r)
				}
			}
			matched += len(want)
			if got := s.Match(nil, req); !slices.Equal(got, want) {
				t.Fatalf("%+v: rules %v, want %v, of %s", req, namesOf(got), namesOf(want), document)
			}
			banned := slices.ContainsFunc(s.deny, func(e match.Selector) bool { return e.Covers(req) })
			skipped := slices.ContainsFunc(s.skip, func(e match.Selector) bool { return e.CoversExactly(req) })
			if banned || skipped {
				listed++
			}
			if s.Banned(req) != banned || s.Skipped(req) != skipped {
				t.Fatalf("%+v: banned %t, skipped %t; want %t, %t, of %s", req, s.Banned(req), s.Skipped(req), banned, skipped, document)
			}
		}
	})
	if matched < 100 || listed < 20 {
		t.Errorf("%d matches and %d listed requests, want 100 and 20 at least", matched, listed)
	}
}

// A document denies ambiguous paths if anything in it selects by path, unless it
// sets ambiguous_paths.
func TestAmbiguous(t *testing.T) {
	const limits = "key: all, limits: [{capacity: 1, window: 1s}]}]"
	for _, tt := range []struct {
		name, document string
		denied         bool
	}{
		{"nothing looks at paths", "rules: [{name: r, " + limits, false},
		{"other fields", "deny: [{methods: [TRACE]}]\nskip: [{cidrs: 10.0.0.0/8}]\nrules: [{name: r, when: {caller: known}, " + limits, false},
		{"a rule by path", "rules: [{name: r, when: {path: /a}, " + limits, true},
		{"a rule in shadow", "rules: [{name: r, mode: shadow, when: {path: /a}, " + limits, true},
		{"a rule that is off", "rules: [{name: r, mode: 'off', when: {path: /a}, " + limits, false},
		{"unless", "rules: [{name: r, unless: {path: /a}, " + limits, true},
		{"deny", "deny: [{path: /a}]\nrules: []", true},
		{"skip", "skip: [{route: /a}]\nrules: []", true},
		{"clean is stated", "ambiguous_paths: clean\nrules: [{name: r, when: {path: /a}, " + limits, false},
		{"deny is stated where nothing looks at paths", "ambiguous_paths: deny\nrules: [{name: r, " + limits, true},
	} {
		s := parse(t, tt.document)
		for _, route := range []string{"", "GET /a/{b}"} {
			for path, want := range map[string]bool{"/a//b": tt.denied, "/a/b": false, "/a/": false, "": false, "/a%20b": false} {
				req := request.Request{Path: path, Route: route}
				why, ambiguous := s.WhyAmbiguous(&req)
				if s.Ambiguous(&req) != want || ambiguous != want || (why != "") != want {
					t.Errorf("%s: %q on route %q is denied: %t, %t, %q; want %t", tt.name, path, route, s.Ambiguous(&req), ambiguous, why, want)
				}
			}
		}
	}
}

func TestWhyAmbiguous(t *testing.T) {
	s := parse(t, "skip: [{path: /health}]\nrules: []")
	for path, want := range map[string]string{
		"/a//b":             "path /a//b has an empty segment, and ambiguous_paths is deny",
		"/x/%2e%2E/y":       "path /x/%2e%2E/y has a dot segment in %2e%2E, and ambiguous_paths is deny",
		"/files/a%2Fb/c":    "path /files/a%2Fb/c has an encoded slash in a%2Fb, and ambiguous_paths is deny",
		"/health;x=1":       "path /health;x=1 has a semicolon in health;x=1, and ambiguous_paths is deny",
		"/health\x00":       `path "/health\x00" has a control character in "health\x00", and ambiguous_paths is deny`,
		"/100%25/x":         "path /100%25/x has a percent sign after decoding in 100%25, and ambiguous_paths is deny",
		"/.well-known/x.js": "",
	} {
		if got, _ := s.WhyAmbiguous(&request.Request{Path: path}); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// Under clean, limits and bans apply to either form of a path. Nothing lifts a
// limit from an ambiguous path, even if both of its forms match.
func TestCleanPaths(t *testing.T) {
	s := parse(t, `
ambiguous_paths: clean
deny: [{path: /banned/**}]
skip: [{path: /static/**}]
rules:
- {name: admin, when: {path: /admin/**}, unless: {path: /admin/open/**}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: dots, when: {path: "/x/*/admin"}, key: all, limits: [{capacity: 1, window: 60s}]}`)
	for _, tt := range []struct {
		path            string
		banned, skipped bool
		rules           string
	}{
		{"/x/../admin", false, false, "admin dots"}, // as cleaned, and as sent
		{"/x/y/../../banned", true, false, ""},
		{"/static/a", false, true, ""},
		{"/static/a;v=1", false, false, ""},
		{"/static/../admin", false, false, "admin"},
		{"/admin/open/a", false, false, ""},
		{"/admin/open/a//b", false, false, "admin"},
	} {
		req := requestTo(tt.path)
		if got := strings.Join(namesOf(s.Match(nil, &req)), " "); s.Ambiguous(&req) || s.Banned(&req) != tt.banned || s.Skipped(&req) != tt.skipped || got != tt.rules {
			t.Errorf("%s: denied %t, banned %t, skipped %t, rules %q; want %+v", tt.path, s.Ambiguous(&req), s.Banned(&req), s.Skipped(&req), got, tt)
		}
	}
}

// Whether a path is ambiguous does not depend on its length.
func TestAmbiguousAtAnyLength(t *testing.T) {
	s := parse(t, "rules: [{name: r, when: {path: /a}, key: all, limits: [{capacity: 1, window: 1s}]}]")
	for _, tt := range []struct {
		part      string
		long      int
		ambiguous bool
	}{
		{"/a", 100_000, false},
		{"/a%20b", 10 << 10, false},
		{"/a//b", 100_000, true},
		{"//x;a/..%3Bb%2F//../%2e%2e/y/", 300, true},
		{"//x;a/..%3Bb%2F//../%2e%2e/y/", 10 << 10, true},
	} {
		req := request.Request{Path: strings.Repeat(tt.part, tt.long/len(tt.part))}
		if got := s.Ambiguous(&req); got != tt.ambiguous || s.Banned(&req) {
			t.Errorf("%d bytes of %s: ambiguous %t, want %t", tt.long, tt.part, got, tt.ambiguous)
		}
	}
}
