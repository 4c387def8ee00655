package rules

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// business is a document with nearly every field. Each test changes a piece of it.
const business = `
defaults: {on_error: local, instances: 20}
client_ip: {trusted_hops: 1}
unmatched: allow
deny:
  - {cidrs: [198.51.100.0/24, 203.0.113.0/24]}
skip:
  - {methods: [OPTIONS]}
  - {methods: [GET], route: /health}
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans:
  pro: {api: 6000, chat: {requests: 60}}
  free: {}
rules:
  - name: anonymous
    when: {caller: anonymous}
    key: ip:{ip}
    limits: [{capacity: 20, window: 60s}]
  - name: api
    when: {route: [/v1/**, /v2/**], methods: [GET, POST], caller: known, match: {jwt.plan: [pro, free], jwt.region: eu}}
    unless: {route: /v1/hooks/**}
    key: tenant:{jwt.tenant}|user:{jwt.sub}
    limits: [{capacity: 100, window: 60s, candidate: 80%}]
    overrides: tenant:{jwt.tenant}
  - name: chat
    when: {methods: [POST], route: /v1/chat, caller: known}
    key: user:{jwt.sub}
    overrides: true
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 4000, window: 60s, over: clamp, cost: {from: header.x-tokens, min: 500, max: 4000, settle: true}}
  - name: export
    when: {route: /v1/export}
    key: tenant:{jwt.tenant}
    limits: [{name: month, algorithm: fixed_window, capacity: 100, window: 1mo, timezone: Europe/Berlin, anchor: {from: jwt.day, default: 1}}]
    refund_on: [5xx]
    mode: shadow
  - name: burst
    key: route:{route}
    limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]
    on_error: allow
overrides:
  plan: {"user:777": {plan: pro, until: 2026-12-31T00:00:00Z, why: launch week}}
  api: {"tenant:acme": {capacity: 20000}, "tenant:slow": {limits: [{capacity: 5, window: 1s}]}}
  chat: {"user:666": {deny: true, why: ticket 81}}
`

// edit replaces pieces of the document, given in pairs: old, new, old, new … Each
// old piece must occur once.
func edit(t testing.TB, pieces ...string) string {
	t.Helper()
	document := business
	for i := 0; i < len(pieces); i += 2 {
		if n := strings.Count(document, pieces[i]); n != 1 {
			t.Fatalf("%q is there %d times", pieces[i], n)
		}
		document = strings.Replace(document, pieces[i], pieces[i+1], 1)
	}
	return document
}

func lines(changes []ruledoc.Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return lines
}

const (
	reset = "its counters start at zero"
	goOn  = "it continues counters that exist"
)

// change is an edit of the document: pieces of it with their replacements, and
// what changes by it.
type change struct {
	name         string
	pieces, want []string
}

// edits reads testdata/changes.txt. An edit is a line with its name, pairs of an
// old and a new piece after - and +, quoted as in Go, and the changes, each after a
// tab.
func edits(t *testing.T) (all []change) {
	t.Helper()
	text, err := os.ReadFile("testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			all = append(all, change{name: name})
			continue
		}
		last := &all[len(all)-1]
		if want, ok := strings.CutPrefix(line, "\t"); ok {
			last.want = append(last.want, want)
			continue
		}
		piece, err := strconv.Unquote(line[len("- "):])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		last.pieces = append(last.pieces, piece)
	}
	return all
}

func TestDiff(t *testing.T) {
	current := parse(t, business)
	for _, tt := range edits(t) {
		t.Run(tt.name, func(t *testing.T) {
			next := parse(t, edit(t, tt.pieces...))
			if diff := cmp.Diff(tt.want, lines(changes(current, next))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(changes(next, current)); n != len(tt.want) {
				t.Errorf("%d changes there, and %d back: %q", len(tt.want), n, lines(changes(next, current)))
			}
		})
	}
}

func TestChangesAsJSON(t *testing.T) {
	changes := changes(parse(t, business), parse(t, edit(t, "capacity: 10, window: 60s", "capacity: 10, window: 30s", "{deny: true, why: ticket 81}", "{unlimited: true}")))
	got, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"kind":"changed","rule":"chat","limit":"requests","field":"window","from":"1m","to":"30s","counters_reset":false},` +
		`{"kind":"changed","rule":"chat","limit":"requests","field":"granularity","from":"1s","to":"500ms","counters_reset":false},` +
		`{"kind":"counters","rule":"chat","from":{"counter":"chat","key":"user:{jwt.sub}","limits":[{"name":"requests","window":"1m","granularity":"1s"},{"name":"tokens","window":"1m","granularity":"1s"}]},` +
		`"to":{"counter":"chat","key":"user:{jwt.sub}","limits":[{"name":"requests","window":"30s","granularity":"500ms"},{"name":"tokens","window":"1m","granularity":"1s"}]},"counters_reset":true},` +
		`{"kind":"changed","rule":"chat","field":"overrides","key":"user:666","from":{"deny":true,"why":"ticket 81"},"to":{"unlimited":true},"counters_reset":true}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
