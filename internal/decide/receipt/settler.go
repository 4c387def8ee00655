package receipt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// settleTimeout bounds each write in real time. The first one of a process
	// also connects.
	settleTimeout = time.Second
	// remembered is how many receipts a Settler knows as used, at least.
	remembered = 100_000
)

// ErrUsed is the error of a receipt that this process has taken before.
var ErrUsed = errors.New("the receipt was used before")

// Settler settles by receipts, each at most once in this process. It is safe for
// concurrent use.
type Settler struct {
	store    limit.Store
	keys     Keys
	observer engine.Observer
	used     used
}

// NewSettler returns a settler. Keys are for TakeHeader; nil for none. The
// observer, nil for none, sees the writes, and the corrections that failed.
func NewSettler(store limit.Store, keys Keys, observer engine.Observer) *Settler {
	return &Settler{store: store, keys: keys, observer: cmp.Or[engine.Observer](observer, engine.NoObserver{}), used: used{seed: maphash.MakeSeed()}}
}

// Take parses a receipt of an authorizer's context, for one use. now is when the
// request came.
func (s *Settler) Take(text string, now time.Time) (*Receipt, error) {
	r, err := Parse(text)
	return s.once(r, text, now, err)
}

// TakeHeader verifies a receipt that came as a header, for one use.
func (s *Settler) TakeHeader(text string, now time.Time) (*Receipt, error) {
	r, err := s.keys.Verify(text, now)
	return s.once(r, text, now, err)
}

func (s *Settler) once(r *Receipt, text string, now time.Time, err error) (*Receipt, error) {
	if err != nil {
		return nil, err
	}
	if payload, _ := split(text); !s.used.add(payload) {
		return nil, ErrUsed
	}
	r.taken = now
	return r, nil
}

// Finish corrects the charges by the outcome: one write for each rule that has
// something to correct, sent once. Only the first call for a receipt counts. It
// waits for the writes, a second at most. The context may have been cancelled. A
// correction that fails is reported, and the charge stays; so are all charges if
// engine.CheckUsage refuses the usage.
//
// The writes have the authorizer's time, because counters go by it: a backend whose
// clock is ahead would end the windows of other requests.
func (s *Settler) Finish(ctx context.Context, now time.Time, r *Receipt, o *engine.Outcome) {
	if r.finished.Swap(true) {
		return
	}
	if engine.RefusesUsage(ctx, s.observer, r.Pending, o) {
		return
	}
	now = r.Time.Add(max(0, now.Sub(r.taken)))
	var writes sync.WaitGroup
	for i := range r.Pending {
		p := &r.Pending[i]
		writes.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
			defer cancel()
			if err := p.Settle(ctx, now, s.store, s.observer, o); err != nil {
				s.observer.StoreFailed(ctx, "settle", p.Rule, p.Key(), fmt.Errorf("charged by rules version %d: %w", r.Rules, err))
			}
		})
	}
	writes.Wait()
}

// used remembers texts by their hashes, in two generations.
type used struct {
	seed maphash.Seed

	mu        sync.Mutex
	now, last map[uint64]struct{}
}

// add reports whether the text is new.
func (u *used) add(text string) bool {
	hash := maphash.String(u.seed, text)
	u.mu.Lock()
	defer u.mu.Unlock()
	_, now := u.now[hash]
	_, last := u.last[hash]
	if now || last {
		return false
	}
	if u.now == nil || len(u.now) >= remembered {
		u.now, u.last = map[uint64]struct{}{}, u.now
	}
	u.now[hash] = struct{}{}
	return true
}
