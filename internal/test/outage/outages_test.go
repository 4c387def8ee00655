package outage_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/internal/test/servers"
)

var measure = flag.Bool("measure", false, "write the tables of docs/failures.md from what the outages measure")

const (
	capacity  = 60
	instances = 4
	// margin is how much longer than the deadline a request may take, beside the
	// machine's own delays. TestDeadlineBoundsTheDecision has the exact bound.
	margin = 10 * time.Millisecond
	// waits is how many requests may wait in an outage: one of each client before
	// the breaker opens, and a probe a second; and once more those that a busy
	// machine holds up. One that holds a goroutine up for the time of stalled says
	// nothing about waits.
	waits   = 2*clients + 2
	stalled = 100 * time.Millisecond
)

// outageRules have one rule for each policy.
const outageRules = `
defaults: {instances: 4}
rules:
  - {name: on-local, when: {path: /local}, key: "{header.key}", on_error: local, limit: 60/minute}
  - {name: on-allow, when: {path: /allow}, key: "{header.key}", on_error: allow, limit: 60/minute}
  - {name: on-deny, when: {path: /deny}, key: "{header.key}", on_error: deny, limit: 60/minute}
`

var policies = []string{"local", "allow", "deny"}

// failure is a way to make a store fail.
type failure struct {
	name       string
	start, end func(t *testing.T, r *rig)
	// forgets says that the store loses its counters: each key may then have its
	// capacity once more.
	forgets bool
}

func fault(name string, f servers.Fault) failure {
	set := func(f servers.Fault) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			if err := r.proxy.Set(f); err != nil {
				t.Error(err)
			}
		}
	}
	return failure{name: name, start: set(f), end: set(servers.Fault{})}
}

// networkFaults lie between a limiter and its store.
var networkFaults = []failure{
	fault("cut", servers.Fault{Refuse: true}),
	fault("delay of 400 ms", servers.Fault{Delay: 400 * time.Millisecond}),
	fault("reset", servers.Fault{Reset: true}),
	fault("1,000 bytes a second", servers.Fault{BytesPerSecond: 1000}),
	fault("blackhole", servers.Fault{Blackhole: true}),
}

// TestOutages strikes a real DynamoDB engine under load in several ways. No
// request waits longer than the deadline and a margin, none fails, and the limits
// hold as each policy promises. With -measure it writes docs/failures.md's table.
func TestOutages(t *testing.T) {
	r, e := dynamoRig(t)
	start := func(t *testing.T, _ *rig) { e.start(t) }
	throttle := func(on bool) func(*testing.T, *rig) {
		return func(*testing.T, *rig) { e.throttled.Store(on) }
	}
	var rows strings.Builder
	for _, f := range append(slices.Clone(networkFaults),
		failure{"throttle", throttle(true), throttle(false), false},
		failure{"engine restarted", func(*testing.T, *rig) { e.stop() }, start, false},
		failure{"engine killed, tables lost", func(*testing.T, *rig) { e.kill() }, func(t *testing.T, r *rig) {
			start(t, r)
			e.restore(t)
		}, true},
	) {
		t.Run(f.name, func(t *testing.T) { rows.WriteString(suffer(t, r, f)) })
	}
	writeTable(t, "DynamoDB", rows.String())
}

// TestOutagesOfRedis does the same to a Redis server, as `serve` uses one. A
// killed server keeps its counters if it has written each to a file.
func TestOutagesOfRedis(t *testing.T) {
	logging.Disable() // as the command does
	const kept = "killed, counters kept"
	kill, restart := func(t *testing.T, r *rig) { r.redis.Kill(t) }, func(t *testing.T, r *rig) { r.redis.Restart(t) }
	failures := append(slices.Clone(networkFaults),
		failure{kept, kill, restart, false}, failure{"killed, counters lost", kill, restart, true})
	rows := make([]string, len(failures))
	var some errgroup.Group
	some.SetLimit(4) // they mostly sleep
	if *measure {
		some.SetLimit(1)
	}
	for i, f := range failures {
		some.Go(func() error {
			t.Run(f.name, func(t *testing.T) { rows[i] = suffer(t, redisRig(t, f.name == kept), f) })
			return nil
		})
	}
	_ = some.Wait()
	writeTable(t, "Redis", strings.Join(rows, ""))
}

// suffer lets an outage strike, checks what requests met, and returns the rows
// of the table.
func suffer(t *testing.T, r *rig, f failure) (rows string) {
	result := strike(t, r, f)
	slow := 0
	for _, policy := range policies {
		s := result.tallies[policy]
		rows += fmt.Sprintf("| %s | `%s` | %d | %d, %d | %d | %d ms | %d + %d | %.1f s |\n",
			f.name, policy, s.decided, s.degraded, s.degradedAllowed, s.slow, s.longest.Milliseconds(),
			result.lines["on-"+policy], result.lines[""], s.recovered.Sub(s.ended).Seconds())
		result.check(t, policy, s, f.forgets)
		slow += s.slow
	}
	t.Logf("a goroutine that slept for 1 ms woke up to %v late\n%s", result.stall, rows)
	if slow > waits && result.stall < stalled {
		t.Errorf("%d requests waited in the outage, want at most %d", slow, waits)
	}
	return rows
}

// check checks what requests of a policy met.
func (o *outcome) check(t *testing.T, policy string, s *tally, forgets bool) {
	ofRule, ofBreaker := o.lines["on-"+policy], o.lines[""]
	longest := engine.DefaultDeadline + margin + 10*o.stall // an answer passes through several goroutines
	// A busy machine makes the store seem to be away again. But an open breaker
	// waits for ProbeEvery, and then writes a line as it closes. The lines of a
	// rule are throttled.
	mostOfBreaker := 2 * (1 + int(o.lasted/breaker.ProbeEvery))
	mostOfRule := 10 * (1 + int(o.lasted/oplog.Every))
	switch {
	case s.failed > 0:
		t.Errorf("%s: %d of %d requests got no decision", policy, s.failed, s.decided)
	case s.longest > longest:
		t.Errorf("%s: a request took %v, want at most %v", policy, s.longest, longest)
	case s.degraded == 0:
		t.Errorf("%s: no decision was degraded", policy)
	case s.recovered.IsZero():
		t.Errorf("%s: the store did not decide again", policy)
	case !s.full:
		t.Errorf("%s: the store denied nothing after the outage, so no limit was tried", policy)
	case ofRule == 0 || ofRule > mostOfRule || ofBreaker > mostOfBreaker:
		t.Errorf("%s: %v lines in the log:\n%s", policy, o.lines, o.log)
	}
	room := capacity
	if forgets {
		room = 2 * capacity
	}
	for key, k := range s.byKey {
		if k.counted > room {
			t.Errorf("%s: %s: the store admitted %d, want at most %d", policy, key, k.counted, room)
		}
		most := map[string]int{"local": capacity / instances, "allow": s.decided, "deny": 0}[policy]
		if k.degraded > most {
			t.Errorf("%s: %s: degraded decisions admitted %d, want at most %d", policy, key, k.degraded, most)
		}
	}
}

// writeTable replaces a store's table in docs/failures.md.
func writeTable(t *testing.T, store, rows string) {
	if !*measure || t.Failed() {
		return
	}
	const head = "| Failure | `on_error` | Decisions | Degraded, of them allowed | Over 100 ms | Longest | Log lines | " +
		"Store decides again after |\n|---|---|--:|--:|--:|--:|--:|--:|\n"
	golden.WritePart(t, "../../../docs/failures.md", "<!-- measured: "+store+" -->\n", "<!-- end -->", head+rows)
}
