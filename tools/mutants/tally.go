package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// tally counts outcomes and prints the progress every ten seconds.
type tally struct {
	mu              sync.Mutex
	w               io.Writer
	pkg             string
	total, done     int
	counts          map[outcome]int
	start, reported time.Time
}

func newTally(w io.Writer, pkg string, total int) *tally {
	now := time.Now()
	return &tally{w: w, pkg: pkg, total: total, counts: map[outcome]int{}, start: now, reported: now}
}

func (t *tally) count(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[o]++
	t.done++
	now := time.Now()
	if t.done < t.total && now.Sub(t.reported) < 10*time.Second {
		return
	}
	t.reported = now
	left := now.Sub(t.start) / time.Duration(t.done) * time.Duration(t.total-t.done)
	fmt.Fprintf(t.w, "%s: %d of %d mutants, %d caught, %d survived, about %s left\n", t.pkg, t.done, t.total,
		t.counts[killed]+t.counts[timedOut], t.counts[survived]+t.counts[unreached], left.Round(time.Second))
}
