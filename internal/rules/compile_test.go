package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{rule(func(r *ruledoc.Rule) { r.Cost = &ruledoc.Cost{Units: -1} }), "rules[0].cost: -1 is out of range: write a number from 0 to 4294967295"},
		{rule(func(r *ruledoc.Rule) { r.Cost = &ruledoc.Cost{From: "jwt.n"} }),
			"rules[0].cost.max: is missing: write the most that a request may cost, which is charged if the stated cost is missing or unreadable"},
		{limit(func(l *ruledoc.Limit) { l.Capacity = 0 }), "rules[0].limits[0].capacity: is missing: write how many units a window allows, such as capacity: 100"},
		{limit(func(l *ruledoc.Limit) { l.Capacity = 1 << 32 }), "rules[0].limits[0].capacity: 4294967296 is out of range: write a number from 1 to 4294967295"},
		{limit(func(l *ruledoc.Limit) { l.Window = "60" }), "rules[0].limits[0].window: needs a unit: write 60s for seconds"},
		{limit(func(l *ruledoc.Limit) { l.Algorithm = "leaky" }),
			`rules[0].limits[0].algorithm: unknown value "leaky": write sliding_window, fixed_window, sliding_window_counter, sliding_window_log, token_bucket or leaky_bucket`},
		{limit(func(l *ruledoc.Limit) { l.Candidate = &ruledoc.Candidate{} }), "rules[0].limits[0].candidate: 0 is out of range: write a number from 1 to 4294967295"},
		{limit(func(l *ruledoc.Limit) { l.Candidate = &ruledoc.Candidate{Percent: 1001} }), `rules[0].limits[0].candidate: "1001%" is out of range: write a percentage from 1% to 1000%`},
		{limit(func(l *ruledoc.Limit) { l.Window, l.Anchor = "1mo", &ruledoc.Anchor{} }), "rules[0].limits[0].anchor: 0 is out of range: write a number from 1 to 31"},
	} {
		s, problems := Compile(tt.document)
		if s != nil || len(problems) != 1 || problems[0].String() != tt.want {
			t.Errorf("got %v\nwant %s", problems, tt.want)
		}
	}
}

// BenchmarkCompile compiles ten thousand overrides, without a file.
func BenchmarkCompile(b *testing.B) {
	_, d, err := compileText("f", []byte(manyOverrides(10_000)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Compile(d); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
