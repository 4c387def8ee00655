package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/report"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// made is a replay with its recording, and its page.
type made struct {
	totals    *replay.Report
	recording *report.Recording
	page      string
}

// engineOf returns an engine with counters in memory.
func engineOf(set *rules.Set) (*engine.Engine, *report.Counted) {
	counted := report.Count(memory.NewSequential(100_000), set)
	return engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: counted, Local: memory.New(0)}), counted
}

// run replays a log of JSON lines with all variants of the rules.
func run(t *testing.T, document, log string) made {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	m := made{recording: report.NewRecording(set)}
	for _, v := range report.Variants(set) {
		if v.Set == nil {
			m.recording.Left = append(m.recording.Left, v)
			continue
		}
		e, counted := engineOf(v.Set)
		m.recording.Others = append(m.recording.Others, &report.Scenario{Name: v.Name, Engine: e, Writes: counted})
	}
	e, counted := engineOf(set)
	m.recording.Own.Writes = counted
	m.totals = replayed(t, e, set, log, m.recording)
	var page bytes.Buffer
	if err := report.Write(&page, report.Source{Logs: []string{"<b>access.log"}, Rules: "rules.yaml"}, m.totals, m.recording); err != nil {
		t.Fatal(err)
	}
	m.page = page.String()
	return m
}

func replayed(t *testing.T, e replay.Decider, set *rules.Set, log string, r *report.Recording) *replay.Report {
	t.Helper()
	o := replay.Options{Engine: e, Rules: set}
	if r != nil {
		o.Seen = r.Seen
	}
	totals, err := replay.Run(t.Context(), &logs.Traffic{Logs: []logs.Log{logs.Stream("log", strings.NewReader(log), logs.JSONL)}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

const threeRules = `
rules:
  - {name: per-ip, key: "ip:{ip}", limit: 4/minute}
  - {name: new, mode: shadow, key: "ip:{ip}", limits: [{capacity: 3, window: 30s, algorithm: fixed_window}]}
  - {name: both, key: all, limits: [{name: a, capacity: 60, window: 1m}, {name: b, capacity: 900, window: 1h}]}
`

// traffic is 3,000 requests of 20 clients in some hours. Some have no status.
func traffic() string {
	r, at := rand.New(rand.NewPCG(1, 2)), 1_700_000_000.0
	var b strings.Builder
	for range 3000 {
		at += r.ExpFloat64() * 4
		status := []string{`,"status":200`, `,"status":404`, ``}[r.IntN(3)]
		fmt.Fprintf(&b, `{"time":%.3f,"path":"/","ip":"192.0.2.%d"%s}`+"\n", at, r.IntN(20)*r.IntN(20)/20, status)
	}
	return b.String()
}

// Each scenario has the totals of a replay of its rules alone, to the unit.
func TestScenariosAreReplays(t *testing.T) {
	log := traffic()
	m := run(t, threeRules, log)
	if own := m.recording.Own.Totals; own.Denied != m.totals.Denied || own.WouldDeny != m.totals.WouldDeny || own.Denied == 0 || own.WouldDeny == 0 {
		t.Errorf("as they are: %+v, the replay denied %d and would deny %d", own, m.totals.Denied, m.totals.WouldDeny)
	}
	set, _ := rulefile.Parse("rules.yaml", []byte(threeRules))
	var names []string
	for _, v := range report.Variants(set) {
		names = append(names, v.Name)
	}
	want := []string{"half the limits", "twice the limits", "sliding_window", "fixed_window", "sliding_window_counter", "sliding_window_log", "token_bucket", "leaky_bucket"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	for i, v := range report.Variants(set) {
		e, _ := engineOf(v.Set)
		alone, got := replayed(t, e, v.Set, log, nil), m.recording.Others[i].Totals
		if got.Denied != alone.Denied || got.WouldDeny != alone.WouldDeny || got.Allowed+got.WouldDeny != alone.Allowed {
			t.Errorf("%s: %+v, alone %d denied and %d would be", v.Name, got, alone.Denied, alone.WouldDeny)
		}
		if diff := cmp.Diff(alone.OverTime.Buckets(), m.recording.Others[i].OverTime.Buckets()); diff != "" {
			t.Errorf("%s over time: %s", v.Name, diff)
		}
	}
}

// Only rules with one limit change, with their capacities by plan, and what an
// algorithm cannot count is left out with the reason.
func TestVariants(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`
plan: {from: jwt.plan}
plans: {pro: {big: 5000}}
rules:
  - {name: big, key: "{jwt.sub}", limits: [{capacity: 1501, window: 1m, candidate: 90%}]}
  - {name: tokens, key: all, limits: [{capacity: 1, window: 1s, algorithm: token_bucket, burst: 7}]}
  - {name: two, key: all, limits: [{name: a, capacity: 9, window: 1m}, {name: b, capacity: 90, window: 1h}]}
  - {name: none, mode: off, key: all, limit: 1/minute}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range report.Variants(set) {
		if got[v.Name] = v.Why; v.Set == nil {
			continue
		}
		plan := v.Set.Document().Plans["pro"]["big"].Capacity
		var all []string
		for _, r := range v.Set.Rules[:3] {
			l := r.Limits[0]
			all = append(all, fmt.Sprintf("%s %d/%d", l.Algorithm, l.Capacity, l.Burst))
		}
		got[v.Name] = fmt.Sprint(strings.Join(all, ", "), ", ", plan)
	}
	want := map[string]string{
		"half the limits":        "sliding_window 751/0, token_bucket 1/4, sliding_window 9/0, map[:2500]",
		"twice the limits":       "sliding_window 3002/0, token_bucket 2/14, sliding_window 9/0, map[:10000]",
		"sliding_window":         "sliding_window 1501/0, sliding_window 1/0, sliding_window 9/0, map[:5000]",
		"fixed_window":           "fixed_window 1501/0, fixed_window 1/0, sliding_window 9/0, map[:5000]",
		"sliding_window_counter": "sliding_window_counter 1501/0, sliding_window_counter 1/0, sliding_window 9/0, map[:5000]",
		"sliding_window_log":     "?",
		"token_bucket":           "token_bucket 1501/1501, token_bucket 1/7, sliding_window 9/0, map[:5000]",
		"leaky_bucket":           "leaky_bucket 1501/1501, leaky_bucket 1/1, sliding_window 9/0, map[:5000]",
	}
	if !strings.Contains(got["sliding_window_log"], "1000") {
		t.Errorf("sliding_window_log: %s", got["sliding_window_log"])
	}
	got["sliding_window_log"] = "?"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none, _ := rulefile.Parse("rules.yaml", []byte("rules: []"))
	if v := report.Variants(none); v != nil {
		t.Errorf("variants of no rule: %v", v)
	}
}

// A log may hold anything. Whatever it holds appears as text, or not at all.
func TestNothingOfALogIsMarkup(t *testing.T) {
	const document = `
rules:
  - {name: r, key: "{ip}|{header.user-agent}|{query.q}|{path.id}|{jwt.sub}", limit: 1/hour}
  - {name: never, when: {path: "/never/**"}, key: all, limit: 1/hour}
`
	attacks := []string{
		`<script>window.hacked=1</script>`, `"><img src=x onerror=hacked()>`, `'-alert(1)-'`, `</title></style></script><svg onload=hacked()>`, `{{.Policy}}`,
		"\u202eevil\u2028", `javascript:hacked()`, `<!--`, `]]>`, `\u003cscript\u003e`, "`${hacked()}`", `&lt;script&gt;`,
	}
	var log strings.Builder
	for _, a := range attacks {
		quoted, _ := json.Marshal(a)
		for range 2 {
			fmt.Fprintf(&log, `{"time":1,"path":%s,"ip":"192.0.2.1","headers":{"user-agent":%s},"path_params":{"id":%s},"jwt":{"sub":%s},"status":200}`+"\n",
				`"/x"`, quoted, quoted, quoted)
		}
		fmt.Fprintf(&log, `{"time":1,"path":%s,"ip":%s}`+"\n", quoted, quoted) // which cannot be read: the page quotes the first
		fmt.Fprintf(&log, `{"time":1,"path":%s}`+"\n", quoted)                 // the nearest request of a rule that covers none
	}
	page := run(t, document, log.String()).page
	markup := regexp.MustCompile(`<[a-zA-Z/!][^>]*>`).FindAllString(strings.NewReplacer(between(page, "<style>", "</style>"), "", between(page, "<script>", "</script>"), "").Replace(page), -1)
	for _, tag := range markup {
		for _, bad := range []string{"hacked", "alert", "javascript", "onerror", "onload", "evil"} {
			if strings.Contains(tag, bad) {
				t.Errorf("markup of the log: %s", tag)
			}
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if strings.Contains(between(page, "<script>", "</script>"), "hacked") || strings.Contains(between(page, "<style>", "</style>"), "hacked") {
		t.Error("the log is in the script or the style")
	}
	if text := html.UnescapeString(page); !strings.Contains(text, "hacked") {
		t.Error("the attacks are not on the page at all: this test tests nothing")
	}
	if strings.Contains(page, "<b>access.log") {
		t.Error("the name of the log is not escaped")
	}
}

func between(page, from, to string) string {
	_, rest, _ := strings.Cut(page, from)
	inside, _, _ := strings.Cut(rest, to)
	return inside
}

// The page runs nothing but its own script and style, and loads nothing.
func TestPolicy(t *testing.T) {
	page := run(t, threeRules, traffic()).page
	for _, tag := range []string{"style", "script"} {
		sum := sha256.Sum256([]byte(between(page, "<"+tag+">", "</"+tag+">")))
		if want := fmt.Sprintf("%s-src 'sha256-%s'", tag, base64.StdEncoding.EncodeToString(sum[:])); !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	if !strings.Contains(html.UnescapeString(page), `content="default-src 'none'; `) {
		t.Error("the policy allows what it does not name")
	}
	for _, bad := range []string{` style="`, ` src=`, `@import`, `url(http`, ` onclick=`, `<link`, `<iframe`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, link := range regexp.MustCompile(`https?://[^"'<\s]*`).FindAllString(page, -1) {
		if link != "http://www.w3.org/2000/svg" {
			t.Errorf("the page names %s", link)
		}
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("two elements have the id %s", id[1])
		}
		ids[id[1]] = true
	}
}

// Of 200,000 long keys, the page lists 1,000 and stays below 5 MB.
func TestSizeOfAPage(t *testing.T) {
	var log strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&log, `{"time":%d,"path":"/","headers":{"user-agent":"%s%d"}}`+"\n", i*977, strings.Repeat("long ", 100), i)
	}
	page := run(t, `rules: [{name: r, key: "{header.user-agent}", limit: 1/day}, {name: s, key: "{header.user-agent}", mode: shadow, limit: 1/day}]`, log.String()).page
	if len(page) > 5_000_000 || !strings.Contains(page, "1,000 of 40,000 keys") {
		t.Errorf("%d bytes; %s", len(page), between(page, "<caption>", "</caption>"))
	}
}

// What the page says of small logs, as text.
func TestPage(t *testing.T) {
	line := func(second int, status string) string {
		return fmt.Sprintf(`{"time":%d,"path":"/","ip":"192.0.2.1"%s}`+"\n", 1_700_000_000+second, status)
	}
	burst := line(0, `,"status":200`) + line(20, `,"status":200`) + line(59, `,"status":500`) + line(61, `,"status":200`) + line(300, ``)
	const two = `rules: [{name: r, key: "ip:{ip}", limits: [{capacity: 2, window: 1m, algorithm: fixed_window}]}]`
	for name, tc := range map[string]struct {
		document, log string
		want, lacks   []string
	}{
		"a peak beside its limit": {two, burst, []string{"3 of 2", "2023-11-14T22:14:19Z", "Denied 0", "1 of 5 requests have no status", "The log spans 5m 0s", "5 requests have no method in the log."}, nil},
		"a proxy's entry":         {"client_ip: {trusted_hops: 1}\n" + two, line(0, `,"headers":{"x-forwarded-for":"unix:"}`) + line(1, ""), []string{"In 1 request a proxy's entry for its client is no address, so the address of the proxy counts. The first: x-forwarded-for: unix:."}, nil},
		"no statuses":             {two, line(0, "") + line(1, ""), []string{"The log has no statuses", "2 of 2"}, []string{"answered 2xx</dt>", "a month"}},
		"a cost":                  {`rules: [{name: r, key: all, limits: [{capacity: 9, window: 1m, cost: 3}]}]`, burst, []string{"Rule r charges by cost"}, []string{"Peak of limit"}},
		"an unlimited key": {
			two[:len(two)-2] + `, overrides: true}]` + "\noverrides: {r: {'ip:192.0.2.1': {capacity: 7}}}", burst, []string{"3 of 7"}, nil,
		},
		"no key of a caller": {`rules: [{name: r, mode: shadow, key: "{jwt.sub}", limit: 1/minute}]`, burst, []string{"100.0% of its requests lack jwt.sub of its key", "Denied or would be", "Would be denied"}, nil},
		"a rule for nothing": {`rules: [{name: r, when: {path: /b}, key: all, limit: 1/minute}]`, burst, []string{"Rule r matched no request", "No rule with a key decided"}, nil},
		"several limits":     {`rules: [{name: r, key: all, limits: [{name: a, capacity: 9, window: 1m}, {name: b, capacity: 90, window: 1h}]}]`, burst, []string{"No rule has a single limit"}, []string{`id="step"`}},
		"a candidate": {
			`rules: [{name: r, key: all, limits: [{capacity: 3, window: 1m, candidate: 2}]}]`, burst, []string{"Candidate capacities", "r 2 0"}, nil,
		},
		"no request":       {two, "", []string{"no requests"}, nil},
		"unreadable lines": {two, burst + "{}\n", []string{"1 line could not be read", "log:6: no path"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			page := run(t, tc.document, tc.log).page
			text := regexp.MustCompile(`\s+`).ReplaceAllString(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			for _, lacks := range tc.lacks {
				if strings.Contains(page, lacks) {
					t.Errorf("the page has %q", lacks)
				}
			}
		})
	}
}

// A replay on DynamoDB has counted its calls, and has no bill.
func TestPageOfATable(t *testing.T) {
	m := run(t, threeRules, traffic())
	writes := int64(12345)
	m.totals.Writes, m.recording.Own.Writes = &writes, nil
	var page strings.Builder
	if err := report.Write(&page, report.Source{}, m.totals, m.recording); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "<dd>12,345</dd>") || strings.Contains(page.String(), "What it costs") {
		t.Error("the page lacks the writes, or has a bill")
	}
}

// TestPageOfFewThings: what a log or the rules cannot show is said, and nothing
// else.
func TestPageOfFewThings(t *testing.T) {
	const rule = `rules: [{name: per-ip, key: "ip:{ip}", limit: %s}]`
	one := `{"time": "2026-05-04T09:00:00Z", "path": "/", "ip": "192.0.2.1"}`
	for name, tt := range map[string]struct {
		limit, log string
		want, not  []string
	}{
		"an empty log": {"4/minute", "", []string{"The log has no requests.", "<br>no requests</p>"},
			[]string{"0001-01-01", "covered nothing", "The log spans", "no statuses"}},
		"one request": {"4/minute", one, []string{"The log spans 0s.", ">1 of 4<"}, []string{"no requests.", "NaN", "Inf"}},
		"a calendar":  {"{capacity: 50, window: 1mo, algorithm: fixed_window}", one, []string{">50 per 1mo, fixed window<"}, []string{"720h"}},
		"a bucket": {"{capacity: 50, window: 1h, algorithm: token_bucket, burst: 9}", one, []string{">50 per 1h, burst 9, token bucket<"},
			[]string{"No rule has a single limit"}},
	} {
		page := run(t, fmt.Sprintf(rule, tt.limit), tt.log).page
		for _, want := range tt.want {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q", name, want)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(page, not) {
				t.Errorf("the page of %s has %q", name, not)
			}
		}
	}
}

// TestCount: each charge that is made is a write of the units that its counter
// takes, and a denial that the store proves is none. The month has twice as many.
func TestCount(t *testing.T) {
	for document, want := range map[string]float64{
		`{name: a, key: "ip:{ip}", limit: 9/minute}, {name: b, counter: c, key: all, limit: 1/minute}`:              2 + 2,
		`{name: a, key: all, limit: 2/minute, atomic: true}, {name: b, key: b, limit: 9/minute, atomic: true}`:      4*2 + 4*2,
		`{name: a, key: all, limit: 9/minute, cost: 0}, {name: b, key: all, limit: 1/minute, mode: shadow}`:         2,
		`{name: a, key: all, limit: 9/minute}, {name: off, key: all, limit: 1/minute, mode: "off"}`:                 6,
		`{name: a, key: all, limits: [{name: m, capacity: 500, window: 1m}, {name: h, capacity: 500, window: 1h}]}`: 6 * 2,
		`{name: a, key: all, limit: {algorithm: sliding_window_log, capacity: 500, window: 1m}}`:                    6 * 4,
	} {
		s, err := rulefile.Parse("rules.yaml", []byte("rules: ["+document+"]"))
		if err != nil {
			t.Fatal(err)
		}
		counted := report.Count(memory.New(0), s)
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: s}, Store: counted, Local: memory.New(0)})
		for range 3 {
			req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")}
			if _, err := e.Decide(t.Context(), time.Unix(1e9, 0), req); err != nil {
				t.Fatal(err)
			}
		}
		if got := cost.NewBill(cost.Standard(), false, counted.Traffic(6, 0, 2)).Writes; got != want {
			t.Errorf("%s: %g, want %g", document, got, want)
		}
	}
}

// TestKeysOfAFlood: keys beyond a number are counted together, by the rules as they
// are in every scenario, and the page says so. It has keys as people write them.
func TestKeysOfAFlood(t *testing.T) {
	const document = "rules:\n  - {name: per-ip, key: \"ip:{ip/128}\", limit: 2/minute}\n"
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := engineOf(set)
	half, err := rulefile.Parse("rules.yaml", []byte(strings.Replace(document, "2/minute", "1/minute", 1)))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := engineOf(half)
	r := report.NewRecording(set)
	r.MaxKeys, r.Others = 4, []*report.Scenario{{Name: "half", Engine: other}}
	var log strings.Builder
	for i := range 30 { // three requests of each of ten clients
		fmt.Fprintf(&log, `{"time":%d,"path":"/","ip":"2001:db8::%d"}`+"\n", 1_700_000_000+i, i%10)
	}
	totals := replayed(t, own, set, log.String(), r)
	if r.Own.Totals.Denied != 10 || r.Others[0].Totals.Denied != 4*2+6 {
		t.Errorf("denied %d, and %d at half the limit", r.Own.Totals.Denied, r.Others[0].Totals.Denied)
	}
	var page bytes.Buffer
	if err := report.Write(&page, report.Source{Rules: "rules.yaml"}, totals, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The page keeps the first 4 keys: 18 requests of others count as the rules decided them", "ip:2001:db8::3"} {
		if !strings.Contains(html.UnescapeString(page.String()), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
