package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"rule for everything", user + ", {name: ip, key: 'ip:{ip}', " + limits, nil},
		{"in another order", "{name: ip, key: '{ip}|{route}|{stage}', " + limits + ", " + user, nil},
		{"one budget for all", user + ", {name: all, key: all, " + limits, nil},
		{"rule for the same", user + ", {name: ip, when: {path: /c, methods: [get], route: [/a, /b]}, key: 'ip:{ip}', " + limits, nil},
		{"rule for fewer", user + ", {name: ip, when: {methods: GET, route: [/a], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule for others", user + ", {name: ip, when: {methods: POST, route: [/a, /b], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule by another header", user + ", {name: other, key: 'o:{header.y}', " + limits, []string{first[0], warning("f:2:146: rules[1]", "{header.y}")}},
		{"rule that counts nothing", user + ", {name: ip, key: 'ip:{ip}', cost: 0, " + limits, first},
		{"trusted alone", "{name: ip, key: '{ip}|{route}|{stage}', " + limits, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("f", []byte("rules: [\n"+tt.rules+"]"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Address and header together are still as many keys as a client cares to make.
func TestWarningsNameWhatTheClientSends(t *testing.T) {
	s := parse(t, "rules: [{name: r, key: '{ip}|{query.a}|{path.b}|{method}', limits: [{capacity: 1, window: 1s}]}]")
	want := []string{"rules.yaml:1:24: rules[0].key: the client can make up a new value of {query.a}, {path.b} and {method} for every request and is then never limited: add a rule with a key such as \"ip:{ip}\" for the same requests"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a bucket or a log took from a request that another rule denies afterwards is lost.
func TestWarningsOfWhatIsNotGivenBack(t *testing.T) {
	const (
		window  = "key: all, limits: [{capacity: 1, window: 1s}]}"
		bucket  = "key: all, limits: [{algorithm: token_bucket, capacity: 1, window: 1s}]}"
		journal = "key: all, limits: [{name: a, capacity: 1, window: 1s}, {name: b, algorithm: sliding_window_log, capacity: 1, window: 1s}]}"
	)
	lost := func(rule, algorithm, denier string) string {
		return rule + ".limits: what a " + algorithm + " takes is not given back where rule " + denier +
			" denies the same request afterwards: put this rule below it, or write atomic: true in both"
	}
	alone := func(rule string) string {
		return rule + ".atomic: means nothing here: no other rule for the same requests is atomic"
	}
	for _, tt := range []struct {
		name, rules string
		want        []string
	}{
		{"bucket first", "{name: b, " + bucket + ", {name: w, " + window, []string{lost("rules[0]", "token_bucket", "w")}},
		{"bucket last", "{name: w, " + window + ", {name: b, " + bucket, nil},
		{"log first", "{name: l, " + journal + ", {name: w, " + window, []string{lost("rules[0]", "sliding_window_log", "w")}},
		{"two buckets", "{name: b, " + bucket + ", {name: c, " + bucket, []string{lost("rules[0]", "token_bucket", "c")}},
		{"a bucket that takes nothing", "{name: b, cost: 0, " + bucket + ", {name: w, " + window, nil},
		{"a rule that denies nothing", "{name: b, " + bucket + ", {name: w, cost: 0, " + window, nil},
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
			s := parse(t, "rules: ["+tt.rules+"]")
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

// A queue that takes longer to drain than the local gateway holds a request draws a warning, with the longest that does not.
func TestWarningsOfLongQueues(t *testing.T) {
	long := func(place, drain string, most int) string {
		return fmt.Sprintf("rules.yaml:%s: the queue takes %s to drain, and the local gateway holds a request for 10s at most: write queue: %d", place, drain, most)
	}
	for limits, want := range map[string]string{
		"{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 10}":                                      "",
		"{algorithm: leaky_bucket, capacity: 1, window: 1s, queue: 11}":                                      long("1:96: rules[0].limits[0].queue", "11s", 10),
		"{algorithm: leaky_bucket, capacity: 100, window: 60s}":                                              long("1:38: rules[0].limits[0]", "1m", 16),
		"{algorithm: leaky_bucket, capacity: 7, window: 60s}":                                                long("1:38: rules[0].limits[0]", "1m", 1),
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 1}":                                       "", // nobody waits
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 5}":                              "",
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 0}":                              "",
		"{algorithm: leaky_bucket, capacity: 1, window: 1h, queue: 5, cost: 3}":                              long("1:96: rules[0].limits[0].queue", "5h", 3),
		"{algorithm: token_bucket, capacity: 100, window: 60s}":                                              "",
		"{name: b, capacity: 1, window: 1s}, {name: a, algorithm: leaky_bucket, capacity: 100, window: 60s}": long("1:74: rules[0].limits[1]", "1m", 16),
	} {
		s := parse(t, "rules: [{name: r, key: all, limits: ["+limits+"]}]")
		if got := strings.Join(s.Warnings, "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", limits, got, want)
		}
	}
}

// Warnings name the place that they speak of.
func TestWarningPlaces(t *testing.T) {
	s := parse(t, "rules:\n- name: b\n  key: all\n  atomic: true\n  limits:\n  - {algorithm: leaky_bucket, capacity: 1, window: 1s}\n"+
		"- {name: w, key: all, limits: [{capacity: 1, window: 1s}]}\n")
	if len(s.Warnings) != 2 || !strings.HasPrefix(s.Warnings[0], "rules.yaml:4:11: rules[0].atomic: ") ||
		!strings.HasPrefix(s.Warnings[1], "rules.yaml:6:3: rules[0].limits: what a leaky_bucket") {
		t.Errorf("got %q", s.Warnings)
	}
}
