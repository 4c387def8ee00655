package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// amounts are a usage or an invoice, by name.
type amounts = map[string]int64

// weighed returns a charge of nothing whose limit chat settles by the weights of a
// rules file.
func weighed(t testing.TB, weights string) *engine.Pending {
	set := parse(t, "rules: [{name: chat, key: all, limits: [{capacity: 9, window: 60s, cost: {from: jwt.n, max: 9, settle: true, weights: {"+weights+"}}}]}]")
	p := &engine.Pending{Rule: "chat", Charge: limit.Charge{Key: "chat|user:7|shape", Limits: set.Rules[0].Limits, Costs: []int64{0}}}
	p.Weights[0] = set.Rules[0].Costs[0].Weights
	return p
}

// costOf returns what a pending charge of nothing is settled at.
func costOf(p *engine.Pending, o *engine.Outcome) (units int64, err error) {
	if err := engine.CheckUsage([]engine.Pending{*p}, o); err != nil {
		return 0, err
	}
	store := fakestore.New(nil) // without the counter, so it only records the settlement
	_ = p.Settle(context.Background(), epoch, store, engine.NoObserver{}, o)
	for _, c := range store.Calls(fakestore.Settle) {
		units = c.Deltas[0]
	}
	return units, nil
}

// TestBills: a unit is a thousandth of a cent, and the prices are made up.
func TestBills(t *testing.T) {
	const (
		bedrock   = "inputTokens: 0.3, outputTokens: 1.5, cacheReadInputTokens: 0.03, cacheWriteInputTokens: 0.375"
		anthropic = "input_tokens: 0.3, output_tokens: 1.5, cache_read_input_tokens: 0.03, cache_creation_input_tokens: 0.375"
		openai    = "input_tokens: 0.25, cached_tokens: 0.025, output_tokens: 2"
		most      = limit.MaxCapacity
	)
	for _, b := range []struct {
		name, weights string
		usage         amounts
		units         int64
	}{
		{"Bedrock", bedrock, amounts{"inputTokens": 1200, "outputTokens": 350}, 360 + 525},
		{"Bedrock, with its cache", bedrock, amounts{"inputTokens": 1200, "outputTokens": 350, "cacheReadInputTokens": 8000, "cacheWriteInputTokens": 2000}, 360 + 525 + 240 + 750},
		{"Anthropic, 243.6 and 60", anthropic, amounts{"input_tokens": 812, "output_tokens": 40, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}, 304},
		{"Anthropic, from its cache", anthropic, amounts{"input_tokens": 10, "output_tokens": 100, "cache_read_input_tokens": 50_000}, 3 + 150 + 1500},
		{"OpenAI, 1000 of them cached", openai, amounts{"input_tokens": 1200 - 1000, "cached_tokens": 1000, "output_tokens": 100}, 50 + 25 + 200},
		{"the prices of another cache", "input_tokens: 1, output_tokens: 5, cache_read_input_tokens: 0.1, other: 5", amounts{"input_tokens": 812, "output_tokens": 40}, 1012},
		{"nothing used", "tokens: 3", amounts{"tokens": 0}, 0},
		{"a name that is free", "tokens: 1, cached: 0", amounts{"tokens": 3, "cached": 999}, 3},
		{"rounded up once, 0.8", "a: 0.4, b: 0.4", amounts{"a": 1, "b": 1}, 1},
		{"rounded up once, 1.2", "a: 0.4, b: 0.4", amounts{"a": 1, "b": 2}, 2},
		{"exactly one", "a: 0.999999, b: 0.000001", amounts{"a": 1, "b": 1}, 1},
		{"a millionth above one", "a: 0.999999, b: 0.000001", amounts{"a": 1, "b": 2}, 2},
		{"the least of a unit", "a: 0.000001", amounts{"a": 1}, 1},
		{"ten thirds", "a: 3.333333", amounts{"a": 3}, 10},
		{"other names", "a: 1, other: 5", amounts{"a": 1, "b": 10, "c": 100}, 551},
		{"an own weight before that of other", "a: 0, other: 5", amounts{"a": 1000, "b": 1}, 5},
		{"a name that is other", "a: 1, other: 5", amounts{"other": 2}, 10},
		{"images and tokens", "images: 4000, tokens: 0.25", amounts{"images": 2, "tokens": 1_000_001}, 258_001},
		{"the most", "a: 1", amounts{"a": most}, most},
		{"the most, of the most usage", "a: 0.000004", amounts{"a": engine.MaxUsage}, 4_000_000_000},
	} {
		if got, err := costOf(weighed(t, b.weights), &engine.Outcome{Status: 200, Usage: b.usage}); got != b.units || err != nil {
			t.Errorf("%s: %v at %s cost %d, want %d, error %v", b.name, b.usage, b.weights, got, b.units, err)
		}
	}
}

// TestBillsExactly compares with fractions of any size.
func TestBillsExactly(t *testing.T) {
	p := weighed(t, "a: 1")
	bound := new(big.Rat).SetInt64(limit.MaxCapacity)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 1, 9, rapid.ID).Draw(t, "names")
		sum := new(big.Rat)
		p.Weights[0] = rules.Weights{}
		o := &engine.Outcome{Usage: amounts{}}
		number := func(label string, most int64) int64 {
			return min(most, rapid.Int64Range(0, 9).Draw(t, label)+rapid.Int64Range(0, most).Draw(t, label)>>rapid.IntRange(0, 60).Draw(t, label))
		}
		for _, name := range names {
			p.Weights[0][name], o.Usage[name] = number("weight", rules.MaxWeight), number("usage", engine.MaxUsage)
			weight := big.NewRat(p.Weights[0][name], rules.Millionths)
			sum.Add(sum, weight.Mul(weight, new(big.Rat).SetInt64(o.Usage[name])))
		}
		units, err := costOf(p, o)
		if above := sum.Cmp(bound) > 0; (err != nil) != above {
			t.Fatalf("%s units: error %v", sum.FloatString(6), err)
		} else if above {
			return
		}
		got := new(big.Rat).SetInt64(units)
		if less := new(big.Rat).Sub(got, big.NewRat(1, 1)); got.Cmp(sum) < 0 || less.Cmp(sum) >= 0 {
			t.Fatalf("%s units are settled at %d", sum.FloatString(6), units)
		}
	})
}

// TestRefusedUsage: usage that cannot settle names the limit, and what to write.
func TestRefusedUsage(t *testing.T) {
	const range9 = "must be a whole number from 0 to 999999999999999"
	tooMuch := func(units any) string {
		return fmt.Sprintf("the usage costs %v units, above %d, the most that settles: lower the weights or the usage", units, int64(limit.MaxCapacity))
	}
	for _, test := range []struct {
		weights string
		o       engine.Outcome
		name    string
		want    string // after "limit chat: "; "" for none
	}{
		{"a: 1", engine.Outcome{Usage: amounts{"a": -1}}, "a", `usage "a" ` + range9},
		{"a: 1", engine.Outcome{Usage: amounts{"a": engine.MaxUsage + 1}}, "a", `usage "a" ` + range9},
		{"a: 0", engine.Outcome{Usage: amounts{"a": -1 << 63}}, "a", `usage "a" ` + range9},
		{"a: 1", engine.Outcome{Usage: amounts{"b": 0}}, "b",
			`usage "b" has no weight: write one in the limit's cost, 0 if it is free, or one for other, which all names without a weight take`},
		{"a: 1, c: 1", engine.Outcome{Usage: amounts{"a": 1, "d": 1, "B": 1}}, "B",
			`usage "B" has no weight: write one in the limit's cost, 0 if it is free, or one for other, which all names without a weight take`},
		{"a: 1", engine.Outcome{Usage: amounts{strings.Repeat("x\n", 99): 1}}, strings.Repeat("x\n", 99),
			`usage "` + strings.Repeat(`x\n`, 32) + `" has no weight: write one in the limit's cost, 0 if it is free, or one for other, which all names without a weight take`},
		{"a: 1", engine.Outcome{Usage: amounts{"a": 1}, Costs: amounts{"chat": 1}}, "", "it has both a cost and usage: report one of them"},
		{"a: 2", engine.Outcome{Usage: amounts{"a": limit.MaxCapacity/2 + 1}}, "", tooMuch(limit.MaxCapacity/2*2 + 2)},
		{"a: 1000000000, b: 1000000000", engine.Outcome{Usage: amounts{"a": engine.MaxUsage, "b": engine.MaxUsage}}, "",
			tooMuch("1999999999999998000000000")},
		{"a: 1", engine.Outcome{Usage: amounts{}, Costs: amounts{"chat": 1}}, "", ""},
		{"a: 1", engine.Outcome{Usage: amounts{"a": 1}, Costs: amounts{"other": 1}}, "", ""},
		{"a: 1", engine.Outcome{Usage: amounts{"a": 1}, Status: 503, Aborted: true}, "", ""},
	} {
		p := weighed(t, test.weights)
		err := engine.CheckUsage([]engine.Pending{*p}, &test.o)
		if test.want == "" {
			if err != nil {
				t.Errorf("%+v: error %v", test.o, err)
			}
			continue
		}
		wrong, ok := errors.AsType[*engine.UsageError](err)
		if want := (engine.UsageError{Rule: "chat", Key: "user:7", Limit: "chat", Name: test.name, Reason: "limit chat: " + test.want}); !ok || *wrong != want {
			t.Errorf("%+v: error %#v\nwant %#v", test.o, err, want)
		}
	}
}

// TestFinishByUsage: usage settles the limits with weights. If it cannot settle one
// of them, nothing is settled or refunded of any rule.
func TestFinishByUsage(t *testing.T) {
	const document = `
rules:
  - {name: calls, key: all, refund_on: 5xx, limits: [{capacity: 10, window: 60s}]}
  - name: chat
    key: all
    cost: {from: header.x-tokens, min: 100, max: 500, settle: true, weights: {in: 1, out: 1}}
    limits:
      - {name: tokens, capacity: 1000, window: 60s}
      - {name: spend, capacity: 5000, window: 1h, cost: {from: header.x-tokens, min: 100, max: 500, settle: true, weights: {in: 0.5, out: 2.5, other: 0}}}
  - {name: gpu, when: {path: /gpu}, key: all, limits: [{capacity: 1000, window: 60s, cost: {from: header.x-tokens, min: 100, max: 500, settle: true}}]}
  - {name: trial, when: {path: /gpu}, mode: shadow, key: all, limits: [{capacity: 1000, window: 60s, cost: {from: header.x-tokens, max: 500, min: 1, settle: true, weights: {other: 2}}}]}`
	refused := []failure{{"settle", "chat", "all"}}
	for _, test := range []struct {
		name, path string
		outcome    engine.Outcome
		used       []int64 // of calls, chat.spend, chat.tokens, gpu and trial
		failures   []failure
	}{
		{"usage", "/", engine.Outcome{Status: 200, Usage: amounts{"in": 30, "out": 11}}, []int64{1, 43, 41}, nil},
		{"no usage", "/", engine.Outcome{Status: 200, Usage: amounts{}}, []int64{1, 100, 100}, nil},
		{"a refunded status", "/", engine.Outcome{Status: 503, Usage: amounts{"in": 30}}, []int64{0, 15, 30}, nil},
		{"broken off, with usage", "/", engine.Outcome{Aborted: true, Usage: amounts{"in": 30}}, []int64{1, 15, 30}, nil},
		{"a name that one limit takes as other", "/", engine.Outcome{Status: 503, Usage: amounts{"in": 30, "cached": 1}}, []int64{1, 100, 100}, refused},
		{"a cost and usage for one limit", "/", engine.Outcome{Status: 503, Usage: amounts{"in": 30}, Costs: amounts{"chat.tokens": 7}}, []int64{1, 100, 100}, refused},
		{"a negative number", "/", engine.Outcome{Usage: amounts{"in": -1}}, []int64{1, 100, 100}, refused},
		{"a wrong name, broken off", "/", engine.Outcome{Aborted: true, Usage: amounts{"int": 1}}, []int64{1, 100, 100}, refused},
		{"a limit that neither settles", "/gpu", engine.Outcome{Usage: amounts{"in": 30}}, []int64{1, 100, 100, 100, 100}, []failure{{"settle", "gpu", "all"}}},
		{"a cost beside usage", "/gpu", engine.Outcome{Usage: amounts{"in": 30}, Costs: amounts{"gpu": 7}}, []int64{1, 15, 30, 7, 60}, nil},
		{"usage of an answer that broke off", "/gpu", engine.Outcome{Aborted: true, Usage: amounts{"in": 30}}, []int64{1, 15, 30, 500, 60}, nil},
	} {
		b := newFixture(t, document)
		d, err := b.engine.Decide(t.Context(), epoch, &request.Request{Path: test.path, Headers: map[string][]string{"x-tokens": {"100"}}})
		if err != nil || !d.Allowed {
			t.Fatalf("%+v, error %v", d, err)
		}
		b.engine.Finish(t.Context(), epoch.Add(time.Second), d, &test.outcome)
		var used []int64
		for v := range d.All() {
			c := v.Charge
			c.Costs = make([]int64, len(c.Limits))
			var now limit.Verdict
			if err := b.store.Peek(t.Context(), epoch.Add(time.Second), &c, &now); err != nil {
				t.Fatal(err)
			}
			for i := range c.Limits {
				used = append(used, c.Limits[i].Capacity-now.Limits[i].Remaining)
			}
		}
		if !slices.Equal(used, test.used) || !slices.Equal(b.recorder.failures, test.failures) {
			t.Errorf("%s: used %v, want %v; failures %v", test.name, used, test.used, b.recorder.failures)
		}
	}
}

// TestFinishByUsageLocally: what this process counted alone is settled by usage too.
func TestFinishByUsageLocally(t *testing.T) {
	for name, left := range map[string]int64{"in": 19, "on": 12} {
		b := newFixture(t, `
defaults: {instances: 1}
rules: [{name: chat, key: all, limits: [{capacity: 20, window: 60s, cost: {from: jwt.n, max: 8, settle: true, weights: {in: 0.5}}}]}]`)
		b.store.Hook = fakestore.Fail(errDown)
		d := b.decide(t, "/")
		b.recorder.failures = nil
		b.engine.Finish(t.Context(), epoch, d, &engine.Outcome{Usage: amounts{name: 2}})
		if again := b.decide(t, "/"); again.Verdicts[0].Limits[0].Remaining != left-8 || (b.recorder.failures[0].action == "settle") != (name == "on") {
			t.Errorf("usage of %s: %+v, failures %v", name, again.Verdicts[0].Limits, b.recorder.failures)
		}
	}
}
