package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

// BenchmarkRules decides a request that one of a thousand rules covers, by
// route, plan and override of the document, beside the same rule alone, and the
// store's call by itself.
func BenchmarkRules(b *testing.B) {
	request := request.Request{
		Method: "GET", Path: "/v1/service-777/items/42", IP: netip.MustParseAddr("203.0.113.9"),
		Claims: map[string]any{"sub": "7", "plan": "pro"},
	}
	for _, n := range []int{1, 100, 1000} {
		set := thousand(b, n)
		log := slog.New(slog.DiscardHandler)
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Recorder: recorder.New(log)})
		b.Run(fmt.Sprintf("of-%d/slidegate", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := request
				if d, err := e.Decide(context.Background(), epoch, &req); err != nil || !d.Allowed || len(d.Verdicts) != 1 {
					b.Fatal(d, err)
				}
			}
		})
		b.Run(fmt.Sprintf("of-%d/match-alone", n), func(b *testing.B) {
			b.ReportAllocs()
			var matched [4]*rules.Rule
			for b.Loop() {
				req := request
				if got := set.Match(matched[:0], &req); len(got) != 1 {
					b.Fatal(got)
				}
			}
		})
		b.Run(fmt.Sprintf("of-%d/bare", n), func(b *testing.B) {
			b.ReportAllocs()
			store, rule := memory.New(0), set.Rules[len(set.Rules)-1]
			terms := rule.Terms(&request, "pro", nil, epoch)
			c := &limit.Charge{Key: rule.Item("user:7", terms), Limits: terms.Limits, Costs: terms.Costs}
			var v limit.Verdict
			for b.Loop() {
				if err := store.Charge(context.Background(), epoch, c, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// thousand returns a document of n rules, the last of which covers the request
// of the benchmark.
func thousand(b *testing.B, n int) *rules.Set {
	b.Helper()
	var text strings.Builder
	text.WriteString("plan: {from: jwt.plan}\nplans:\n  pro:\n")
	for i := range n {
		fmt.Fprintf(&text, "    service-%d: 4000000000\n", 777+(i+1)%n)
	}
	text.WriteString("rules:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: service-%d, when: {methods: [GET], path: /v1/service-%[1]d/**, caller: known}, "+
			"key: 'user:{jwt.sub}', limits: [{capacity: 1000000000, window: 60s}]}\n", 777+(i+1)%n)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	return set
}
