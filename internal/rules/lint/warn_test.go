package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// load reads a document that must be good, with its warnings.
func load(t testing.TB, file, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse(file, []byte(document))
	if err != nil {
		t.Fatalf("%v\nof:\n%s", err, document)
	}
	return set
}

// short expands what traces abbreviate.
var short = strings.NewReplacer(
	"USER", "{name: user, when: {methods: GET, route: [/a, /b], path: /c}, key: 'u:{header.x-user}', limits: [{capacity: 1, window: 1s}]}",
	"SOME", "{name: a, unless: {path: /x, caller: known}, key: '{header.x}', limits: [{capacity: 1, window: 1s}]}",
	"BUCKET", "key: all, limits: [{algorithm: token_bucket, capacity: 1, window: 1s}]",
	"LIMITS", "limits: [{capacity: 1, window: 1s}]", ", IP", ", {name: ip, key: 'ip:{ip}', limit: 9/s}",
	"ISSUER-A", "'https://a.example'", "ISSUER-B", "'https://b.example'",
	"ONE", "jwt: [{issuer: 'https://a.example', audience: x}]",
	"TWO", "jwt: [{issuer: 'https://a.example', audience: x}, {issuer: 'https://b.example', audience: x}]",
	"UNVERIFIED", "credentials are not verified without authentication",
	"NO-KEYS", "API keys are not verified without authentication.api_key",
)

// checkTrace compares a trace with what documents draw. Each line is a document, or
// its rules alone, and below it stands what it draws. A … stands for any text.
func checkTrace(t *testing.T, trace string, draws func(*rules.Set) []string) {
	lines := strings.Split(strings.TrimSpace(trace), "\n")
	for i, line := range lines {
		if line == "" || line[0] == '#' || line[0] == ' ' {
			continue
		}
		document, below := short.Replace(line), lines[i+1:]
		if strings.HasPrefix(document, "{name: ") || strings.HasPrefix(document, "{mode: ") {
			document = "{rules: [" + document + "]}"
		}
		for _, got := range draws(load(t, "f", document)) {
			_, got, _ = strings.Cut(got, " ") // behind file, line and column
			if len(below) == 0 || !strings.HasPrefix(below[0], "  ") {
				t.Errorf("%s\ndraws %s", line, got)
				continue
			}
			want := short.Replace(below[0][2:])
			begin, end, elided := strings.Cut(want, "…")
			if below = below[1:]; got != want && !(elided && strings.HasPrefix(got, begin) && strings.HasSuffix(got, end)) {
				t.Errorf("%s\ndraws %s\nwant  %s", line, got, want)
			}
		}
		if len(below) > 0 && strings.HasPrefix(below[0], "  ") {
			t.Errorf("%s\ndoes not draw %s", line, below[0])
		}
	}
}

// TestWarnings: what documents draw.
func TestWarnings(t *testing.T) {
	checkTrace(t, warnings, func(s *rules.Set) []string { return s.Warnings })
}

// TestCaveats: what becomes of rules for live callers, with one line for each rule.
// WithoutCredentials names no rule without one.
func TestCaveats(t *testing.T) {
	checkTrace(t, caveats, func(s *rules.Set) []string {
		if idle, lumped := lint.WithoutCredentials(s); len(s.Caveats) == 0 && len(idle)+len(lumped) > 0 {
			t.Errorf("idle %q, lumped %q", idle, lumped)
		}
		return s.Caveats
	})
}

// Warnings have positions.
func TestWarningPositions(t *testing.T) {
	s := load(t, "rules.yaml", "rules:\n- name: b\n  key: all\n  atomic: true\n  limits:\n  - {algorithm: leaky_bucket, capacity: 1, window: 1s}\n"+
		"- {name: w, key: all, limits: [{capacity: 1, window: 1s}]}\n")
	if len(s.Warnings) != 2 || !strings.HasPrefix(s.Warnings[0], "rules.yaml:4:11: rules[0].atomic: ") ||
		!strings.HasPrefix(s.Warnings[1], "rules.yaml:6:3: rules[0].limits: a leaky_bucket") {
		t.Errorf("got %q", s.Warnings)
	}
}

// The number of comparisons is bounded, so any document loads in seconds. One
// warning says that others are left out.
func TestOverlapIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "- {name: r%d, key: '{ip}', limits: [{algorithm: token_bucket, capacity: 1, window: 1s}], when: {route: [", i)
		for j := range 2000 {
			fmt.Fprintf(&b, "/%d/%d,", i, j)
		}
		b.WriteString("]}}\n")
	}
	s := load(t, "rules.yaml", b.String()) // there is no overlap to find
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "rules[0].key: there are more routes and paths than are compared") {
		t.Errorf("got %q", s.Warnings)
	}
}

const warnings = `
# An answer that no client sees.
{rules: [], denied: {title: Spent, type: /spent, content_type: text/plain, body: '{problemTitle}'}}
  denied.type: the body does not show it: write {problemType} in the body, or remove it
{rules: [{name: r, key: all, limit: 1/s, denied: {title: Spent, detail: x}}], denied: {content_type: text/plain, body: 'No. {problemDetail}'}}
  rules[0].denied.title: the body does not show it: write {problemTitle} in the body, or remove it
{rules: [{name: r, key: all, limit: 1/s, denied: {content_type: text/plain, body: no}}], denied: {title: Spent}}
{name: r, key: all, limit: 1/s, mode: shadow, denied: {title: Spent}}
  rules[0].denied: in shadow the rule denies nothing, so no client gets this answer: enforce the rule, or remove the answer
{name: r, key: all, limit: 1/s, mode: off, denied: {title: Spent}}

# A rule that clients evade needs another rule for the same requests, by what they cannot make up.
USER
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
{name: hosts, key: 'ip:{ip/128}', LIMITS}
  rules[0].key: the client can make up a new value of {ip/128} for every request and is then neve…
{name: hosts, key: 'ip:{ip/128}', LIMITS}, {name: ip, key: 'ip:{ip}', LIMITS}
{name: sites, key: 'ip:{ip/48}', LIMITS}
USER, {name: ip, key: 'ip:{ip}', LIMITS}
{name: ip, key: '{ip}|{route}|{stage}', LIMITS}, USER
USER, {name: all, key: all, LIMITS}
USER, {name: ip, when: {path: /c, methods: [get], route: [/a, /b]}, key: 'ip:{ip}', LIMITS}
USER, {name: ip, when: {methods: GET, route: [/a], path: /c}, key: 'ip:{ip}', LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
USER, {name: other, key: 'o:{header.y}', LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
  rules[1].key: the client can make up a new value of {header.y} for every request and is then ne…
USER, {name: ip, key: 'ip:{ip}', cost: 0, LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
  rules[1].cost: requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its…
USER, {name: ip, mode: shadow, key: 'ip:{ip}', LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
USER, {name: ip, unless: {path: /x}, key: 'ip:{ip}', LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
{name: ip, key: 'ip:{ip}', cost: {from: header.x, min: 1, max: 9, settle: true}, limits: [5/s, 9/m]}
  rules[0].cost: a request that does not state its cost takes max, 9, above the capacity 5, and i…
{name: b, key: 'ip:{ip}', limit: {algorithm: token_bucket, capacity: 5, window: 1s}}, {name: ip, key: 'ip:{ip}', limit: 5/s}
  rules[0].limit: a token_bucket does not refund a request that rule ip denies afterwards: put th…
USER, {name: sub, key: 'sub:{jwt.sub}', LIMITS}
USER, {name: key, key: '{apikey}', LIMITS}
USER, {name: ip, key: 'ip:{ip}', cost: {from: jwt.n, min: 0, max: 1, settle: true}, LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
USER, {name: ip, key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1, settle: true}, LIMITS}
{name: user, mode: off, when: {methods: GET, route: [/a, /b], path: /c}, key: 'u:{header.x-user}', LIMITS}
{mode: shadow, name: user, when: {methods: GET, route: [/a, /b], path: /c}, key: 'u:{header.x-user}', LIMITS}
  rules[0].key: the client can make up a new value of {header.x-user} for every request and is th…
{name: ip, key: '{ip}|{route}|{stage}', LIMITS}
{name: r, key: '{ip}|{query.a}|{path.b}|{method}', LIMITS}
  rules[0].key: the client can make up a new value of {query.a}, {path.b} and {method} for every…

# That rule may leave out requests that the first one leaves out too.
SOME, {name: b, key: 'ip:{ip}', unless: {caller: known, path: /x}, LIMITS}
SOME, {name: b, key: 'ip:{ip}', unless: {path: /x, caller: known, cidrs: [10.0.0.0/8]}, LIMITS}
  rules[0].key: the client can make up a new value of {header.x} for every request and is then ne…
SOME, {name: b, key: 'ip:{ip}', unless: {path: /x, caller: rejected}, LIMITS}
  rules[0].key: the client can make up a new value of {header.x} for every request and is then ne…
SOME, {name: b, key: 'ip:{ip}', when: {caller: [known, anonymous, rejected]}, LIMITS}
SOME, {name: b, key: 'ip:{ip}', when: {path: /**}, unless: {path: /x, caller: known}, LIMITS}
  rules[0].key: the client can make up a new value of {header.x} for every request and is then ne…

# A bucket or a log cannot refund a request that another rule denies afterwards.
{name: b, BUCKET}, {name: w, key: all, LIMITS}
  rules[0].limits: a token_bucket does not refund a request that rule w denies afterwards: put th…
{name: w, key: all, LIMITS}, {name: b, BUCKET}
{name: l, key: all, limits: [{name: a, capacity: 1, window: 1s}, {name: b, algorithm: sliding_window_log, capacity: 1, window: 1s}]}, {name: w, key: all, LIMITS}
  rules[0].limits: a sliding_window_log does not refund a request that rule w denies afterwards:…
{name: b, BUCKET}, {name: w, cost: 0, key: all, LIMITS}
  rules[1].cost: requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its…
{name: b, when: {route: /v1/*}, BUCKET}, {name: v, when: {route: /v2/*}, key: all, LIMITS}, {name: w, when: {route: /v1/x}, key: all, LIMITS}
  rules[0].limits: a token_bucket does not refund a request that rule w denies afterwards: put th…
{name: b, atomic: true, BUCKET}, {name: w, atomic: true, key: all, LIMITS}
{name: b, atomic: true, BUCKET}, {name: w, key: all, LIMITS}
  rules[0].atomic: has no effect: no other rule for the same requests is atomic
  rules[0].limits: a token_bucket does not refund a request that rule w denies afterwards: put th…
{name: a, atomic: true, key: all, LIMITS}, {name: w, key: all, LIMITS}, {name: b, atomic: true, BUCKET}
  rules[2].limits: a token_bucket does not refund a request that rule w denies afterwards: put th…
{name: a, atomic: true, when: {path: /a}, key: all, LIMITS}, {name: w, key: all, LIMITS}, {name: b, atomic: true, when: {path: /b}, BUCKET}
  rules[0].atomic: has no effect: no other rule for the same requests is atomic
  rules[2].atomic: has no effect: no other rule for the same requests is atomic

# Rules in shadow or off neither deny nor lose units to other rules.
{name: b, atomic: true, BUCKET}, {name: w, atomic: true, mode: off, key: all, LIMITS}
  rules[0].atomic: has no effect: no other rule for the same requests is atomic
{name: b, BUCKET}, {name: w, key: all, LIMITS}
  rules[0].limits: a token_bucket does not refund a request that rule w denies afterwards: put th…
{name: b, BUCKET}, {name: w, mode: off, key: all, LIMITS}
{name: b, BUCKET}, {name: w, mode: shadow, key: all, LIMITS}
{name: b, mode: shadow, BUCKET}, {name: w, key: all, LIMITS}

# The local gateway cannot drain a long queue in time.
{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 0}]}
  rules[0].limits[0].cost: requests cost 0, so the rule limits nothing: write cost: 1 or more in…
{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 3}]}
  rules[0].limits[0].queue: the queue takes 5h to drain, and the local gateway ho…: write queue: 3
{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 10}]}
{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}]}
  rules[0].limits[0].queue: the queue takes 11s to drain, and the local gateway…: write queue: 10
{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 100, window: 60s}]}
  rules[0].limits[0]: the queue takes 1m to drain, and the local gateway holds a…: write queue: 16
{name: r, key: all, limits: [{name: b, capacity: 1, window: 1s}, {name: a, algorithm: leaky_bucket, capacity: 100, window: 60s}]}
  rules[0].limits[1]: the queue takes 1m to drain, and the local gateway holds a…: write queue: 16

# Costs that clients state, and those above the limit.
{name: r, key: 'ip:{ip}', cost: 11, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 10, over: clamp}]}
{name: r, key: 'ip:{ip}', cost: {from: header.x, min: 2, max: 9, settle: true}, limits: [{capacity: 10, window: 1s}]}
{name: r, key: 'ip:{ip}', cost: {from: header.x, min: 2, max: 9}, limits: [{capacity: 10, window: 1s}]}
  rules[0].cost: the client sets header.x, so the least a client can pay is min, 2: write settle:…
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 11}, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}]}
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 4}, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}]}
  rules[0].limits[0].queue: the queue takes 11s to drain, and the local gateway…: write queue: 10
{name: r, key: 'ip:{ip}', cost: {from: graphql.fields, min: 1, max: 99}, limits: [{capacity: 10, window: 1s}]}
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 50}, limits: [{algorithm: token_bucket, capacity: 99, burst: 9, window: 1s}]}
  rules[0].cost: a request that does not state its cost takes max, 50, above the burst 9, and is…
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 50}, limits: [{capacity: 10, window: 1s, over: clamp}]}
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 50}, limits: [{capacity: 10, window: 1s}]}
  rules[0].cost: a request that does not state its cost takes max, 50, above the capacity 10, and…
{name: r, key: 'ip:{ip}', cost: {from: query.n, min: 2, max: 9}, limits: [{name: c, capacity: 10, window: 1s}, {name: b, capacity: 10, window: 1s, cost: 1}, {name: a, capacity: 10, window: 1s}]}
  rules[0].cost: the client sets query.n, so the least a client can pay is min, 2: write settle:…
{name: r, key: 'ip:{ip}', limits: [{capacity: 10, window: 1s, cost: {from: path.n, min: 1, max: 9}}]}
  rules[0].limits[0].cost: the client sets path.n, so the least a client can pay is min, 1: write…

# Rules that name the same counter count in the same way.
{name: a, key: all, counter: x, LIMITS}, {name: b, key: all, counter: x, limits: [{capacity: 1, window: 2s}]}
  rules[1].counter: rule a has this counte…: write the same limits in both, whatever their capacities
{name: a, key: all, counter: x, LIMITS}, {name: b, key: all, counter: x, limits: [{capacity: 9, window: 1s}]}
{name: a, key: all, counter: x, LIMITS}, {name: b, key: all, counter: x, mode: off, limits: [{capacity: 1, window: 2s}]}

# A process charges at most half of what is left ahead. Plans and overrides may raise that.
{name: r, key: all, lease: 500, limit: 1000/minute}
{name: r, key: all, lease: 501, limit: 1000/minute}
  rules[0].lease: a process charges at most half of the limits ahead: write lease: 500
{name: r, key: all, lease: 501, overrides: true, limit: 1000/minute}
{plan: {from: jwt.plan}, plans: {pro: {r: 9000}}, authentication: {ONE}, rules: [{name: r, key: all, lease: 501, limit: 1000/minute}]}
{overrides: {r: {all: {capacity: 9000}}}, rules: [{name: r, key: all, lease: 501, limit: 1000/minute}]}
{name: r, key: all, lease: 101, cost: 5, limit: 1000/minute}
  rules[0].lease: a process charges at most half of the limits ahead: write lease: 100
{name: r, key: all, lease: 9, limits: [{name: a, capacity: 100, window: 1s}, {name: b, capacity: 12, window: 60s}]}
  rules[0].lease: a process charges at most half of the limits ahead: write lease: 6
{name: r, key: all, lease: 9, limits: [{name: a, capacity: 100, window: 1s}, {name: b, capacity: 12, window: 60s, cost: 0}]}
{name: r, key: all, lease: 2, limit: 4/minute}
{name: r, key: all, lease: 2, limit: 3/minute}
  rules[0].lease: the limits leave no room to charge ahead: remove lease, which is for keys above…

# Secrets in keys.
{name: by-secret, key: 'token:{header.authorization}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {header.authorization}, a secret, into tables and logs: write…
{name: by-secret, key: 'key:{header.x-api-key}|{ip}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {header.x-api-key}, a secret, into tables and logs: write has…
{name: by-secret, key: '{query.key}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {query.key}, a secret, into tables and logs: write hash: true…
{name: by-secret, key: '{query.user[password]}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {query.user[password]}, a secret, into tables and logs: write…
{name: by-secret, key: '{path.token}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {path.token}, a secret, into tables and logs: write hash: tru…
{name: by-secret, key: '{ip}', overrides: 'key:{header.x-api-key}', limit: 1/s}, IP
  rules[0].overrides: rule by-secret puts {header.x-api-key}, a secret, into tables and logs: wri…
{name: by-secret, mode: shadow, key: '{query.sid}', limit: 1/s}, IP
  rules[0].key: rule by-secret puts {query.sid}, a secret, into tables and logs: write hash: true…
{hash_secret: {env: KEY_SECRET, check: 1a2b3c4d}, rules: [{name: by-secret, hash: true, key: 'token:{header.authorization}', limit: 1/s}, IP]}
{hash_secret: {env: KEY_SECRET, check: 1a2b3c4d}, rules: [{name: by-secret, hash: true, key: '{ip}', overrides: '{header.cookie}', limit: 1/s}, IP]}
{name: by-secret, mode: off, key: 'token:{header.authorization}', limit: 1/s}, IP
{name: by-secret, key: 'key:{apikey}', limit: 1/s}, IP
{name: by-secret, key: 'user:{jwt.token}', limit: 1/s}, IP
{name: by-secret, key: '{ip}', cost: {from: header.x-token, min: 1, max: 1}, limit: 1/s}, IP
  rules[0].cost: the client sets header.x-token, so the least a client can pay is min, 1: write s…
{name: by-secret, key: '{header.x-max-tokens}', limit: 1/s}, IP
{name: by-secret, key: '{query.compass}|{query.secretary}|{header.x-cache-key}|{header.x-tenant-key}', limit: 1/s}, IP

# A claim alone does not distinguish callers of several issuers.
{authentication: {ONE, api_key: {}}, plan: {from: jwt.plan, overrides: 'user:{jwt.sub}'}, plans: {pro: {u: 9}}, rules: [{name: u, key: 'user:{jwt.sub}', LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'user:{jwt.sub}', LIMITS}]}
  rules[0].key: {jwt.sub} may be the same for callers of severa…: write "user:{jwt.iss}|{jwt.sub}"
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: '{jwt.iss}|{jwt.sub}', LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: '{jwt.sub}|{jwt./iss}', LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'user:{jwt.sub}', when: {match: {jwt.iss: ISSUER-A}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'user:{jwt.sub}', when: {match: {jwt.iss: [ISSUER-A, ISSUER-B]}}, LIMITS}]}
  rules[0].key: {jwt.sub} may be the same for callers of severa…: write "user:{jwt.iss}|{jwt.sub}"
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'user:{jwt.sub}', when: {caller: rejected}, unless: {match: {jwt.role: op}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: ISSUER-A}}, LIMITS}, {name: v, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt./iss: ISSUER-B}}, LIMITS}]}
  rules[0].key: {jwt.sub} may be the same for callers of severa…: write "user:{jwt.iss}|{jwt.sub}"
  rules[1].key: {jwt.sub} may be the same for callers of severa…: write "user:{jwt.iss}|{jwt.sub}"
{authentication: {TWO, api_key: {}}, rules: [{name: u, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: ISSUER-A}}, LIMITS}, {name: v, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: ISSUER-A}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, counter: c, key: 'a:{jwt.sub}', when: {match: {jwt.iss: ISSUER-A}}, LIMITS}, {name: v, counter: c, key: 'b:{jwt.sub}', when: {match: {jwt.iss: ISSUER-B}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, skip: [{path: /a}, {match: {jwt.role: op}}], rules: [{name: u, key: 'ip:{ip}', LIMITS}]}
  skip[1].match: each issuer in authentication.jwt can state jwt.role: add jwt.iss to match, with…
{authentication: {TWO, api_key: {}}, skip: [{match: {jwt.role: op, jwt.iss: ISSUER-A}}], rules: [{name: u, key: 'ip:{ip}', LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', unless: {match: {jwt.role: op}}, LIMITS}]}
  rules[0].unless.match: each issuer in authentication.jwt can state jwt.role: add jwt.iss to mat…
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', unless: {match: {jwt.role: op, jwt.iss: ISSUER-A}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', when: {match: {jwt.iss: ISSUER-A}}, unless: {match: {jwt.role: op}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', cost: {from: jwt.weight, max: 1}, LIMITS}]}
  rules[0].cost.from: each issuer in authentication.jwt can state jwt.weight: add jwt.iss to when…
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', limits: [{capacity: 1, window: 1s, cost: {from: jwt.weight, max: 1}}]}]}
  rules[0].limits[0].cost.from: each issuer in authentication.jwt can state jwt.weight: add jwt.i…
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: 'ip:{ip}', cost: {from: jwt.weight, max: 1}, when: {match: {jwt.iss: ISSUER-A}}, LIMITS}]}
{authentication: {ONE, api_key: {}}, rules: [{name: u, key: 'user:{jwt.sub}', cost: {from: jwt.weight, max: 1}, unless: {match: {jwt.role: op}}, LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, mode: off, key: 'user:{jwt.sub}', LIMITS}]}
{authentication: {TWO, api_key: {}}, rules: [{name: u, key: '{jwt.iss}|{jwt.sub}', overrides: 'org:{jwt.org}', LIMITS}]}
  rules[0].overrides: {jwt.org} may be the same for callers of s…: write "org:{jwt.iss}|{jwt.org}"
{authentication: {TWO, api_key: {}}, plan: {from: jwt.plan, overrides: 'user:{jwt.sub}'}, plans: {pro: {u: 9}}, rules: [{name: u, key: 'ip:{ip}', LIMITS}]}
  plan.from: each issuer in authentication.jwt can state any plan: list one issuer, or write over…
  plan.overrides: {jwt.sub} may be the same for callers of seve…: write "user:{jwt.iss}|{jwt.sub}"
{authentication: {TWO, api_key: {}}, plan: {from: jwt.iss, overrides: '{jwt.iss}|{jwt.sub}'}, plans: {pro: {u: 9}}, rules: [{name: u, key: 'ip:{ip}', LIMITS}]}
{authentication: {TWO, api_key: {}}, plan: {from: apikey, overrides: 'key:{apikey}'}, plans: {pro: {u: 9}}, rules: [{name: u, key: 'ip:{ip}', LIMITS}]}

# Keys, methods and patterns that match nothing, or everything at once.
{name: r, key: $ip, LIMITS}
  rules[0].key: $ip without braces is text, so all requests share one counter: write "{ip}"
{name: r, key: 'ip:${ip}', LIMITS}
  rules[0].key: $ is text of the key, and no part of a source: write ip:{ip}
{name: r, key: '{ip}', cost: 0, LIMITS}
  rules[0].cost: requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its…
{name: r, key: '{ip}', cost: 0, overrides: true, LIMITS}
{name: r, key: '{ip}', unless: {cidrs: 0.0.0.0/0}, LIMITS}
{name: r, key: '{ip}', unless: {cidrs: [0.0.0.0/0, '::/0']}, LIMITS}
  rules[0].unless: it leaves out every request that the rule covers, so the rule limits nothing:…
{name: r, key: '{ip}', unless: {methods: FETCHING}, LIMITS}
  rules[0].unless.methods: HTTP has no meth…: write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS
{name: r, key: '{ip}', unless: {path: '/**'}, LIMITS}
  rules[0].unless: it leaves out every request that the rule covers, so the rule limits nothing:…
{name: r, key: '{ip}', when: {match: {graphql.fields: a}}, unless: {match: {graphql.fields: [a, b]}}, LIMITS}
{name: r, key: '{ip}', when: {match: {stage: [a, b]}}, unless: {match: {stage: a}}, LIMITS}
{name: r, key: '{ip}', when: {match: {stage: a}}, unless: {match: {stage: [a, b]}}, LIMITS}
  rules[0].unless: it leaves out every request that the rule covers, so the rule limits nothing:…
{name: r, key: '{ip}', when: {methods: GET, path: /a}, unless: {methods: [GET, HEAD]}, LIMITS}
  rules[0].unless: it leaves out every request that the rule covers, so the rule limits nothing:…
{name: r, key: '{ip}', when: {methods: [GET, PSOT]}, LIMITS}
  rules[0].when.methods[1]: HTTP has no method PSOT: did you mean POST?
{name: r, key: '{ip}', when: {path: '/#/login'}, LIMITS}
  rules[0].when.path: pattern "/#/login": a path ends be…: write /, or * for any text in a segment
{name: r, key: '{ip}', when: {path: '/(a|b)'}, LIMITS}
  rules[0].when.path: pattern "/(a|b)": a pattern is no regular express…: write one such as /v1/**
{name: r, key: '{ip}', when: {path: '/a$'}, LIMITS}
  rules[0].when.path: pattern "/a$": a pattern is no regular expression, and all but *…: write /a
{name: r, key: '{ip}', when: {path: '/a/*/x.json'}, LIMITS}
{name: r, key: '{ip}', when: {path: '/a?b=1'}, LIMITS}
  rules[0].when.path: pattern "/a?b=1": a path ends bef…: write /a, or * for any text in a segment
{name: r, key: '{ip}', when: {path: '/static/*.*'}, LIMITS}
{name: r, key: '{ip}', when: {path: '/users/:id/x'}, LIMITS}
  rules[0].when.path: pattern "/users/:id/x": a pattern is no regular expressio…: write /users/*/x
{name: r, key: '{ip}', when: {path: '/users/[a-z]'}, LIMITS}
  rules[0].when.path: pattern "/users/[a-z]": a pattern is no regular e…: write one such as /v1/**
{name: r, key: '{ip}', when: {path: '/v1/items:search'}, LIMITS}
{name: r, key: '{ip}', when: {path: /a}, unless: {methods: GET}, LIMITS}
{name: r, key: '{ip}', when: {route: '/users/[id]'}, LIMITS}
  rules[0].when.route: pattern "/users/[id]": a pattern is no regular expression,…: write /users/*
{name: r, key: '{ip}', when: {route: '/users/{id}'}, LIMITS}
{name: r, key: all, LIMITS}
{name: r, key: everyone, LIMITS}
  rules[0].key: no source is in it, so all requests share one counter: write one such as "ip:{ip}…
{name: r, key: ip, LIMITS}
  rules[0].key: ip without braces is text, so all requests share one counter: write "{ip}"
{rules: [], deny: [{methods: GTE}], skip: [{path: '/health?full'}]}
  deny[0].methods: HTTP has no method GTE: did you mean GET?
  skip[0].path: pattern "/health?full": a path end…: write /health, or * for any text in a segment

# A skip that covers a rule leaves nothing to limit.
{skip: [{path: /health}, {caller: [anonymous, known, rejected]}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
  rules[0]: skip[1] lifts all limits of every request that this rule covers: narrow it, or remove…
{skip: [{path: /health}, {caller: known}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
{skip: [{path: /health}, {methods: GET}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
{skip: [{path: /health}, {methods: [GET, POST, PUT]}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
  rules[0]: skip[1] lifts all limits of every request that this rule covers: narrow it, or remove…
{skip: [{path: /health}, {path: /a, cidrs: 10.0.0.0/8}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
{skip: [{path: /health}, {path: /a}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
  rules[0]: skip[1] lifts all limits of every request that this rule covers: narrow it, or remove…
{skip: [{path: /health}, {route: '/**'}], rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]}
  rules[0]: skip[1] lifts all limits of every request that this rule covers: narrow it, or remove…
`

const caveats = `
# No credentials are verified.
{name: r, key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1, settle: true}, limit: 1/s}
{name: r, key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1}, limits: [{capacity: 1, window: 1mo, anchor: {from: jwt.day, default: 3}}]}
  rules[0].limits[0].anchor: UNVERIFIED: months of all live callers start on day 3
{name: r, key: 'ip:{ip}', cost: {from: jwt.n, max: 1}, limit: 1/s}
  rules[0].cost: UNVERIFIED: every live request costs max, 1
{name: r, key: 'ip:{ip}', limits: [{capacity: 1, window: 1mo, anchor: {from: stage}}]}
{name: r, key: 'ip:{ip}', overrides: 'user:{jwt.sub}', limit: 1/s}
  rules[0].overrides: UNVERIFIED: no override applies to a live request
{name: r, key: 'ip:{ip}', unless: {caller: known}, limit: 1/s}
  rules[0].unless: UNVERIFIED: the rule leaves out no live request
{name: r, key: 'ip:{ip}', when: {caller: [anonymous, known]}, limit: 1/s}
{name: r, key: 'ip:{ip}', when: {caller: anonymous}, limit: 1/s}
  rules[0].when: UNVERIFIED: the rule covers live requests with a token or a key too
{name: r, key: 'ip:{ip}', when: {caller: rejected}, limit: 1/s}
  rules[0].when: UNVERIFIED: the rule covers no live request
{name: r, key: 'user:{jwt.sub}', limit: 1/s}
  rules[0].key: UNVERIFIED: all live callers share one counter, because none has {jwt.sub}
{name: r, key: 'user:{jwt.sub}', mode: off, limit: 1/s}
{name: r, key: 'user:{jwt.sub}', when: {caller: known}, limit: 1/s}
  rules[0].when: UNVERIFIED: the rule covers no live request
{name: r, key: '{ip}|{apikey}', limit: 1/s}
  rules[0].key: UNVERIFIED: live requests are counted without {apikey}
{rules: [], denied: {status: 503}}
  denied: a REST API answers denied requests as it was deployed, with status 429 and the type and title of problem details: …
# Of problem details, the authorizer's context has the type and the title.
{rules: [], denied: {type: /month, title: Spent}}
{rules: [], denied: {status: 429}}
{name: r, key: all, limit: 1/s, denied: {type: /month, title: Spent, status: 429}}
{name: r, key: all, limit: 1/s, denied: {type: /month, detail: No more.}}
  rules[0].denied: a REST API answers…
{rules: [{name: r, key: all, limit: 1/s, denied: {title: Spent}}], denied: {status: 503}}
  denied: a REST API answers…
{name: r, key: all, limit: 1/s, mode: off, denied: {status: 503}}
{rules: [], deny: [{caller: rejected}], skip: [{match: {jwt.admin: true}}], plan: {overrides: '{apikey}'}}
  deny[0]: UNVERIFIED: this denies no live request
  skip[0]: UNVERIFIED: this skips no live request
  plan: UNVERIFIED: no live caller has a plan
{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: {from: jwt.plan, overrides: 'ip:{ip}'}}
  plan.from: UNVERIFIED: a live caller has a plan by an override alone
{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: {from: jwt.plan}}
  plan: UNVERIFIED: no live caller has a plan
{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: {from: stage, overrides: '{apikey}'}}
  plan.overrides: UNVERIFIED: no override of a plan applies to a live request
{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: {from: stage}}
{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: {overrides: '{apikey}'}}
  plan: UNVERIFIED: no live caller has a plan

# Tokens are verified.
{authentication: {ONE}, deny: [{match: {jwt.sub: x}}], rules: []}
{authentication: {ONE}, plan: {from: jwt.plan}, plans: {pro: {r: 5}}, rules: [{name: r, key: 'user:{jwt.sub}', limit: 1/s}]}
{authentication: {ONE}, rules: [{name: r, key: 'ip:{ip}', when: {caller: known}, limit: 1/s}]}
{authentication: {ONE}, rules: [{name: r, key: 'ip:{ip}', when: {match: {apikey: k}}, limit: 1/s}]}
  rules[0].when: NO-KEYS: the rule covers no live request
{authentication: {ONE}, rules: [{name: r, key: 'user:{jwt.sub}', overrides: 'org:{jwt.org}', cost: {from: jwt.n, max: 1}, limit: 1/s}]}
{authentication: {ONE}, rules: [{name: r, key: '{jwt.sub}|{apikey}', limit: 1/s}]}
  rules[0].key: NO-KEYS: live requests are counted without {apikey}
`
