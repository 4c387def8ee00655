package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// traffic is a stream of requests, the same for the same seed. Those of each key
// are a Poisson process.
type traffic struct {
	seed uint64
	keys int
	rate float64 // requests per second, of each key
	span time.Duration
}

// jsonl returns the stream as a log, in the order of time.
func (tr traffic) jsonl() string {
	random := rand.New(rand.NewPCG(tr.seed, 0))
	gap := func() time.Duration { return time.Duration(random.ExpFloat64() / tr.rate * float64(time.Second)) }
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	next := make([]time.Time, tr.keys) // request of each key
	for key := range next {
		next[key] = start.Add(gap())
	}
	var b strings.Builder
	for {
		at := slices.MinFunc(next, time.Time.Compare)
		if !at.Before(start.Add(tr.span)) {
			return b.String()
		}
		key := slices.Index(next, at)
		next[key] = at.Add(gap())
		fmt.Fprintf(&b, `{"time":"%s","path":"/v1/items/%d","headers":{"x-user":"user-%d"}}`+"\n",
			at.Format(time.RFC3339Nano), random.IntN(1000), key)
	}
}

const perUser = "rules: [{name: per-user, key: 'user:{header.x-user}', limits: [{capacity: 100, window: 60s}]}]"

// fleet hands each request to one of several processes at random, as API Gateway
// does. Each has a store with its own snapshots of one table, in the model of
// DynamoDB. fleet checks that a process makes no call for a denial that it can
// prove from its snapshots.
type fleet struct {
	t        testing.TB
	random   *rand.Rand
	set      *rules.Set
	stores   []*dynamo.Store
	engines  []*engine.Engine
	failures Failures
}

func newFleet(t testing.TB, size int, seed uint64) *fleet {
	table := dynamomodel.New("counters", "k")
	f := &fleet{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	for range size {
		store := dynamo.New(table, "counters", dynamo.Options{Wall: time.Now})
		e, set := newEngine(t, perUser, store, &f.failures)
		f.set, f.stores, f.engines = set, append(f.stores, store), append(f.engines, e)
	}
	return f
}

func (f *fleet) Decide(ctx context.Context, now time.Time, req *request.Request) (*engine.Decision, error) {
	i := f.random.IntN(len(f.stores))
	proven := f.proves(i, now, req)
	readsBefore, writesBefore := dynamo.Calls(f.stores[i])
	d, err := f.engines[i].Decide(ctx, now, req)
	if reads, writes := dynamo.Calls(f.stores[i]); proven && (d.Allowed || reads != readsBefore || writes != writesBefore) {
		f.t.Errorf("%v: a provable denial: allowed %v after %d reads and %d writes", now, d.Allowed, reads-readsBefore, writes-writesBefore)
	}
	return d, err
}

// proves reports whether a process can deny the request without a call.
func (f *fleet) proves(i int, now time.Time, req *request.Request) bool {
	rule := f.set.Rules[0]
	terms := rule.Terms(req, "", nil, now)
	item := rule.Item(string(rule.AppendKey(nil, req)), terms)
	var v limit.Verdict
	return f.stores[i].Denies(now, &limit.Charge{Key: item, Limits: terms.Limits, Costs: terms.Costs}, &v)
}

func (f *fleet) calls() (reads, writes int64) {
	for _, s := range f.stores {
		r, w := dynamo.Calls(s)
		reads, writes = reads+r, writes+w
	}
	return reads, writes
}

// The calls of DynamoDB per decision stay within bounds for a limit of 100 in 60
// seconds.
func TestCallsPerDecision(t *testing.T) {
	for _, tc := range []struct {
		name              string
		processes         int
		load              float64 // times the limit
		traffic           traffic
		maxWrites, maxAll float64 // per decision
	}{
		{name: "flood, one process", processes: 1, load: 60, traffic: traffic{seed: 1, keys: 3, span: 3 * time.Minute}, maxWrites: 0.05, maxAll: 0.05},
		{name: "flood, five processes", processes: 5, load: 60, traffic: traffic{seed: 2, keys: 3, span: 3 * time.Minute}, maxWrites: 0.05, maxAll: 0.05},
		{name: "half load, one process", processes: 1, load: 0.5, traffic: traffic{seed: 3, keys: 4, span: 10 * time.Minute}, maxWrites: 1.01, maxAll: 1.01},
		{name: "half load, five processes", processes: 5, load: 0.5, traffic: traffic{seed: 4, keys: 4, span: 10 * time.Minute}, maxWrites: 1.01, maxAll: 1.01},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.traffic.rate = tc.load * 100 / 60
			f := newFleet(t, tc.processes, tc.traffic.seed)
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(tc.traffic.jsonl())}}, Options{Engine: f})
			if err != nil || f.failures.First() != nil {
				t.Fatal(err, f.failures.First())
			}
			reads, writes := f.calls()
			perDecision := func(n int64) float64 { return float64(n) / float64(report.Requests) }
			t.Logf("seed %d: %d requests, %d allowed; per decision %.4f writes, %.4f reads",
				tc.traffic.seed, report.Requests, report.Allowed, perDecision(writes), perDecision(reads))
			if perDecision(writes) > tc.maxWrites || perDecision(reads+writes) > tc.maxAll {
				t.Errorf("seed %d: %.4f writes and %.4f calls per decision; at most %v and %v",
					tc.traffic.seed, perDecision(writes), perDecision(reads+writes), tc.maxWrites, tc.maxAll)
			}
			if flood := tc.load > 1; flood != (report.Denied > report.Allowed) || report.Allowed == 0 {
				t.Errorf("seed %d: %d allowed, %d denied", tc.traffic.seed, report.Allowed, report.Denied)
			}
		})
	}
}
