package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules"
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

// nothing is the warning about a rule at a path whose requests cost 0.
func nothing(path string) string {
	return path + ".cost: requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its limits, or remove it"
}

func TestWarnings(t *testing.T) {
	const limits = "limits: [{capacity: 1, window: 1s}]}"
	const user = "{name: user, when: {methods: GET, route: [/a, /b], path: /c}, key: 'u:{header.x-user}', " + limits
	warning := func(place, source string) string {
		return place + ".key: the client can make up a new value of " + source +
			" for every request and is then never limited: add a rule with a key such as \"ip:{ip}\" for the same requests"
	}
	first := []string{warning("f:2:68: rules[0]", "{header.x-user}")}
	for _, tt := range []struct {
		name, rules string
		want        []string
	}{
		{"header", user, first},
		{"addresses of a network", "{name: hosts, key: 'ip:{ip/128}', " + limits, []string{warning("f:2:20: rules[0]", "{ip/128}")}},
		{"addresses of a network, and that", "{name: hosts, key: 'ip:{ip/128}', " + limits + ", {name: ip, key: 'ip:{ip}', " + limits, nil},
		{"a network of networks", "{name: sites, key: 'ip:{ip/48}', " + limits, nil},
		{"rule for everything", user + ", {name: ip, key: 'ip:{ip}', " + limits, nil},
		{"in another order", "{name: ip, key: '{ip}|{route}|{stage}', " + limits + ", " + user, nil},
		{"one budget for all", user + ", {name: all, key: all, " + limits, nil},
		{"rule for the same", user + ", {name: ip, when: {path: /c, methods: [get], route: [/a, /b]}, key: 'ip:{ip}', " + limits, nil},
		{"rule for fewer", user + ", {name: ip, when: {methods: GET, route: [/a], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule for others", user + ", {name: ip, when: {methods: POST, route: [/a, /b], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule by another header", user + ", {name: other, key: 'o:{header.y}', " + limits, []string{first[0], warning("f:2:146: rules[1]", "{header.y}")}},
		{"rule that counts nothing", user + ", {name: ip, key: 'ip:{ip}', cost: 0, " + limits, []string{first[0], "f:2:160: " + nothing("rules[1]")}},
		{"rule in shadow", user + ", {name: ip, mode: shadow, key: 'ip:{ip}', " + limits, first},
		{"rule that is off", user + ", {name: ip, mode: off, key: 'ip:{ip}', " + limits, first},
		{"rule for known callers", user + ", {name: ip, when: {caller: known}, key: 'ip:{ip}', " + limits, first},
		{"rule that leaves some out", user + ", {name: ip, unless: {path: /x}, key: 'ip:{ip}', " + limits, first},
		{"rates", "{name: ip, key: 'ip:{ip}', cost: {from: header.x, min: 1, max: 9, settle: true}, limits: [5/s, 9/m]}", []string{
			"f:2:34: rules[0].cost: a request that does not state its cost takes max, 9, above the capacity 5, and is never allowed: lower max, or write over: clamp in the limit"}},
		{"a bucket as the only limit", "{name: b, key: 'ip:{ip}', limit: {algorithm: token_bucket, capacity: 5, window: 1s}}, {name: ip, key: 'ip:{ip}', limit: 5/s}",
			[]string{"f:2:34: rules[0].limit: a token_bucket does not refund a request that rule ip denies afterwards: put this rule below it, or write atomic: true in both"}},
		{"rule by a claim", user + ", {name: sub, key: 'sub:{jwt.sub}', " + limits, nil},
		{"rule by a key's id", user + ", {name: key, key: '{apikey}', " + limits, nil},
		{"rule by what the backend verifies", user + ", {name: p, trusted: path.p, key: 'p:{path.p}', " + limits, []string{first[0], warning("f:2:159: rules[1]", "{path.p}")}},
		{"rule whose cost an issuer may state as 0", user + ", {name: ip, key: 'ip:{ip}', cost: {from: jwt.n, min: 0, max: 1, settle: true}, " + limits, first},
		{"rule whose cost the client may understate", user + ", {name: ip, key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1, settle: true}, " + limits, nil},
		{"off itself", strings.Replace(user, "name: user,", "name: user, mode: off,", 1), nil},
		{"in shadow itself", strings.Replace(user, "name: user,", "mode: shadow, name: user,", 1), []string{warning("f:2:82: rules[0]", "{header.x-user}")}},
		{"trusted alone", "{name: ip, key: '{ip}|{route}|{stage}', " + limits, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, "f", "rules: [\n"+tt.rules+"]")
			if diff := cmp.Diff(tt.want, s.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A key of address and header has as many values as a client makes up.
func TestWarningsNameWhatTheClientSends(t *testing.T) {
	s := load(t, "rules.yaml", "rules: [{name: r, key: '{ip}|{query.a}|{path.b}|{method}', limits: [{capacity: 1, window: 1s}]}]")
	want := []string{"rules.yaml:1:24: rules[0].key: the client can make up a new value of {query.a}, {path.b} and {method} for every request and is then never limited: add a rule with a key such as \"ip:{ip}\" for the same requests"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A bucket or a log cannot refund a request that another rule denies afterwards.
func TestWarningsOfMissingRefunds(t *testing.T) {
	const (
		window  = "key: all, limits: [{capacity: 1, window: 1s}]}"
		bucket  = "key: all, limits: [{algorithm: token_bucket, capacity: 1, window: 1s}]}"
		journal = "key: all, limits: [{name: a, capacity: 1, window: 1s}, {name: b, algorithm: sliding_window_log, capacity: 1, window: 1s}]}"
	)
	lost := func(rule, algorithm, denier string) string {
		return rule + ".limits: a " + algorithm + " does not refund a request that rule " + denier +
			" denies afterwards: put this rule below it, or write atomic: true in both"
	}
	alone := func(rule string) string {
		return rule + ".atomic: has no effect: no other rule for the same requests is atomic"
	}
	for _, tt := range []struct {
		name, rules string
		want        []string
	}{
		{"bucket first", "{name: b, " + bucket + ", {name: w, " + window, []string{lost("rules[0]", "token_bucket", "w")}},
		{"bucket last", "{name: w, " + window + ", {name: b, " + bucket, nil},
		{"log first", "{name: l, " + journal + ", {name: w, " + window, []string{lost("rules[0]", "sliding_window_log", "w")}},
		{"two buckets", "{name: b, " + bucket + ", {name: c, " + bucket, []string{lost("rules[0]", "token_bucket", "c")}},
		{"a bucket that takes nothing", "{name: b, cost: 0, " + bucket + ", {name: w, " + window, []string{nothing("rules[0]")}},
		{"a rule that denies nothing", "{name: b, " + bucket + ", {name: w, cost: 0, " + window, []string{nothing("rules[1]")}},
		{"for other requests", "{name: b, when: {methods: GET}, " + bucket + ", {name: w, when: {methods: POST}, " + window, nil},
		{"the first that matters", "{name: b, when: {route: /v1/*}, " + bucket + ", {name: v, when: {route: /v2/*}, " + window + ", {name: w, when: {route: /v1/x}, " + window,
			[]string{lost("rules[0]", "token_bucket", "w")}},
		{"both atomic", "{name: b, atomic: true, " + bucket + ", {name: w, atomic: true, " + window, nil},
		{"one atomic", "{name: b, atomic: true, " + bucket + ", {name: w, " + window, []string{alone("rules[0]"), lost("rules[0]", "token_bucket", "w")}},
		{"charged in an earlier turn", "{name: a, atomic: true, " + window + ", {name: w, " + window + ", {name: b, atomic: true, " + bucket,
			[]string{lost("rules[2]", "token_bucket", "w")}},
		{"an earlier turn for other requests", "{name: a, atomic: true, when: {path: /a}, " + window + ", {name: w, " + window +
			", {name: b, atomic: true, when: {path: /b}, " + bucket, []string{alone("rules[0]"), alone("rules[2]")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, "rules.yaml", "rules: ["+tt.rules+"]")
			var got []string
			for _, w := range s.Warnings {
				_, w, _ = strings.Cut(w, ": ")
				got = append(got, w)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A queue that the local gateway cannot drain in time draws a warning, which names
// the longest queue that it can.
func TestWarningsOfLongQueues(t *testing.T) {
	long := func(place, drain string, most int) string {
		return fmt.Sprintf("rules.yaml:%s: the queue takes %s to drain, and the local gateway holds a request for 10s at most: write queue: %d", place, drain, most)
	}
	for limits, want := range map[string]string{
		"{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 10}":                                      "",
		"{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}":                                      long("1:96: rules[0].limits[0].queue", "11s", 10),
		"{algorithm: leaky_bucket, capacity: 100, window: 60s}":                                              long("1:38: rules[0].limits[0]", "1m", 16),
		"{algorithm: leaky_bucket, capacity: 7, window: 60s}":                                                long("1:38: rules[0].limits[0]", "1m", 1),
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 1}":                                       "", // no request waits
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 5}":                              "",
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 0}":                              "rules.yaml:1:105: " + nothing("rules[0].limits[0]"),
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 3}":                              long("1:96: rules[0].limits[0].queue", "5h", 3),
		"{algorithm: token_bucket, capacity: 100, window: 60s}":                                              "",
		"{name: b, capacity: 1, window: 1s}, {name: a, algorithm: leaky_bucket, capacity: 100, window: 60s}": long("1:74: rules[0].limits[1]", "1m", 16),
	} {
		s := load(t, "rules.yaml", "rules: [{name: r, key: all, limits: ["+limits+"]}]")
		if got := strings.Join(s.Warnings, "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", limits, got, want)
		}
	}
}

// A backstop may exclude requests if the rule excludes the same ones.
func TestBackstopUnless(t *testing.T) {
	const limits = "limits: [{capacity: 1, window: 1s}]}"
	const client = "{name: a, unless: {path: /x, caller: known}, key: '{header.x}', " + limits
	for other, warned := range map[string]bool{
		"unless: {path: /x, caller: known}, ":                       false,
		"unless: {caller: known, path: /x}, ":                       false,
		"unless: {path: /x}, ":                                      true,
		"unless: {path: /x, caller: rejected}, ":                    true,
		"when: {path: /**}, unless: {path: /x, caller: known}, ":    true, // not the same words
		"when: {caller: [known, anonymous, rejected]}, ":            false,
		"unless: {path: /x, caller: known, match: {jwt.a: [b]}}, ":  true,
		"unless: {path: /x, caller: known, cidrs: [10.0.0.0/8]}, ":  true,
		"unless: {path: [/x, /y], caller: known, methods: [PUT]}, ": true,
	} {
		s := load(t, "rules.yaml", "rules: ["+client+", {name: b, key: 'ip:{ip}', "+other+limits+"]")
		if (len(s.Warnings) == 1) != warned {
			t.Errorf("%s: warnings %q", other, s.Warnings)
		}
	}
}

// Costs that the client states draw warnings, and so do those above the limit.
func TestWarningsOfStatedCosts(t *testing.T) {
	believed := func(place, source string, least int) string {
		return fmt.Sprintf("rules.yaml:1:%s: the client sets %s, so the least a client can pay is min, %d: write settle: true and have the backend report the true cost",
			place, source, least)
	}
	never := func(place, holder string) string {
		return fmt.Sprintf("rules.yaml:1:%s: a request that does not state its cost takes max, 50, above the %s, and is never allowed: lower max, or write over: clamp in the limit",
			place, holder)
	}
	for fields, want := range map[string]string{
		"cost: {from: header.x, min: 2, max: 9}, limits: [{capacity: 10, window: 1s}]":               believed("41: rules[0].cost", "header.x", 2),
		"cost: {from: header.x, min: 2, max: 9, settle: true}, limits: [{capacity: 10, window: 1s}]": "",
		"cost: {from: jwt.n, max: 9}, limits: [{capacity: 10, window: 1s}]":                          "",
		"limits: [{capacity: 10, window: 1s, cost: {from: path.n, min: 1, max: 9}}]":                 believed("77: rules[0].limits[0].cost", "path.n", 1),
		// one warning for a cost that several limits share
		"cost: {from: query.n, min: 2, max: 9}, limits: [{name: c, capacity: 10, window: 1s}, {name: b, capacity: 10, window: 1s, cost: 1}, {name: a, capacity: 10, window: 1s}]": believed("41: rules[0].cost", "query.n", 2),
		"cost: {from: jwt.n, max: 50}, limits: [{capacity: 10, window: 1s}]":                                                                                                      never("41: rules[0].cost", "capacity 10"),
		"cost: {from: jwt.n, max: 50}, limits: [{capacity: 10, window: 1s, over: clamp}]":                                                                                         "",
		"cost: {from: jwt.n, max: 50}, limits: [{capacity: 50, window: 1s}]":                                                                                                      "",
		"cost: {from: jwt.n, max: 50}, limits: [{algorithm: token_bucket, capacity: 99, burst: 9, window: 1s}]":                                                                   never("41: rules[0].cost", "burst 9"),
		"cost: {from: jwt.n, max: 50}, mode: off, limits: [{capacity: 10, window: 1s}]":                                                                                           "",
		"cost: {from: jwt.n, max: 4}, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}]":                                                                    "rules.yaml:1:131: rules[0].limits[0].queue: the queue takes 11s to drain, and the local gateway holds a request for 10s at most: write queue: 10",
		"cost: {from: jwt.n, max: 11}, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}]":                                                                   "",
		"cost: 11, limits: [{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 10, over: clamp}]":                                                                          "",
		"cost: {from: jwt.n, max: 11}, limits: [{algorithm: sliding_window_log, capacity: 1000, window: 1s}]":                                                                     "",
	} {
		s := load(t, "rules.yaml", "rules: [{name: r, key: 'ip:{ip}', "+fields+"}]")
		if got := strings.Join(s.Warnings, "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", fields, got, want)
		}
	}
}

// Rules that name the same counter must count in the same way.
func TestWarningsOfCounters(t *testing.T) {
	const head = "rules: [{name: a, key: all, counter: x, limits: [{capacity: 1, window: 1s}]}, {name: b, key: all, counter: x, "
	const want = "rules.yaml:1:108: rules[1].counter: rule a has this counter too, but its limits differ in name, algorithm, window or slots, " +
		"so the two share nothing: write the same limits in both, whatever their capacities"
	for fields, warned := range map[string]bool{
		"limits: [{capacity: 9, window: 1s}]}":            false,
		"limits: [{capacity: 1, window: 2s}]}":            true,
		"limits: [{name: x, capacity: 1, window: 1s}]}":   true,
		"mode: off, limits: [{capacity: 1, window: 2s}]}": false,
	} {
		s := load(t, "rules.yaml", head+fields+"]")
		if warned != (len(s.Warnings) == 1) || warned && s.Warnings[0] != want {
			t.Errorf("%s: %q", fields, s.Warnings)
		}
	}
}

// Rules in shadow or off neither deny nor lose units to other rules' denials.
func TestWarningsByMode(t *testing.T) {
	const bucket = "key: all, limits: [{algorithm: token_bucket, capacity: 1, window: 1s}]}"
	const window = "key: all, limits: [{capacity: 1, window: 1s}]}"
	for rules, want := range map[string]int{
		"{name: b, " + bucket + ", {name: w, " + window:                                                   1,
		"{name: b, mode: shadow, " + bucket + ", {name: w, " + window:                                     0,
		"{name: b, mode: off, " + bucket + ", {name: w, " + window:                                        0,
		"{name: b, " + bucket + ", {name: w, mode: shadow, " + window:                                     0,
		"{name: b, " + bucket + ", {name: w, mode: off, " + window:                                        0,
		"{name: b, atomic: true, " + bucket + ", {name: w, atomic: true, mode: off, " + window:            1, // without a partner
		"{name: b, when: {caller: known}, " + bucket + ", {name: w, when: {caller: anonymous}, " + window: 0,
	} {
		if s := load(t, "rules.yaml", "rules: ["+rules+"]"); len(s.Warnings) != want {
			t.Errorf("%s: warnings %q, want %d", rules, s.Warnings, want)
		}
	}
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
