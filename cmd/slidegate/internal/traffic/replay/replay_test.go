package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// deciderFunc decides by a function.
type deciderFunc func(now time.Time, req *request.Request) (*engine.Decision, error)

func (f deciderFunc) Decide(_ context.Context, now time.Time, req *request.Request) (*engine.Decision, error) {
	return f(now, req)
}

// allowAll allows every request and records its second and path.
func allowAll(seen *[]string) deciderFunc {
	return func(now time.Time, req *request.Request) (*engine.Decision, error) {
		*seen = append(*seen, fmt.Sprint(now.Unix(), " ", req.Path))
		return &engine.Decision{Allowed: true}, nil
	}
}

func newEngine(t testing.TB, document string, store limit.Store, recorder engine.Observer) (*engine.Engine, *rules.Set) {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: memory.New(0), Observer: recorder}), set
}

// requests returns a log of JSON Lines, from lines of "second path".
func requests(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		second, path, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, `{"time":%s,"method":"GET","path":"%s","ip":"203.0.113.9"}`+"\n", second, path)
	}
	return b.String()
}

// fieldsOfRequests are the fields of the logs that requests returns.
var fieldsOfRequests = []string{"ip", "method", "path", "time"}

func text(content string) logs.Log { return logs.Stream("log", strings.NewReader(content), logs.JSONL) }

const twoRules = `
rules:
  - name: per-ip
    key: ip:{ip}
    limits: [{capacity: 2, window: 10s, granularity: 1s}]
  - name: login
    when: {path: /login}
    key: everybody
    limits: [{capacity: 1, window: 1h}]
`

// Rules are applied at the times of the log, which go back in the order of the
// file.
func TestDecisionsFollowTheLogsClock(t *testing.T) {
	e, set := newEngine(t, twoRules+"  - {name: unused, when: {path: /never}, key: all, limit: 1/minute}\n", memory.New(0), &Failures{})
	log := requests(
		"100 /a",
		"105 /login", // both rules
		"103 /a",     // out of order, and too many
		"111 /login", // the first rule has room again, the second has not
		"111 /b",
		"111.5 /b",
		"90 /b", // ten seconds early: charged where the key stands
	)
	var out strings.Builder
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}, Order: logs.AsLogged}, Options{Engine: e, Decisions: &out, Rules: set})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"100000000000\tper-ip\tip:203.0.113.9\t1\t1\t0",
		"105000000000\tper-ip\tip:203.0.113.9\t1\t0\t0",
		"105000000000\tlogin\teverybody\t1\t0\t0",
		"103000000000\tper-ip\tip:203.0.113.9\t0\t0\t8000000000",
		"111000000000\tlogin\teverybody\t0\t0\t3609000000000",
		"111000000000\tper-ip\tip:203.0.113.9\t1\t0\t0",
		"111500000000\tper-ip\tip:203.0.113.9\t0\t0\t4500000000",
		"90000000000\tper-ip\tip:203.0.113.9\t0\t0\t26000000000",
		"",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	report.Elapsed = 0
	if diff := cmp.Diff(&Report{
		Extent:  logs.Extent{Order: logs.AsLogged, OutOfOrder: 2, Requests: 7, First: time.Unix(90, 0), Last: time.Unix(111, 5e8), Fields: fieldsOfRequests},
		Fields:  fieldsOfRequests,
		Allowed: 3, Denied: 4,
		Rules: RuleTotals{
			{Rule: "per-ip", Allowed: 3, Denied: 3, Covered: true, Lacking: []Lack{}},
			{Rule: "login", Allowed: 1, Denied: 1, Covered: true},
			{Rule: "unused"},
		},
		TopDenied: []KeyTotal{
			{"per-ip", "ip:203.0.113.9", 3}, {"login", "everybody", 1},
		},
	}, report, cmpopts.IgnoreTypes(OverTime{}), cmpopts.IgnoreUnexported(logs.Extent{})); diff != "" {
		t.Error(diff)
	}
}

func TestDenialThatNeverEnds(t *testing.T) {
	e, _ := newEngine(t, "rules: [{name: big, key: all, limits: [{capacity: 1, window: 10s, granularity: 1s}, ]}]", fakestore.New(fakestore.Deny(limit.Never)), &Failures{})
	var out strings.Builder
	if _, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(requests("1 /"))}}, Options{Engine: e, Decisions: &out}); err != nil {
		t.Fatal(err)
	}
	if want := "1000000000\tbig\tall\t0\t0\t-1\n"; out.String() != want {
		t.Errorf("decision %q, want %q", out.String(), want)
	}
}

// A replay counts the delays of a leaky bucket and does not wait: it decides the
// next line at that line's own time.
func TestDelayed(t *testing.T) {
	e, _ := newEngine(t, "rules: [{name: even, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 3600s, queue: 3}]}]", memory.New(0), &Failures{})
	var out strings.Builder
	report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(requests("0 /", "0 /", "1 /", "2 /"))}}, Options{Engine: e, Decisions: &out})
	if err != nil {
		t.Fatal(err)
	}
	if report.Allowed != 3 || report.Denied != 1 || report.Delayed != 2 {
		t.Errorf("%d allowed, %d denied, %d delayed; want 3, 1 and 2", report.Allowed, report.Denied, report.Delayed)
	}
	const want = "0\teven\tall\t1\t2\t0\n0\teven\tall\t1\t1\t0\n1000000000\teven\tall\t1\t0\t0\n2000000000\teven\tall\t0\t0\t3598000000000\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// deniedBy is the decision of a rule that denies a key.
func deniedBy(rule, key string) *engine.Decision {
	v := engine.Verdict{Resolution: engine.Resolution{Rule: &rules.Rule{Name: rule}, Key: key, Terms: &rules.Terms{}}}
	return &engine.Decision{Verdicts: []engine.Verdict{v}}
}

// A comparison has the ten keys that changed the most, and a report the ten that
// were denied the most.
func TestMostKeys(t *testing.T) {
	c, tally, allow := comparing{changes: map[ruleKey]*Change{}}, newTally(nil), &engine.Decision{Allowed: true}
	e := &logs.Entry{Time: time.Unix(1, 0), Request: &request.Request{Method: "GET"}}
	for i := range 12 {
		for range 1 + i/2 {
			c.count(e, allow, deniedBy("b", fmt.Sprintf("k%02d", i)))
			tally.count(e, deniedBy("b", fmt.Sprintf("k%02d", i)))
		}
	}
	for range 5 {
		c.count(e, deniedBy("a", "k09"), allow)
		tally.count(e, deniedBy("a", "k09"))
	}
	c.count(e, allow, allow)
	c.count(e, deniedBy("a", "k09"), &engine.Decision{})
	got := c.comparison()
	var keys, denied []string
	for _, k := range got.Keys {
		keys = append(keys, fmt.Sprint(k.Rule, " ", k.Key, " ", k.ToDenied, " ", k.ToAllowed))
	}
	for _, k := range tally.report().TopDenied {
		denied = append(denied, fmt.Sprint(k.Rule, " ", k.Key, " ", k.Denied))
	}
	want := []string{"b k10 6 0", "b k11 6 0", "a k09 0 5", "b k08 5 0", "b k09 5 0", "b k06 4 0", "b k07 4 0", "b k04 3 0", "b k05 3 0", "b k02 2 0"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	want = []string{"b k10 6", "b k11 6", "a k09 5", "b k08 5", "b k09 5", "b k06 4", "b k07 4", "b k04 3", "b k05 3", "b k02 2"}
	if diff := cmp.Diff(want, denied); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Change{{"b", "", 42, 0}, {"a", "", 0, 5}}, got.Rules); diff != "" || got.Requests != 49 {
		t.Errorf("%d requests of 49: %s", got.Requests, diff)
	}
}

// No request is lost, each is in the bucket of its time, and there are never too
// many buckets.
func TestOverTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o, other OverTime
		at := time.Unix(rapid.Int64Range(-1_000_000_000, 4_000_000_000).Draw(t, "start"), 0)
		var times []time.Time
		for _, step := range rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 1, time.Second, -time.Second, time.Hour, -70 * time.Hour, 5000 * time.Hour}), 1, 300).Draw(t, "steps") {
			at = at.Add(step)
			times = append(times, at)
			o.At(at).Add(true, false)
			other.At(at).Add(false, true)
			if len(o.Buckets()) > maxBuckets {
				t.Fatalf("%d buckets", len(o.Buckets()))
			}
		}
		want := make([]int64, len(o.Buckets()))
		for _, at := range times {
			want[at.Sub(o.From())/o.Bucket()]++
		}
		for i, c := range o.Buckets() {
			if c.Allowed != want[i] || c.Denied+c.WouldDeny != 0 || other.Buckets()[i].Denied != want[i] {
				t.Fatalf("bucket %d of %v has %+v and %+v, want %d", i, o.Bucket(), c, other.Buckets()[i], want[i])
			}
		}
	})
}

// The whole range of times that limits count in fits.
func TestOverTimeOfCenturies(t *testing.T) {
	var o OverTime
	for year := 2199; year >= 1930; year-- {
		o.At(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)).Denied++
	}
	sum := int64(0)
	for _, c := range o.Buckets() {
		sum += c.Denied
	}
	if sum != 270 || len(o.Buckets()) > maxBuckets {
		t.Errorf("%d requests in %d buckets", sum, len(o.Buckets()))
	}
}

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
	if diff := cmp.Diff(want, report, cmpopts.IgnoreTypes(OverTime{}), cmpopts.IgnoreUnexported(logs.Extent{})); diff != "" {
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
