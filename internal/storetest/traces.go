package storetest

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// moment is one charge of a trace, at a time after the trace's start, with what
// it must get.
type moment struct {
	at        time.Duration
	cost      int64
	allowed   bool
	remaining int64
	reset     time.Duration
	retry     time.Duration
	delay     time.Duration
}

func (m *moment) result() limit.Result {
	return limit.Result{Allowed: m.allowed, Remaining: m.remaining, Reset: m.reset, RetryAfter: m.retry, Delay: m.delay}
}

// trace is what one lone client sees of one limit.
type trace struct {
	name    string
	limit   limit.Limit
	start   time.Time // epoch, unless it says otherwise
	moments []moment
}

// traces plays the tables of every algorithm.
func traces(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, table := range [][]trace{slotTraces, weightedTraces, logTraces, tokenTraces, leakyTraces, calendarTraces} {
		for _, trace := range table {
			t.Run(trace.name, func(t *testing.T) { play(t, store, &trace) })
		}
	}
}

func play(t *testing.T, store Store, trace *trace) {
	p := newPair(t, store, trace.limit)
	if !trace.start.IsZero() {
		p.start = trace.start
	}
	for _, m := range trace.moments {
		if a := p.charge(m.at, m.cost); a.got.Result != m.result() {
			p.fail("the trace says: %s", format(m.result()))
		}
	}
}
