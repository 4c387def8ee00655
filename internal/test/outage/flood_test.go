package outage_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

var wide = flag.Bool("wide", false, "flood a rule with a million made-up keys, not 200,000, as make test-wide does")

// newEngine returns an engine of a rules file.
func newEngine(t *testing.T, document string, o engine.Options) *engine.Engine {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	o.Rules = engine.Fixed{Set: set}
	return app.NewEngine(o)
}

// requestOf returns a request with a key in a header.
func requestOf(path, key string) *request.Request {
	return &request.Request{Method: "GET", Path: path, Headers: map[string][]string{"key": {key}}}
}

// allowed reports whether a request with a key is allowed.
func allowed(t *testing.T, e *engine.Engine, now time.Time, key string) bool {
	t.Helper()
	d, err := e.Decide(context.Background(), now, requestOf("/", key))
	if err != nil {
		t.Fatal(err)
	}
	return d.Allowed
}

var epoch = time.Unix(1_700_000_040, 0)

// overrides answers each lookup of a key.
type overrides func(rule, key string) (*rules.Override, error)

func (o overrides) Override(_ context.Context, _ time.Time, rule, key string) (*rules.Override, error) {
	return o(rule, key)
}

// TestFloodOfFailures sends 1,000 requests a second for half a minute, each with
// another key, while the store does not answer, no override is readable, or none
// fits its rule. A line at once and one in ten seconds stand for all failures,
// although the text of each differs.
func TestFloodOfFailures(t *testing.T) {
	const requests = 30_000
	calls := 0
	throttled := func(*fakestore.Call) error {
		calls++
		return fmt.Errorf("table counters: %w (%w)", dynamo.ErrThrottled, fmt.Errorf("RequestID: %d", calls))
	}
	for action, o := range map[string]engine.Options{
		"on_error: allow": {Store: fakestore.New(throttled)},
		"read override: allow": {Store: memory.New(0), Overrides: overrides(func(_, key string) (*rules.Override, error) {
			return nil, fmt.Errorf("%w: key %s:1:2: capacty: unknown field", ruletable.ErrUnreadable, key)
		})},
		"": {Store: memory.New(0), Overrides: overrides(func(string, string) (*rules.Override, error) {
			return &rules.Override{Capacity: map[string]int64{"other": 1}}, nil
		})},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			observer := oplog.NewObserver(slog.New(slog.NewJSONHandler(&log, nil)))
			o.Observer = observer
			e := newEngine(t, `rules: [{name: api, key: "{header.key}", overrides: true, on_error: allow, limit: 4/minute}]`, o)
			for n := range requests {
				allowed(t, e, time.Now(), fmt.Sprint("k", n))
				time.Sleep(time.Millisecond)
			}
			observer.Flush(context.Background())
			type line struct {
				Action, Rule, Key string
				Suppressed        int
			}
			var lines []line
			count := 0
			for scan := bufio.NewScanner(&log.Buffer); scan.Scan(); {
				var l line
				if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
					t.Fatal(err)
				}
				lines, count = append(lines, l), count+1+l.Suppressed
			}
			first, last := line{action, "api", "k0", 0}, fmt.Sprint("k", requests-1)
			if count != requests || len(lines) != 4 || lines[0] != first || lines[3].Key != last {
				t.Errorf("%q: %d lines for %d failures, want 4 for %d: %+v", action, len(lines), count, requests, lines)
			}
		})
	}
}

// TestFloodInAnOutage: 80,000 made-up keys in an outage fill half of the local
// counters. Callers whom the store has admitted before still find room, and each
// gets its share once, as on_error: local promises.
func TestFloodInAnOutage(t *testing.T) {
	const callers, flood, share = 1000, 80_000, 2
	local := app.NewLocal(func() time.Time { return epoch })
	for name, o := range map[string]engine.Options{"the Lambda": {}, "serve": {Local: local, Admitted: local.Note}} {
		store := fakestore.New(nil)
		o.Store, o.Observer = store, engine.NoObserver{}
		e := newEngine(t, `
defaults: {instances: 10}
rules: [{name: api, key: "{header.key}", limit: 20/minute}]`, o)
		count := func(kind string, keys int) (n int) {
			for i := range keys {
				if allowed(t, e, epoch, fmt.Sprint(kind, i)) {
					n++
				}
			}
			return n
		}
		if n := count("caller", callers); n != callers {
			t.Fatalf("%s: %d of %d callers are allowed before", name, n, callers)
		}
		store.Hook = fakestore.Fail(errors.New("no answer"))
		if n := count("flood", flood); n > 25_000 || n < 20_000 {
			t.Errorf("%s: %d made-up keys found room, want half of 50,000", name, n)
		}
		if n := count("newcomer", 100); n != 0 {
			t.Errorf("%s: %d newcomers found room after the flood", name, n)
		}
		for round := range share + 1 {
			n := count("caller", callers)
			if round < share && n < callers*98/100 || round == share && n > 0 {
				t.Errorf("%s: round %d: %d of %d callers are allowed, and a share is %d", name, round, n, callers, share)
			}
		}
	}
}

// TestMadeUpKeys floods a rule with made-up keys for a minute. Limited clients
// stay limited, memory stays bounded, and after the minute all clients are
// allowed again.
func TestMadeUpKeys(t *testing.T) {
	const bound = 20_000
	flood := 200_000
	if *wide {
		flood = 1_000_000
	}
	const document = `rules: [{name: user, key: "{header.key}", limit: 1/minute}]`
	e := newEngine(t, document, engine.Options{Store: memory.New(bound)})
	at := func(after time.Duration, key string) bool { return allowed(t, e, epoch.Add(after), key) }
	if !at(0, "victim") || at(0, "victim") {
		t.Fatal("want one request allowed, and the second denied")
	}
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	admitted := 0
	for i := range flood {
		if at(time.Duration(i)*59*time.Second/time.Duration(flood), fmt.Sprintf("%x", random.Uint64())) {
			admitted++
		}
	}
	if admitted > bound {
		t.Errorf("%d made-up keys were admitted: the bound is %d", admitted, bound)
	}
	if grown := heap() - before; grown > bound*1000 {
		t.Errorf("memory grew by %d bytes: more than a kilobyte for each of %d keys", grown, bound)
	}
	if at(59*time.Second, "victim") {
		t.Error("after the flood, a limited client is allowed again")
	}
	if !at(122*time.Second, "victim") || !at(122*time.Second, "another") {
		t.Error("a minute later, clients are denied")
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
