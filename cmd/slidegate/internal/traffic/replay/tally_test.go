package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// variety has shadow rules, candidates, exemptions, bans and overrides.
const variety = `
deny: [{path: /admin}]
skip: [{path: /health}]
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans: {free: {}, enterprise: {api: unlimited}}
rules:
  - name: api
    when: {path: /api}
    key: user:{jwt.sub}
    overrides: true
    limits:
      - {name: day, algorithm: fixed_window, capacity: 100, window: 1d}
      - {name: minute, algorithm: fixed_window, capacity: 2, window: 60s, candidate: 3}
  - name: strict
    when: {path: /api}
    key: key:{apikey}
    overrides: true
    limits: [{algorithm: fixed_window, capacity: 1, window: 60s, candidate: 50%}]
    mode: shadow
  - name: later
    key: all
    limits: [{capacity: 1, window: 60s}]
    mode: off
overrides:
  plan: {"user:banned": {deny: true}, "user:late": {plan: enterprise, until: "1970-01-01T00:01:00Z"}}
  api: {"user:gone": {deny: true}, "user:free": {unlimited: true}, "user:big": {capacity: {minute: 9}}}
  strict: {"key:bad": {deny: true}, "key:good": {unlimited: true}}
`

func TestReportOfVariety(t *testing.T) {
	e, set := newEngine(t, variety, memory.New(0), &Failures{})
	log := strings.Join([]string{
		// api allows 2 in a minute, with a candidate of 3; the shadow rule strict
		// allows 1 in a minute.
		`{"time":10,"path":"/api","jwt":{"sub":"ann"},"apikey":"k1"}`,
		`{"time":11,"path":"/api","jwt":{"sub":"ann"},"apikey":"k1"}`,
		`{"time":12,"path":"/api","jwt":{"sub":"ann"},"apikey":"k1"}`, // denied by api alone
		`{"time":13,"path":"/api","jwt":{"sub":"ann"},"apikey":"k1"}`, // the candidate reads the limit's counter, so it would allow this too

		`{"time":14,"path":"/api","jwt":{"sub":"big"},"apikey":"good"}`, // a candidate in units does not apply to an override, and strict is lifted
		`{"time":15,"path":"/api","jwt":{"sub":"eve"},"apikey":"bad"}`,  // a shadow rule would deny it

		`{"time":16,"path":"/health"}`,
		`{"time":17,"path":"/api","jwt":{"sub":"free"},"apikey":"good"}`,
		`{"time":18,"path":"/api","jwt":{"sub":"rich","plan":"enterprise"},"apikey":"good"}`,
		`{"time":19,"path":"/api","jwt":{"sub":"late"},"apikey":"good"}`, // on a plan that lifts the limits
		`{"time":61,"path":"/api","jwt":{"sub":"late"},"apikey":"good"}`, // which has ended

		`{"time":62,"path":"/admin"}`,
		`{"time":63,"path":"/api","jwt":{"sub":"gone"}}`,
		`{"time":64,"path":"/api","jwt":{"sub":"banned"}}`,

		`{"time":65,"path":"/elsewhere"}`, // no rule covers it
		`{"time":66,"path":"/x/../api"}`,  // ambiguous
	}, "\n")
	var out strings.Builder
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: e, Rules: set, Decisions: &out})
	if err != nil {
		t.Fatal(err)
	}
	report.Elapsed = 0
	fields := []string{"apikey", "jwt.plan", "jwt.sub", "path", "time"}
	want := &Report{
		Extent:  logs.Extent{Order: logs.ByTime, Requests: 16, NoMethod: 16, First: time.Unix(10, 0), Last: time.Unix(66, 0), Fields: fields},
		Fields:  fields,
		Allowed: 10, Denied: 6, Exempt: 4, Banned: 3, Ambiguous: 1, WouldDeny: 2,
		Rules: RuleTotals{
			{Rule: "api", Allowed: 5, Denied: 3, Covered: true, Lacking: []Lack{{"jwt.plan", "plan", 8}}},
			{Rule: "strict", Mode: rules.Shadow, Allowed: 1, WouldDeny: 2, Covered: true, Lacking: []Lack{}},
		},
		Candidates: CandidateTotals{{Limit: "api.minute", WouldAllow: 2}, {Limit: "strict"}},
		TopDenied:  []KeyTotal{{"api", "user:ann", 2}, {"api", "user:gone", 1}},
	}
	if diff := cmp.Diff(want, report, cmpopts.IgnoreTypes(OverTime{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantLines := strings.Join([]string{
		"10000000000\tapi\tuser:ann\t1\t1\t0", "10000000000\tstrict\tkey:k1\t1\t0\t0",
		"11000000000\tapi\tuser:ann\t1\t0\t0", "11000000000\tstrict\tkey:k1\t0\t0\t49000000000",
		"12000000000\tapi\tuser:ann\t0\t0\t48000000000",
		"13000000000\tapi\tuser:ann\t0\t0\t47000000000",
		"14000000000\tapi\tuser:big\t1\t8\t0",
		"15000000000\tapi\tuser:eve\t1\t1\t0", "15000000000\tstrict\tkey:bad\t0\t0\t-1",
		"61000000000\tapi\tuser:late\t1\t1\t0",
		"63000000000\tapi\tuser:gone\t0\t0\t-1",
		"",
	}, "\n")
	if diff := cmp.Diff(wantLines, out.String()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
