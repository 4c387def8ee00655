package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
	}, report, cmpopts.IgnoreTypes(OverTime{})); diff != "" {
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

func TestTopDenied(t *testing.T) {
	tally := newTally(nil)
	deny := func(rule, key string, times int) {
		for range times {
			v := engine.Verdict{Resolution: engine.Resolution{Rule: &rules.Rule{Name: rule}, Key: key, Terms: &rules.Terms{}}}
			tally.count(&logs.Entry{Request: &request.Request{Method: "GET"}}, &engine.Decision{Verdicts: []engine.Verdict{v}})
		}
	}
	for i := range 12 {
		deny("b", fmt.Sprintf("k%02d", i), 1+i/2)
	}
	deny("a", "k09", 5)
	var got []string
	for _, k := range tally.report().TopDenied {
		got = append(got, fmt.Sprint(k.Rule, " ", k.Key, " ", k.Denied))
	}
	want := []string{"b k10 6", "b k11 6", "a k09 5", "b k08 5", "b k09 5", "b k06 4", "b k07 4", "b k04 3", "b k05 3", "b k02 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
