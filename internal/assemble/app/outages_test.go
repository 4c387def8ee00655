package app_test

import (
	"flag"
	"fmt"
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
  - {name: on-local, when: {path: /local}, key: "{header.key}", on_error: local, limits: [{capacity: 60, window: 60s}]}
  - {name: on-allow, when: {path: /allow}, key: "{header.key}", on_error: allow, limits: [{capacity: 60, window: 60s}]}
  - {name: on-deny, when: {path: /deny}, key: "{header.key}", on_error: deny, limits: [{capacity: 60, window: 60s}]}
`

var policies = []string{"local", "allow", "deny"}

// outage is a way to make a store fail.
type outage struct {
	name       string
	start, end func(t *testing.T, r *rig)
	// forgets says that the store loses its counters: each key may then have its
	// capacity once more.
	forgets bool
}

func fault(name string, f servers.Fault) outage {
	set := func(f servers.Fault) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			if err := r.proxy.Set(f); err != nil {
				t.Error(err)
			}
		}
	}
	return outage{name: name, start: set(f), end: set(servers.Fault{})}
}

// networkFaults lie between a limiter and its store.
var networkFaults = []outage{
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
	outages := append(networkFaults[:len(networkFaults):len(networkFaults)],
		outage{
			name:  "throttle",
			start: func(*testing.T, *rig) { e.throttled.Store(true) },
			end:   func(*testing.T, *rig) { e.throttled.Store(false) },
		},
		outage{
			name:  "engine restarted",
			start: func(*testing.T, *rig) { e.stop() },
			end:   func(t *testing.T, _ *rig) { e.start(t) },
		},
		outage{
			name:    "engine killed, tables lost",
			start:   func(*testing.T, *rig) { e.kill() },
			end:     func(t *testing.T, _ *rig) { e.start(t); e.restore(t) },
			forgets: true,
		},
	)
	var rows strings.Builder
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) { rows.WriteString(suffer(t, r, o)) })
	}
	if *measure && !t.Failed() {
		writeTable(t, "DynamoDB", outageHead+rows.String())
	}
}

// TestOutagesOfRedis does the same to a Redis server, as `serve` uses one. A
// killed server keeps its counters if it has written each to a file.
func TestOutagesOfRedis(t *testing.T) {
	logging.Disable() // as the command does
	kill := outage{start: func(t *testing.T, r *rig) { r.redis.Kill(t) }, end: func(t *testing.T, r *rig) { r.redis.Restart(t) }}
	kept, lost := kill, kill
	kept.name, lost.name, lost.forgets = "killed, counters kept", "killed, counters lost", true
	outages := append(networkFaults[:len(networkFaults):len(networkFaults)], kept, lost)
	rows := make([]string, len(outages))
	var some errgroup.Group
	some.SetLimit(4) // they mostly sleep
	if *measure {
		some.SetLimit(1)
	}
	for i, o := range outages {
		some.Go(func() error {
			t.Run(o.name, func(t *testing.T) { rows[i] = suffer(t, redisRig(t, o.name == kept.name), o) })
			return nil
		})
	}
	_ = some.Wait()
	if *measure && !t.Failed() {
		writeTable(t, "Redis", outageHead+strings.Join(rows, ""))
	}
}

// suffer lets an outage strike, checks what requests met, and returns the rows
// of the table.
func suffer(t *testing.T, r *rig, o outage) (rows string) {
	result := strike(t, r, o)
	slow := 0
	for _, policy := range policies {
		s := result.tallies[policy]
		rows += fmt.Sprintf("| %s | `%s` | %d | %d, %d | %d | %d ms | %d + %d | %.1f s |\n", o.name, policy, s.decided, s.degraded, s.degradedAllowed,
			s.slow, s.longest.Milliseconds(), result.lines["on-"+policy], result.lines[""], s.recovered.Sub(s.ended).Seconds())
		checkOutage(t, policy, s, o, &result)
		slow += s.slow
	}
	t.Logf("a goroutine that slept for 1 ms woke up to %v late\n%s", result.stall, rows)
	if slow > waits && result.stall < stalled {
		t.Errorf("%d requests waited in the outage, want at most %d", slow, waits)
	}
	return rows
}

func checkOutage(t *testing.T, policy string, s *tally, o outage, result *outcome) {
	lines, longest := result.lines, engine.DefaultDeadline+margin+10*result.stall // an answer passes through several goroutines
	// A busy machine makes the store seem to be away again. But an open breaker
	// waits for ProbeEvery, and then writes a line as it closes. The lines of a
	// rule are throttled.
	ofBreaker := 2 * (1 + int(result.lasted/breaker.ProbeEvery))
	ofRule := 10 * (1 + int(result.lasted/oplog.Every))
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
	case lines["on-"+policy] == 0 || lines["on-"+policy] > ofRule || lines[""] > ofBreaker:
		t.Errorf("%s: %v lines in the log:\n%s", policy, lines, result.log)
	}
	room := capacity
	if o.forgets {
		room = 2 * capacity
	}
	for key, k := range s.byKey {
		if k.counted > room {
			t.Errorf("%s: %s: the store admitted %d, want at most %d", policy, key, k.counted, room)
		}
		if most := map[string]int{"local": capacity / instances, "allow": s.decided, "deny": 0}[policy]; k.degraded > most {
			t.Errorf("%s: %s: degraded decisions admitted %d, want at most %d", policy, key, k.degraded, most)
		}
	}
}

// outageHead is the head of the tables of one store.
const outageHead = "| Failure | `on_error` | Decisions | Degraded, of them allowed | Over 100 ms | Longest | Log lines | Store decides again after |\n" +
	"|---|---|--:|--:|--:|--:|--:|--:|\n"

// writeTable replaces a store's table in docs/failures.md.
func writeTable(t *testing.T, store, table string) {
	golden.WritePart(t, "../../../docs/failures.md", "<!-- measured: "+store+" -->\n", "<!-- end -->", table)
}
