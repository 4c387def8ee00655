package receipt_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var agreementSeed = flag.Uint64("agreement.seed", 0, "draw the traffic of TestAgreesWithTheEngine by this seed; 0 for a new one")

var epoch = time.Unix(1_700_000_040, 0)

// quiet fails the test for a correction that fails.
type quiet struct {
	engine.NoObserver
	t *testing.T
}

func (q quiet) StoreFailed(_ context.Context, action, rule, key string, err error) {
	q.t.Errorf("%s %s %s: %v", action, rule, key, err)
}

func compile(t *testing.T, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return set
}

// randomRules draws a document of rules that settle, refund, do both or neither.
func randomRules(r *rand.Rand) string {
	var text strings.Builder
	text.WriteString("rules:\n")
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&text, "  - {name: rule-%d, key: %q, mode: %s", i, one("all", "user:{header.x-user}"), one("enforce", "enforce", "shadow"))
		if r.IntN(2) == 0 {
			fmt.Fprintf(&text, ", refund_on: %s", one("5xx", "[404, 4xx]", "[200, 503]"))
		}
		text.WriteString(", limits: [")
		for j := range 1 + r.IntN(3) {
			fmt.Fprintf(&text, "{name: l%d, capacity: %d, ", j, 10+r.IntN(50))
			text.WriteString(one(
				"window: 60s", "window: 1m, granularity: 10s", "window: 1mo, timezone: Europe/Berlin, algorithm: fixed_window, anchor: 5",
				"window: 1h, algorithm: fixed_window", "window: 60s, algorithm: sliding_window_counter",
			))
			text.WriteString(one("", ", cost: 2", ", cost: 0", ", over: clamp, cost: {from: header.x-tokens, min: 1, max: 20, settle: true, weights: {in: 0.3, out: 1.5}}",
				", cost: {from: header.x-tokens, min: 1, max: 10, settle: true, weights: {in: 1, other: 0.000001}}"))
			text.WriteString("}, ")
		}
		text.WriteString("]}\n")
	}
	text.WriteString("  - {name: bucket, key: all, limits: [{capacity: 1000, window: 60s, algorithm: token_bucket}]}\n")
	return text.String()
}

// TestAgreesWithTheEngine settles random outcomes by the engine that decided, and
// by receipts. The counters stay equal.
func TestAgreesWithTheEngine(t *testing.T) {
	seed := *agreementSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-agreement.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		document := randomRules(r)
		set := compile(t, document)
		stores := [2]*memory.Store{memory.New(0), memory.New(0)}
		var engines [2]*engine.Engine
		for i := range engines {
			engines[i] = engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: stores[i], Local: stores[i], Observer: quiet{t: t}})
		}
		settler := receipt.NewSettler(stores[1], nil, quiet{t: t})
		now := epoch
		for range 30 {
			now = now.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
			req := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{
				"x-user": {fmt.Sprint(r.IntN(2))}, "x-tokens": {fmt.Sprint(r.IntN(12))},
			}}
			var ds [2]*engine.Decision
			for i, e := range engines {
				d, err := e.Decide(t.Context(), now, req)
				if err != nil {
					t.Fatal(err)
				}
				ds[i] = d
			}
			text, _, left := receipt.Encode(now, ds[1])
			if left != nil {
				t.Fatalf("left out %v of\n%s", left, document)
			}
			if !ds[1].Allowed {
				if text != "" {
					t.Fatalf("a denial has the receipt %s", text)
				}
				continue
			}
			after := now.Add(time.Duration(r.Int64N(int64(90 * time.Second))))
			o := randomOutcome(r, ds[0])
			engines[0].Finish(t.Context(), after, ds[0], o)
			if text != "" {
				got, err := settler.Take(text, now)
				if err != nil {
					t.Fatal(err)
				}
				settler.Finish(t.Context(), after, got, o)
				settler.Finish(t.Context(), after, got, o)
			}
			compare(t, stores, ds[0], after, document)
		}
	}
}

func randomOutcome(r *rand.Rand, d *engine.Decision) *engine.Outcome {
	o := &engine.Outcome{Status: []int{0, 200, 404, 500, 503}[r.IntN(5)], Aborted: r.IntN(4) == 0}
	if r.IntN(3) == 0 {
		o.Usage = map[string]int64{"in": r.Int64N(20), "out": r.Int64N(20)}
		return o
	}
	for _, name := range d.SettlingLimits() {
		if r.IntN(3) > 0 {
			if o.Costs == nil {
				o.Costs = map[string]int64{}
			}
			o.Costs[name] = r.Int64N(30)
		}
	}
	return o
}

func compare(t *testing.T, stores [2]*memory.Store, d *engine.Decision, now time.Time, document string) {
	t.Helper()
	for _, vs := range [][]engine.Verdict{d.Verdicts, d.Shadows} {
		for i := range vs {
			c := vs[i].Charge
			c.Costs = make([]int64, len(c.Limits))
			for _, later := range []time.Duration{0, 30 * time.Second, time.Hour} {
				var got [2]limit.Verdict
				for j, store := range stores {
					if err := store.Peek(t.Context(), now.Add(later), &c, &got[j]); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(got[0].Limits, got[1].Limits) {
					t.Fatalf("%s, %v later:\nengine  %+v\nreceipt %+v\n%s", c.Key, later, got[0].Limits, got[1].Limits, document)
				}
			}
		}
	}
}
