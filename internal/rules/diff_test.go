package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/ruledoc"
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
	keep  = "its counters keep their windows"
	reset = "its counters start at zero"
	goOn  = "it continues counters that exist"
)

// edits are pieces of the document, their replacements, and the expected changes.
var edits = []struct {
	name   string
	pieces []string
	want   []string
}{
	{"instances", []string{"instances: 20", "instances: 5"}, []string{"defaults.instances: from 20 to 5"}},
	{"on_error of all rules", []string{"on_error: local", "on_error: deny"}, []string{
		"rule anonymous, on_error: from local to deny", "rule anonymous: " + keep,
		"rule api, on_error: from local to deny", "rule api: " + keep,
		"rule chat, on_error: from local to deny", "rule chat: " + keep,
		"rule export, on_error: from local to deny", "rule export: " + keep,
	}},
	{"client_ip", []string{"{trusted_hops: 1}", "{header: CF-Connecting-IP, secret: {header: x-origin, env: ORIGIN}}"},
		[]string{"client_ip: from {trusted_hops: 1} to {header: cf-connecting-ip, secret: {header: x-origin, env: ORIGIN}}"}},
	{"answers", []string{"unmatched: allow", "unmatched: allow\nheaders: standard\nretry_jitter: 60s\ndenied: {status: 503}"}, []string{
		"headers: from none to standard", "retry_jitter: from none to 1m", "denied: from none to {status: 503}",
	}},
	{"answers as by default", []string{"unmatched: allow", "unmatched: allow\ndenied: {status: 429}"}, nil},
	{"no client_ip", []string{"client_ip: {trusted_hops: 1}\n", ""}, []string{"client_ip: from {trusted_hops: 1} to none"}},
	{"hashed keys", []string{"plan: {from", "hash_secret: {env: KEYS, check: 1a2b3c4d}\nplan: {hash: true, from",
		"    key: tenant:{jwt.tenant}|user:{jwt.sub}\n", "    key: tenant:{jwt.tenant}|user:{jwt.sub}\n    hash: true\n"}, []string{
		"hash_secret: from none to {env: KEYS, check: 1a2b3c4d}",
		"plan.overrides: from user:{jwt.sub} to user:{jwt.sub} hashed by 1a2b3c4d",
		"rule api, key: from tenant:{jwt.tenant}|user:{jwt.sub} to tenant:{jwt.tenant}|user:{jwt.sub} hashed by 1a2b3c4d",
		"rule api, overrides: from tenant:{jwt.tenant} to tenant:{jwt.tenant} hashed by 1a2b3c4d",
		"rule api: " + reset,
	}},
	{"unmatched", []string{"unmatched: allow", "unmatched: deny"}, []string{"unmatched: from allow to deny"}},
	{"ambiguous paths", []string{"unmatched: allow", "unmatched: allow\nambiguous_paths: clean"}, []string{"ambiguous_paths: from deny to clean"}},
	{"a network less", []string{", 203.0.113.0/24", ""}, []string{"deny: removed: {cidrs: 203.0.113.0/24}"}},
	{"a network more", []string{"203.0.113.0/24]", `203.0.113.0/24, "2001:db8::/32"]`}, []string{"deny: added: {cidrs: 2001:db8::/32}"}},
	{"skip", []string{"{methods: [GET], route: /health}", "{route: /healthz}"}, []string{
		"skip: added: {route: /healthz}", "skip: removed: {methods: GET, route: /health}",
	}},
	{"source of plans", []string{"from: jwt.plan", "from: jwt./app/plan"}, []string{"plan.from: from jwt.plan to jwt./app/plan"}},
	{"overrides of plans", []string{`, overrides: "user:{jwt.sub}"`, "", `  plan: {"user:777": {plan: pro, until: 2026-12-31T00:00:00Z, why: launch week}}` + "\n", ""}, []string{
		"plan.overrides: from user:{jwt.sub} to none",
		`plans, overrides of user:777: removed: {plan: pro, until: 2026-12-31T00:00:00Z, why: launch week}`,
	}},
	{"a plan more", []string{"free: {}", "free: {}\n  gold: {api: unlimited}"}, []string{
		"plans: from [free, pro] to [free, gold, pro]", "rule api, plans.gold: from none to unlimited", "rule api: " + keep,
	}},
	{"a plan's capacity", []string{"requests: 60}", "requests: 70}"}, []string{
		"rule chat, plans.pro: from {requests: 60, tokens: 4000} to {requests: 70, tokens: 4000}", "rule chat: " + keep,
	}},

	{"a rule more", []string{"  - name: chat\n", "  - {name: login, when: {route: /login}, key: \"login:{ip}\", limits: [{capacity: 5, window: 1m, cost: 2}]}\n  - name: chat\n"},
		[]string{"rule login: added: {when: {route: /login}, key: login:{ip}, limits: [{capacity: 5, window: 1m, granularity: 1s, cost: 2}]}"}},
	{"a rule less", []string{"  - name: burst\n    key: route:{route}\n    limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]\n    on_error: allow\n", ""},
		[]string{"rule burst: removed: {key: route:{route}, on_error: allow, limits: [{algorithm: token_bucket, capacity: 10, burst: 10, window: 1s}]}"}},
	{"another name", []string{"name: anonymous", "name: strangers"}, []string{
		"rule strangers: added: {when: {caller: anonymous}, key: ip:{ip}, limits: [{capacity: 20, window: 1m, granularity: 1s}]}",
		"rule anonymous: removed: {when: {caller: anonymous}, key: ip:{ip}, limits: [{capacity: 20, window: 1m, granularity: 1s}]}",
	}},
	{"another name, the same counters", []string{"name: anonymous", "name: strangers\n    counter: anonymous"}, []string{
		"rule strangers: added: {when: {caller: anonymous}, key: ip:{ip}, counter: anonymous, limits: [{capacity: 20, window: 1m, granularity: 1s}]}; " + goOn,
		"rule anonymous: removed: {when: {caller: anonymous}, key: ip:{ip}, limits: [{capacity: 20, window: 1m, granularity: 1s}]}",
	}},
	{"when", []string{"{caller: anonymous}", "{caller: [rejected, anonymous], path: /v1/*}"}, []string{
		"rule anonymous, when: from {caller: anonymous} to {path: /v1/*, caller: [anonymous, rejected]}", "rule anonymous: " + keep,
	}},
	{"words that look like several", []string{"{jwt.plan: [pro, free], jwt.region: eu}", `{jwt.plan: ["pro, free", "]"], jwt.region: 'a"b'}`}, []string{
		"rule api, when: from {methods: [GET, POST], route: [/v1/**, /v2/**], caller: known, match: {jwt.plan: [free, pro], jwt.region: eu}}" +
			` to {methods: [GET, POST], route: [/v1/**, /v2/**], caller: known, match: {jwt.plan: ["]", "pro, free"], jwt.region: "a\"b"}}`,
		"rule api: " + keep,
	}},
	{"no when", []string{"    when: {caller: anonymous}\n", ""}, []string{"rule anonymous, when: from {caller: anonymous} to none", "rule anonymous: " + keep}},
	{"match", []string{"jwt.region: eu", "jwt.region: [us, eu]"}, []string{
		"rule api, when: from {methods: [GET, POST], route: [/v1/**, /v2/**], caller: known, match: {jwt.plan: [free, pro], jwt.region: eu}}" +
			" to {methods: [GET, POST], route: [/v1/**, /v2/**], caller: known, match: {jwt.plan: [free, pro], jwt.region: [eu, us]}}",
		"rule api: " + keep,
	}},
	{"patterns that keys hold", []string{"key: route:{route}", "key: route:{route}\n    when: {route: [/a/**, /b]}"}, []string{
		"rule burst, when: from none to {route: [/a/**, /b]}", "rule burst: " + reset + " where the gateway names no route",
	}},
	{"all else than the patterns that keys hold", []string{"key: route:{route}", "key: route:{route}\n    when: {path: /a/**}"}, []string{
		"rule burst, when: from none to {path: /a/**}", "rule burst: " + keep,
	}},
	{"patterns that keys hold, and the key", []string{"key: route:{route}", "key: r:{route}\n    when: {route: /b}"}, []string{
		"rule burst, when: from none to {route: /b}", "rule burst, key: from route:{route} to r:{route}", "rule burst: " + reset,
	}},
	{"unless", []string{"    unless: {route: /v1/hooks/**}\n", ""}, []string{"rule api, unless: from {route: /v1/hooks/**} to none", "rule api: " + keep}},
	{"key", []string{"key: ip:{ip}", "key: address:{ip}"}, []string{"rule anonymous, key: from ip:{ip} to address:{ip}", "rule anonymous: " + reset}},
	{"counter", []string{"key: ip:{ip}", "key: ip:{ip}\n    counter: visitors"}, []string{"rule anonymous, counter: from none to visitors", "rule anonymous: " + reset}},
	{"atomic", []string{"key: ip:{ip}", "key: ip:{ip}\n    atomic: true"}, []string{"rule anonymous, atomic: from none to true", "rule anonymous: " + keep}},
	{"lease", []string{"key: ip:{ip}", "key: ip:{ip}\n    lease: 9"}, []string{"rule anonymous, lease: from none to 9", "rule anonymous: " + keep}},
	{"on_error", []string{"    on_error: allow\n", ""}, []string{"rule burst, on_error: from allow to local", "rule burst: " + keep}},
	{"mode", []string{"    mode: shadow\n", ""}, []string{"rule export, mode: from shadow to enforce", "rule export: " + keep}},
	{"headers", []string{"key: ip:{ip}", "key: ip:{ip}\n    headers: off"}, []string{"rule anonymous, headers: from none to off", "rule anonymous: " + keep}},
	{"refund_on", []string{"refund_on: [5xx]", "refund_on: [5xx, 429]"}, []string{"rule export, refund_on: from 5xx to [429, 5xx]", "rule export: " + keep}},
	{"overrides", []string{"key: ip:{ip}", "key: ip:{ip}\n    overrides: true"}, []string{"rule anonymous, overrides: from none to ip:{ip}", "rule anonymous: " + keep}},

	{"capacity", []string{"capacity: 20,", "capacity: 30,"}, []string{"rule anonymous, capacity: from 20 to 30", "rule anonymous: " + keep}},
	{"capacity that a plan keeps", []string{"capacity: 4000, window", "capacity: 5000, window"}, []string{
		"rule chat, plans.pro: from {requests: 60, tokens: 4000} to {requests: 60, tokens: 5000}",
		"rule chat, limit tokens, capacity: from 4000 to 5000", "rule chat: " + keep,
	}},
	{"window", []string{"capacity: 20, window: 60s", "capacity: 20, window: 1h"}, []string{
		"rule anonymous, window: from 1m to 1h", "rule anonymous, granularity: from 1s to 1m", "rule anonymous: " + reset,
	}},
	{"granularity", []string{"capacity: 20, window: 60s", "capacity: 20, window: 60s, granularity: 2s"}, []string{
		"rule anonymous, granularity: from 1s to 2s", "rule anonymous: " + reset,
	}},
	{"algorithm", []string{"capacity: 20, window: 60s", "capacity: 20, window: 60s, algorithm: leaky_bucket"}, []string{
		"rule anonymous, algorithm: from sliding_window to leaky_bucket", "rule anonymous, queue: from none to 20",
		"rule anonymous, granularity: from 1s to none", "rule anonymous: " + reset,
	}},
	{"burst", []string{"window: 1s}]\n    on_error", "window: 1s, burst: 50}]\n    on_error"}, []string{"rule burst, burst: from 10 to 50", "rule burst: " + keep}},
	{"timezone", []string{"timezone: Europe/Berlin", "timezone: Asia/Tokyo"}, []string{
		"rule export, limit month, timezone: from Europe/Berlin to Asia/Tokyo", "rule export: " + reset,
	}},
	{"no timezone", []string{"timezone: Europe/Berlin, ", ""}, []string{
		"rule export, limit month, timezone: from Europe/Berlin to UTC", "rule export: " + reset,
	}},
	{"anchor", []string{"anchor: {from: jwt.day, default: 1}", "anchor: 15"}, []string{
		"rule export, limit month, anchor: from {from: jwt.day, default: 1} to 15", "rule export: " + reset,
	}},
	{"anchor's default", []string{"default: 1}", "default: 2}"}, []string{
		"rule export, limit month, anchor: from {from: jwt.day, default: 1} to {from: jwt.day, default: 2}", "rule export: " + reset,
	}},
	{"calendar", []string{"window: 1mo, timezone: Europe/Berlin, anchor: {from: jwt.day, default: 1}", "window: 30d"}, []string{
		"rule export, limit month, window: from 1mo to 30d", "rule export, limit month, timezone: from Europe/Berlin to none",
		"rule export, limit month, anchor: from {from: jwt.day, default: 1} to none", "rule export: " + reset,
	}},
	{"candidate", []string{", candidate: 80%", ", candidate: 90"}, []string{"rule api, candidate: from 80% to 90", "rule api: " + keep}},
	{"no candidate", []string{", candidate: 80%", ""}, []string{"rule api, candidate: from 80% to none", "rule api: " + keep}},
	{"cost", []string{"capacity: 20,", "capacity: 20, cost: 2,"}, []string{"rule anonymous, cost: from 1 to 2", "rule anonymous: " + keep}},
	{"stated cost", []string{"settle: true", "settle: false"}, []string{
		"rule chat, limit tokens, cost: from {from: header.x-tokens, min: 500, max: 4000, settle: true} to {from: header.x-tokens, min: 500, max: 4000}",
		"rule chat: " + keep,
	}},
	{"cost of an override's limits alone", []string{"overrides: tenant:{jwt.tenant}", "overrides: tenant:{jwt.tenant}\n    cost: 2", "capacity: 100, window: 60s,", "capacity: 100, window: 60s, cost: 1,"},
		[]string{"rule api, cost: from none to 2", "rule api: " + keep}},
	{"over", []string{"over: clamp, ", ""}, []string{"rule chat, limit tokens, over: from clamp to none", "rule chat: " + keep}},
	{"a limit more", []string{"{name: requests, capacity: 10, window: 60s}", "{name: day, capacity: 500, window: 1d, algorithm: fixed_window}\n      - {name: requests, capacity: 10, window: 60s}"}, []string{
		"rule chat, plans.pro: from {requests: 60, tokens: 4000} to {day: 500, requests: 60, tokens: 4000}",
		"rule chat, limit day: added: {algorithm: fixed_window, capacity: 500, window: 1d}", "rule chat: " + reset,
	}},
	{"a limit's first name", []string{"limits: [{capacity: 20,", "limits: [{name: minute, capacity: 20,"}, []string{
		"rule anonymous, limit minute: added: {capacity: 20, window: 1m, granularity: 1s}",
		"rule anonymous, limits: removed: {capacity: 20, window: 1m, granularity: 1s}", "rule anonymous: " + reset,
	}},

	{"an override more", []string{`"user:666": {`, `"user:1": {capacity: {tokens: 9}}, "user:666": {`}, []string{"rule chat, overrides of user:1: added: {capacity: {tokens: 9}}"}},
	{"an override less", []string{"  chat: {\"user:666\": {deny: true, why: ticket 81}}\n", ""}, []string{
		`rule chat, overrides of user:666: removed: {deny: true, why: ticket 81}`,
	}},
	{"an override's capacity", []string{"{capacity: 20000}", "{unlimited: true}"}, []string{"rule api, overrides of tenant:acme: from {capacity: 20000} to {unlimited: true}"}},
	{"an override's first limits", []string{"{capacity: 20000}", "{limits: [{capacity: 9, window: 1s}]}"}, []string{
		"rule api, overrides of tenant:acme: from {capacity: 20000} to {limits: [{capacity: 9, window: 1s, granularity: 100ms}]}; " + reset,
	}},
	{"an override's capacity in its limits", []string{"{capacity: 5, window: 1s}", "{capacity: 6, window: 1s, cost: 1}"}, []string{
		"rule api, overrides of tenant:slow: from {limits: [{capacity: 5, window: 1s, granularity: 100ms}]} to {limits: [{capacity: 6, window: 1s, granularity: 100ms, cost: 1}]}",
	}},
	{"an override's end", []string{"until: 2026-12-31T00:00:00Z, ", ""}, []string{
		`plans, overrides of user:777: from {plan: pro, until: 2026-12-31T00:00:00Z, why: launch week} to {plan: pro, why: launch week}`,
	}},
	{"several things", []string{"unmatched: allow", "unmatched: deny", "capacity: 20,", "capacity: 30,", "key: ip:{ip}", "key: from:{ip}", "{capacity: 20000}", "{deny: true}"}, []string{
		"unmatched: from allow to deny",
		"rule anonymous, key: from ip:{ip} to from:{ip}", "rule anonymous, capacity: from 20 to 30", "rule anonymous: " + reset,
		"rule api, overrides of tenant:acme: from {capacity: 20000} to {deny: true}",
	}},
}

func TestDiff(t *testing.T) {
	current := parse(t, business)
	for _, tt := range edits {
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
