package rules

import (
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// parse reads a document that must be good.
func parse(t testing.TB, document string) *Set {
	t.Helper()
	s, err := read(t, "rules.yaml", document)
	if err != nil {
		t.Fatalf("Parse:\n%v\nof:\n%s", err, document)
	}
	return s
}

// own returns the rule's terms for an empty request without a plan or an override.
func own(r *Rule) *Terms { return r.Terms(&request.Request{}, "", nil, time.Time{}) }

func costs(r *Rule) []int64 { return own(r).Costs }

// item returns the name of a key's counter.
func item(r *Rule, key string) string {
	terms := own(r)
	return r.Item(key, terms)
}

// parseRule reads a document of one rule: its fields in YAML, without key and limits unless they matter.
func parseRule(t testing.TB, fields string) *Rule {
	t.Helper()
	return parse(t, "rules: [{name: r, limits: [{capacity: 10, window: 60s}], "+fields+"}]").Rules[0]
}

// inside compares all fields of the types of a Set, except derived fields.
var inside = cmp.Options{
	cmp.Exporter(func(t reflect.Type) bool {
		path := t.PkgPath()
		return path == reflect.TypeFor[Set]().PkgPath() || path == reflect.TypeFor[key.Template]().PkgPath() ||
			path == reflect.TypeFor[match.Selector]().PkgPath() || path == reflect.TypeFor[request.Request]().PkgPath()
	}),
	cmpopts.IgnoreFields(match.Pattern{}, "pattern"), cmpopts.IgnoreFields(match.Selector{}, "networks"),
	cmpopts.IgnoreFields(key.Hash{}, "Missing", "Secret"),
}

// These documents mean the same.
func TestSameDocuments(t *testing.T) {
	want := parse(t, "rules: [{name: r, when: {route: /v1/**}, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}]")
	for name, document := range map[string]string{
		"block":               "rules:\n- name: r\n  when:\n    route:\n    - /v1/**\n  key: ip:{ip}\n  limits:\n  - capacity: 10\n    window: 60s\n",
		"json":                `{"rules": [{"name": "r", "when": {"route": ["/v1/**"]}, "key": "ip:{ip}", "limits": [{"capacity": 10, "window": "60s"}]}]}`,
		"byte order mark":     "\ufeffrules: [{name: r, when: {route: /v1/**}, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}]",
		"document marks":      "# a comment\n---\nrules: [{name: r, when: {route: /v1/**}, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}]\n...\n# another\n",
		"windows lines":       "# a comment\r\nrules: # and one here\r\n  - name: r\r\n    when: {route: /v1/**}\r\n    key: ip:{ip}\r\n    limits: [{capacity: 10, window: 60s}]\r\n",
		"old mac lines":       "rules:\r  - name: r\r    when: {route: /v1/**}\r    key: ip:{ip}\r    limits: [{capacity: 10, window: 60s}]\r",
		"literal":             "rules:\n  - name: r\n    when: {route: /v1/**}\n    key: |-\n      ip:{ip}\n    limits: [{capacity: 10, window: 1m}]\n",
		"everything stated":   "rules: [{name: r, when: {route: /v1/**}, key: 'ip:{ip}', cost: 1, limits: [{algorithm: sliding_window, capacity: 10, window: 60s, granularity: 1s}], on_error: local}]",
		"in another order":    "rules: [{limits: [{window: 60s, capacity: 10}], key: 'ip:{ip}', when: {route: /v1/**}, name: r}]",
		"without a last line": "rules: [{name: r, when: {route: /v1/**}, key: 'ip:{ip}', limits: [{capacity: 10, window: 60s}]}] # end",
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, document)
			if diff := cmp.Diff(want, got, inside); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The digits are part of the names of stored counters. Changing them resets every
// counter.
func TestShape(t *testing.T) {
	for _, tt := range []struct{ limits, shape string }{
		{"[{capacity: 10, window: 60s}]", "9e0c8586"},
		{"[{capacity: 99, window: 60s}]", "9e0c8586"},
		{"[{capacity: 10, window: 60s, cost: 3}]", "9e0c8586"},
		{"[{capacity: 10, window: 60s, granularity: 2s}]", "e924f447"},
		{"[{capacity: 10, window: 30s}]", "e662cc50"},
		{"[{name: a, capacity: 10, window: 60s}]", "2ba1bf6e"},
		{"[{capacity: 10, window: 60s, algorithm: fixed_window}]", "753855bd"},
		{"[{name: a, capacity: 10, window: 60s}, {name: b, capacity: 10, window: 1h}]", "11b940f1"},
		{"[{name: b, capacity: 10, window: 1h}, {name: a, capacity: 10, window: 60s}]", "11b940f1"},
		{"[{capacity: 10, window: 60s, over: clamp}]", "9e0c8586"},
		{"[{capacity: 10, window: 60s, algorithm: sliding_window_counter}]", "7231923c"},
		{"[{capacity: 10, window: 60s, algorithm: sliding_window_log}]", "89bbe8df"},
		{"[{capacity: 10, window: 60s, algorithm: token_bucket}]", "e64391fc"},
		{"[{capacity: 99, window: 60s, algorithm: token_bucket, burst: 5}]", "e64391fc"},
		{"[{capacity: 10, window: 60s, algorithm: leaky_bucket}]", "2f5b654b"},
		{"[{capacity: 99, window: 60s, algorithm: leaky_bucket, queue: 5}]", "2f5b654b"},
		{"[{capacity: 10, window: 1d, algorithm: fixed_window}]", "83dc87c1"},
		{"[{capacity: 10, window: 24h, algorithm: fixed_window}]", "83dc87c1"},
		{"[{capacity: 10, window: 1d, algorithm: fixed_window, timezone: UTC}]", "83dc87c1"},
		{"[{capacity: 10, window: 1d, algorithm: fixed_window, timezone: Europe/Berlin}]", "feeb1e62"},
		{"[{capacity: 10, window: 7d, algorithm: fixed_window}]", "13d04fde"},
		{"[{capacity: 10, window: 1w, algorithm: fixed_window}]", "86763a22"},
		{"[{capacity: 10, window: 1w, algorithm: fixed_window, timezone: UTC}]", "86763a22"},
		{"[{capacity: 10, window: 30d, algorithm: fixed_window}]", "2b160966"},
		{"[{capacity: 10, window: 1mo, algorithm: fixed_window}]", "740ed293"},
		{"[{capacity: 10, window: 1mo, algorithm: fixed_window, anchor: 1}]", "740ed293"},
		{"[{capacity: 10, window: 1mo, algorithm: fixed_window, anchor: 15}]", "a36f304c"},
		{"[{capacity: 10, window: 1mo, algorithm: fixed_window, anchor: 15, timezone: Europe/Berlin}]", "554a805e"},
	} {
		r := parse(t, "rules: [{name: r, key: all, limits: "+tt.limits+"}]").Rules[0]
		if got := item(r, "k"); got != "r|k|"+tt.shape {
			t.Errorf("limits %s: item %q, want shape %q", tt.limits, got, tt.shape)
		}
	}
}

// A Set is shared by all requests of a process. Run with -race.
func TestSetIsSafeForConcurrentUse(t *testing.T) {
	s := parse(t, `
deny: [{cidrs: [198.51.100.0/24]}]
skip: [{path: /health}]
rules: [{name: r, when: {route: "/v1/**"}, key: "ip:{ip}|{route}|{header.x-user}", limits: [{capacity: 1, window: 1s}]}]`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				req := &request.Request{Path: "/v1/../v1/x", IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"X-User": {"u"}}}
				if s.Banned(req) || s.Skipped(req) || !s.Rules[0].Matches(req) {
					t.Error("wrong")
				}
				if got := string(s.Rules[0].AppendKey(nil, req)); got != "ip:203.0.113.9|/v1/**|u" {
					t.Errorf("key %q", got)
				}
			}
		})
	}
	wg.Wait()
}
