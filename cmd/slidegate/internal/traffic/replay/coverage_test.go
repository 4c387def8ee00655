package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// A rule covers the requests that it matches and that come to the rules, also if
// another one denies them or an override lifts it.
func TestCovered(t *testing.T) {
	log := strings.Join([]string{
		`{"time":1,"method":"PUT","path":"/other","ip":"203.0.113.9"}`,
		`{"time":5,"path":"/full","ip":"203.0.113.9"}`,
		`{"time":6,"path":"/health","ip":"203.0.113.9"}`,
		`{"time":7,"path":"/banned","ip":"203.0.113.9"}`,
		`{"time":8,"path":"/lifted","ip":"203.0.113.9"}`,
		`{"time":9,"path":"/users/7","route":"/users/{id}","ip":"203.0.113.9"}`,
	}, "\n")
	for _, tc := range []struct {
		name, rule string
		covers     bool
	}{
		{"a path of no request", "when: {path: /v1/**}", false},
		{"a method", "when: {path: /other, methods: [GET, POST]}", false},
		{"unless", "unless: {cidrs: [203.0.113.0/24]}", false},
		{"skip", "when: {path: /health}", false},
		{"deny", "when: {path: /banned}", false},
		{"a request that another rule denies", "when: {path: /full}", true},
		{"a request for which an override lifts it", "overrides: true, when: {path: /lifted}", true},
		{"a request by its route", "when: {route: '/users/{id}'}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, set := newEngine(t, fmt.Sprintf(`
skip: [{path: /health}]
deny: [{path: /banned}]
overrides: {r: {"ip:203.0.113.9": {unlimited: true}}, full: {"ip:203.0.113.9": {deny: true}}}
rules:
  - {name: full, when: {path: /full}, key: "ip:{ip}", overrides: true, limit: 1/minute}
  - {name: beside, when: {path: /lifted}, key: "ip:{ip}", limit: 1/minute}
  - {name: r, key: "ip:{ip}", limit: 1/minute, %s}`, tc.rule), memory.New(0), &Failures{})
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
			if err != nil {
				t.Fatal(err)
			}
			if r := report.Rules[2]; r.Covered != tc.covers {
				t.Errorf("covered: %v, want %v", r.Covered, tc.covers)
			}
		})
	}
}

// A rule that first covers a request late in a long log has covered one.
func TestARuleThatCoversLate(t *testing.T) {
	e, set := newEngine(t, "rules: [{name: r, when: {path: /late}, key: all, limit: 1/minute}]", memory.New(0), &Failures{})
	lines := strings.Repeat(requests("1 /"), 5000) + requests("1 /late") + strings.Repeat(requests("1 /"), 5000)
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(lines)}}, Options{Engine: e, Rules: set})
	if err != nil || !report.Rules[0].Covered {
		t.Errorf("%v, %+v", err, report.Rules[0])
	}
}

// Every field that a rule reads counts, for what it is read first. An empty value
// is none.
func TestLackingFields(t *testing.T) {
	e, set := newEngine(t, `
plan: {from: jwt.plan}
plans: {pro: {r: {units: 5}}}
rules:
  - name: r
    key: "{ip}|{header.x-user}|{query.q}|{path.id}|{stage}|{route}|{apikey}|{jwt.sub}|{method}"
    overrides: "user:{jwt.sub}|tenant:{jwt.tenant}"
    limits: [{name: units, capacity: 100, window: 1mo, anchor: {from: jwt.day}, cost: {from: header.x-cost, min: 1, max: 2}}]
`, memory.New(0), &Failures{})
	log := `{"time":1,"method":"PUT","path":"/?q=1","ip":"203.0.113.9","headers":{"X-User":"7","x-cost":"1"},"path_params":{"id":"7"},"stage":"prod","route":"/","apikey":"k",
		"jwt":{"sub":"7","plan":"free","day":3,"tenant":"t","roles":"user"}}`
	log = strings.ReplaceAll(log, "\n", "") + "\n" + `{"time":2,"path":"/?q=","headers":{"x-user":""}}` + "\n"
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	want := []Lack{
		{"ip", "key", 1}, {"header.x-user", "key", 1}, {"query.q", "key", 1}, {"path.id", "key", 1}, {"stage", "key", 1},
		{"route", "key", 1}, {"apikey", "key", 1}, {"jwt.sub", "key", 1}, {"method", "key", 1}, {"header.x-cost", "cost", 1},
		{"jwt.plan", "plan", 1},
	}
	if diff := cmp.Diff(want, report.Rules[0].Lacking); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fields := []string{
		"apikey", "header.x-cost", "header.x-user", "ip", "jwt.day", "jwt.plan", "jwt.roles", "jwt.sub", "jwt.tenant", "method", "path", "path.id", "route", "stage", "time",
	}
	if diff := cmp.Diff(fields, report.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Of a request whose method the log does not have, only rules without methods
// count anything: it is no GET.
func TestWithoutMethod(t *testing.T) {
	e, set := newEngine(t, `
skip: [{methods: [GET], path: /health}]
rules:
  - {name: reads, when: {methods: [GET]}, key: all, limit: 1/minute}
  - {name: writes, when: {methods: [POST]}, key: all, limit: 1/minute}
  - {name: but-reads, unless: {methods: [GET]}, key: all, limit: 2/minute}
  - {name: any, key: all, limit: 5/minute}
`, memory.New(0), &Failures{})
	log := `{"time":1,"method":"GET","path":"/a"}
{"time":2,"path":"/a"}
{"time":3,"method":"-","path":"/health"}
{"time":4,"method":null,"path":"/a"}`
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range report.Rules {
		got = append(got, fmt.Sprintf("%s %d/%d", r.Rule, r.Allowed, r.Denied))
	}
	want := "reads 1/0, writes 0/0, but-reads 2/1, any 3/0"
	if got := strings.Join(got, ", "); got != want || report.NoMethod != 3 {
		t.Errorf("%s, %d without a method; want %s, 3", got, report.NoMethod, want)
	}
}
