package rules

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// perIP is a rule as a Go program states it.
func perIP() ruledoc.Rule {
	return ruledoc.Rule{Name: "per-ip", Key: "ip:{ip}", Limits: []ruledoc.Limit{{Capacity: 10, Window: "60s"}}}
}

func TestCompileOfAProgram(t *testing.T) {
	d := &ruledoc.Document{Rules: []ruledoc.Rule{perIP()}}
	s, problems := Compile(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if r := s.Rules[0]; item(r, "k") != "per-ip|k|9e0c8586" || s.Instances != 20 || r.OnError != OnErrorLocal {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(&ruledoc.Document{Rules: []ruledoc.Rule{perIP()}}, d); diff != "" {
		t.Errorf("Compile changes the document (-before +after):\n%s", diff)
	}
}

// Compile also checks documents that no decoder has checked before.
func TestProblemsOfAProgram(t *testing.T) {
	rule := func(change func(*ruledoc.Rule)) *ruledoc.Document {
		r := perIP()
		change(&r)
		return &ruledoc.Document{Rules: []ruledoc.Rule{r}}
	}
	limit := func(change func(*ruledoc.Limit)) *ruledoc.Document {
		return rule(func(r *ruledoc.Rule) { change(&r.Limits[0]) })
	}
	for _, tt := range []struct {
		document *ruledoc.Document
		want     string
	}{
		{nil, "rules: is missing: write rules: [] if the document should limit nothing"},
		{&ruledoc.Document{}, "rules: is missing: write rules: [] if the document should limit nothing"},
		{&ruledoc.Document{Rules: []ruledoc.Rule{}, Unmatched: "maybe"}, `unmatched: unknown value "maybe": write allow or deny`},
		{&ruledoc.Document{Rules: []ruledoc.Rule{}, Defaults: &ruledoc.Defaults{Instances: -1}}, "defaults.instances: -1 is out of range: write a number from 1 to 2147483647"},
		{&ruledoc.Document{Rules: []ruledoc.Rule{}, Deny: []ruledoc.Selector{{}}}, "deny[0]: is empty and would match every request: write which ones it is for"},
		{&ruledoc.Document{Rules: []ruledoc.Rule{}, Deny: []ruledoc.Selector{{Methods: ruledoc.Texts{}}}}, "deny[0].methods: is empty: write a value or remove it"},
		{rule(func(r *ruledoc.Rule) { r.Name = "" }), "rules[0].name: is missing: write one that no other rule has, such as name: per-ip"},
		{rule(func(r *ruledoc.Rule) { r.Name = "deny" }), `rules[0].name: "deny" stands for the deny list in responses: write another name`},
		{rule(func(r *ruledoc.Rule) { r.Key = "" }), `rules[0].key: is missing: write what to count by, such as key: "ip:{ip}"`},
		{rule(func(r *ruledoc.Rule) { r.Limits = nil }), "rules[0].limits: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]"},
		{rule(func(r *ruledoc.Rule) { r.Limits = []ruledoc.Limit{} }), "rules[0].limits: holds 0 limits: write 1 to 8"},
		{rule(func(r *ruledoc.Rule) {
			r.Limits = append(r.Limits, ruledoc.Limit{Name: r.Limits[0].Name, Capacity: 1, Window: r.Limits[0].Window})
		}), `rules[0].limits[1].name: "per-minute" is the name of rules[0].limits[0] too: write a name of its own, such as {name: burst, capacity: 20, window: 1s}`},
		{rule(func(r *ruledoc.Rule) { r.Limit = &ruledoc.Limit{Capacity: 1, Window: "1s"} }),
			"rules[0].limit: stands beside limits: write all of them in limits, or remove one of the two"},
		{rule(func(r *ruledoc.Rule) { r.Limit, r.Limits = &ruledoc.Limit{Capacity: 1, Window: "60"}, nil }), "rules[0].limit.window: needs a unit: write 60s for seconds"},
		{rule(func(r *ruledoc.Rule) { r.Mode = "on" }), `rules[0].mode: unknown value "on": write enforce, shadow or off`},
		{rule(func(r *ruledoc.Rule) { r.RefundOn = ruledoc.Statuses{"0x10"} }), `rules[0].refund_on[0]: "0x10" is no status: write a number such as 404, or a class such as 5xx`},
		{rule(func(r *ruledoc.Rule) { r.RefundOn = ruledoc.Statuses{"600"} }), "rules[0].refund_on[0]: 600 is out of range: write a number from 100 to 599"},
		{rule(func(r *ruledoc.Rule) { r.Cost = &ruledoc.Cost{Units: -1} }), "rules[0].cost: -1 is out of range: write a number from 0 to 999999999999999"},
		{rule(func(r *ruledoc.Rule) { r.Cost = &ruledoc.Cost{From: "jwt.n"} }),
			"rules[0].cost.max: is missing: write the most that a request may cost, which is charged if the stated cost is missing or unreadable"},
		{limit(func(l *ruledoc.Limit) { l.Capacity = 0 }), "rules[0].limits[0].capacity: is missing: write how many units a window allows, such as capacity: 100"},
		{limit(func(l *ruledoc.Limit) { l.Capacity = 1e15 }), "rules[0].limits[0].capacity: 1000000000000000 is out of range: write a number from 1 to 999999999999999"},
		{limit(func(l *ruledoc.Limit) { l.Window = "60" }), "rules[0].limits[0].window: needs a unit: write 60s for seconds"},
		{limit(func(l *ruledoc.Limit) { l.Algorithm = "leaky" }),
			`rules[0].limits[0].algorithm: unknown value "leaky": write sliding_window, fixed_window, sliding_window_counter, sliding_window_log, token_bucket or leaky_bucket`},
		{limit(func(l *ruledoc.Limit) { l.Candidate = &ruledoc.Candidate{} }), "rules[0].limits[0].candidate: 0 is out of range: write a number from 1 to 999999999999999"},
		{limit(func(l *ruledoc.Limit) { l.Candidate = &ruledoc.Candidate{Percent: 1001} }), `rules[0].limits[0].candidate: "1001%" is out of range: write a percentage from 1% to 1000%`},
		{limit(func(l *ruledoc.Limit) { l.Window, l.Anchor = "1mo", &ruledoc.Anchor{} }), "rules[0].limits[0].anchor: 0 is out of range: write a number from 1 to 31"},
	} {
		s, problems := Compile(tt.document)
		if s != nil || len(problems) != 1 || problems[0].String() != tt.want {
			t.Errorf("got %v\nwant %s", problems, tt.want)
		}
	}
}

// TestCompileWith: limits of Go programs compile to what the same limits compile
// to in a document, so both share their counters.
func TestCompileWith(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day, second := 15, time.Second
	for _, test := range []struct {
		name  string
		goes  []GoLimit
		texts []ruledoc.Limit
	}{
		{"a window", []GoLimit{{Capacity: 9, Window: time.Minute}}, []ruledoc.Limit{{Capacity: 9, Window: "1m"}}},
		{"slots", []GoLimit{{Capacity: 9, Window: 61 * time.Second, Slots: &second}},
			[]ruledoc.Limit{{Capacity: 9, Window: "61s", Granularity: "1s"}}},
		{"a log", []GoLimit{{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Minute}},
			[]ruledoc.Limit{{Algorithm: "sliding_window_log", Capacity: 9, Window: "1m"}}},
		{"a counter", []GoLimit{{Algorithm: limit.SlidingWindowCounter, Capacity: 9, Window: 7 * time.Minute}},
			[]ruledoc.Limit{{Algorithm: "sliding_window_counter", Capacity: 9, Window: "7m"}}},
		{"buckets in the order of their names", []GoLimit{
			{Algorithm: limit.TokenBucket, Capacity: 9, Size: 50, Window: time.Second},
			{Algorithm: limit.LeakyBucket, Capacity: 9, Window: time.Hour},
			{Name: "a", Algorithm: limit.LeakyBucket, Capacity: 9, Size: 2, Window: 24 * time.Hour},
		}, []ruledoc.Limit{
			{Algorithm: "token_bucket", Capacity: 9, Burst: 50, Window: "1s"},
			{Algorithm: "leaky_bucket", Capacity: 9, Window: "1h"},
			{Name: "a", Algorithm: "leaky_bucket", Capacity: 9, Queue: 2, Window: "1d"},
		}},
		{"calendars, and days of UTC without one", []GoLimit{
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: time.UTC},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: berlin, Name: "berlin"},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: time.UTC, Unit: limit.Week},
			{Algorithm: limit.FixedWindow, Capacity: 9, Zone: berlin, Unit: limit.Month, Anchor: &day},
		}, []ruledoc.Limit{
			{Algorithm: "fixed_window", Capacity: 9, Window: "1d", Timezone: "UTC"},
			{Algorithm: "fixed_window", Capacity: 9, Window: "1d", Timezone: "Europe/Berlin", Name: "berlin"},
			{Capacity: 9, Window: "1w"},
			{Capacity: 9, Window: "1mo", Timezone: "Europe/Berlin", Anchor: &ruledoc.Anchor{Day: 15}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			document := func(limits []ruledoc.Limit) *ruledoc.Document {
				return &ruledoc.Document{Rules: []ruledoc.Rule{{Name: "r", Key: "ip:{ip}", Limits: limits}}}
			}
			got, problems := CompileWith(document(nil), [][]GoLimit{test.goes})
			want, others := Compile(document(test.texts))
			if len(problems)+len(others) > 0 {
				t.Fatal(problems, others)
			}
			g, w := got.Rules[0], want.Rules[0]
			if !reflect.DeepEqual(g.Limits, w.Limits) || !reflect.DeepEqual(g.Costs, w.Costs) || !reflect.DeepEqual(g.Places, w.Places) {
				t.Errorf("got  %+v %v %v\nwant %+v %v %v", g.Limits, g.Costs, g.Places, w.Limits, w.Costs, w.Places)
			}
		})
	}
}

func TestCompileAddress(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   request.ClientAddress
	}{
		{"{trusted_hops: 0}", request.ClientAddress{}},
		{"{trusted_hops: 32}", request.ClientAddress{Hops: 32}},
		{"{trusted_hops: 2, header: Forwarded}", request.ClientAddress{Hops: 2, Header: request.Forwarded}},
		{"{header: CF-Connecting-IP, secret: {header: X-Origin, env: ORIGIN_SECRET}}",
			request.ClientAddress{Header: "cf-connecting-ip", SecretHeader: "x-origin", SecretEnv: "ORIGIN_SECRET"}},
	} {
		if got := parse(t, "{rules: [], client_ip: "+tt.fields+"}").address; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.fields, got, tt.want)
		}
	}
}

const threePlans = `
plan: {from: jwt.plan}
plans:
  pro: {api: 6000, chat: {tokens: 90000}, upload: 50, steady: 50, only: {hour: 7}, clamped: 500}
  enterprise: {api: unlimited, chat: {requests: 600, tokens: 900000}}
  "price_1Hx free": {}
rules:
- {name: api, key: k, limits: [{capacity: 100, window: 60s}]}
- {name: chat, key: k, limits: [{name: requests, capacity: 10, window: 60s}, {name: tokens, capacity: 4000, window: 60s}]}
- {name: upload, key: k, limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]}
- {name: steady, key: k, limits: [{algorithm: token_bucket, capacity: 10, window: 1s, burst: 5}]}
- {name: only, key: k, limits: [{name: hour, capacity: 10, window: 1h}]}
- {name: clamped, key: k, cost: 60, limits: [{capacity: 50, window: 1h, over: clamp}]}
`

func TestPlans(t *testing.T) {
	s := parse(t, threePlans)
	if diff := cmp.Diff([]string{"enterprise", "price_1Hx free", "pro"}, s.plans); diff != "" {
		t.Errorf("plans (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ rule, plan, want string }{
		{"api", "pro", "6000/1m0s cost 1"},
		{"api", "price_1Hx free", "100/1m0s cost 1"},
		{"chat", "pro", "requests 10/1m0s cost 1, tokens 90000/1m0s cost 1"},
		{"chat", "enterprise", "requests 600/1m0s cost 1, tokens 900000/1m0s cost 1"},
		{"only", "pro", "hour 7/1h0m0s cost 1"},
		{"only", "enterprise", "hour 10/1h0m0s cost 1"},
		{"clamped", "", "50/1h0m0s cost 50"},
		{"clamped", "pro", "500/1h0m0s cost 60"}, // a plan that raises a limit raises what a clamped cost takes
	} {
		r, _ := s.Rule(tt.rule)
		terms := r.Terms(&request.Request{}, tt.plan, nil, time.Time{})
		if got := describeTerms(terms); got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.rule, tt.plan, got, tt.want)
		}
		if before := own(r); r.Item("k", terms) != r.Item("k", before) {
			t.Errorf("%s on %s is another counter", tt.rule, tt.plan)
		}
	}
	bursts := func(rule string) (own, pro int64) {
		r, _ := s.Rule(rule)
		terms := r.Terms(&request.Request{}, "pro", nil, time.Time{})
		return r.Limits[0].Burst, terms.Limits[0].Burst
	}
	if own, pro := bursts("upload"); own != 10 || pro != 50 {
		t.Errorf("a burst that follows its capacity goes from %d to %d", own, pro)
	}
	if own, pro := bursts("steady"); own != 5 || pro != 5 {
		t.Errorf("a burst of its own goes from %d to %d", own, pro)
	}
	api, _ := s.Rule("api")
	if terms := api.Terms(&request.Request{}, "enterprise", nil, time.Time{}); !terms.Unlimited {
		t.Error("api is limited for enterprise")
	}
}
