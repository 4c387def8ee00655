package outage_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
)

const (
	hot     = 2             // clients of each policy that keep to one key
	clients = 3 * (hot + 1) // of all policies; the others have a new key for each request
)

// tally is what the requests of one policy met.
type tally struct {
	mu                        sync.Mutex
	longest                   time.Duration
	decided, failed           int
	degraded, degradedAllowed int
	byKey                     map[string]*admitted
	began, ended              time.Time // of the outage
	recovered                 time.Time // the first decision of the store since
	full                      bool      // the store has denied a request since
	slow                      int       // requests of over 100 ms in the outage
}

// admitted is how many requests with a key the store admitted, and how many it
// did not decide.
type admitted struct{ counted, degraded int }

// outcome is a run's result.
type outcome struct {
	tallies map[string]*tally
	lines   map[string]int // of the log, by rule; "" for the breaker's
	log     string
	stall   time.Duration // the latest that a goroutine woke: the machine's own delay
	lasted  time.Duration // from the first request to the last
}

// strike sends requests of all policies, has the store fail under this load,
// and goes on until the store has recovered and its limits are reached.
func strike(t *testing.T, r *rig, f failure) outcome {
	var lines lockedBuffer
	log := slog.New(slog.NewJSONHandler(&lines, nil))
	store, now := r.open(t, log)
	record := oplog.NewObserver(log)
	e := newEngine(t, outageRules, engine.Options{Store: store, Observer: record, Deadline: engine.DefaultDeadline})
	result := outcome{tallies: map[string]*tally{}, lines: map[string]int{}}
	load, stop := context.WithCancel(t.Context())
	defer stop()
	started := time.Now()
	var workers sync.WaitGroup
	for _, policy := range policies {
		s := &tally{byKey: map[string]*admitted{}}
		result.tallies[policy] = s
		for n := range hot + 1 {
			workers.Go(func() { s.send(load, e, now, policy, n) })
		}
	}
	workers.Go(func() { result.stall = watch(load) })
	time.Sleep(400 * time.Millisecond)
	result.mark(func(s *tally) { s.began = time.Now() })
	f.start(t, r)
	time.Sleep(1500 * time.Millisecond)
	f.end(t, r)
	result.mark(func(s *tally) { s.ended = time.Now() })
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline) && !result.over(); {
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	workers.Wait()
	result.lasted = time.Since(started)
	record.Flush(context.Background())
	result.log = lines.String()
	for scan := bufio.NewScanner(&lines.Buffer); scan.Scan(); {
		var line struct{ Rule string }
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		result.lines[line.Rule]++
	}
	return result
}

// send is client n of a policy.
func (s *tally) send(ctx context.Context, e *engine.Engine, now func() time.Time, policy string, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprint("hot-", n)
		if n == hot {
			key = fmt.Sprint("new-", i)
		}
		started := time.Now()
		d, err := e.Decide(context.Background(), now(), requestOf("/"+policy, key))
		s.count(key, d, err, started, time.Since(started))
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *tally) count(key string, d *engine.Decision, err error, started time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided++
	if !s.began.IsZero() { // before it, requests wait for a cold engine
		s.longest = max(s.longest, took)
		if took > 100*time.Millisecond && (s.ended.IsZero() || started.Before(s.ended)) {
			s.slow++
		}
	}
	if err != nil {
		s.failed++
		return
	}
	k := s.byKey[key]
	if k == nil {
		k = &admitted{}
		s.byKey[key] = k
	}
	since := !s.ended.IsZero() && started.After(s.ended)
	switch {
	case d.Degraded:
		s.degraded++
		if d.Allowed {
			s.degradedAllowed++
			k.degraded++
		}
		return
	case d.Allowed:
		k.counted++
	case since:
		s.full = true
	}
	if since && s.recovered.IsZero() {
		s.recovered = time.Now()
	}
}

// mark changes all tallies.
func (o *outcome) mark(change func(*tally)) {
	for _, s := range o.tallies {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

// over reports whether the store has recovered and has denied a request of each
// policy.
func (o *outcome) over() bool {
	over := true
	o.mark(func(s *tally) { over = over && !s.recovered.IsZero() && s.full })
	return over
}

// watch returns the longest time by which a sleep was late.
func watch(ctx context.Context) (stall time.Duration) {
	for ctx.Err() == nil {
		started := time.Now()
		time.Sleep(time.Millisecond)
		stall = max(stall, time.Since(started)-time.Millisecond)
	}
	return stall
}

// lockedBuffer is a buffer that a log may write to from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(line)
}
