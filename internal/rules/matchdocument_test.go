package rules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/rules/match"
)

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
