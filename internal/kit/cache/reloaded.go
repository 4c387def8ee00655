package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// Every is how old a value may be before a request reloads it, unless
	// Options.Fresh has another time.
	Every = 10 * time.Second
	// wait bounds how long requests wait for a reload after it started, in real
	// time.
	wait = 100 * time.Millisecond
	// firstPause is how long no reload follows the first one that failed.
	firstPause = time.Second
	// earlyReloads bounds the reloads that come before their time after failures,
	// of all keys, at once and a second. So an outage does not become a flood.
	earlyReloads = 10
)

// errLate is the error of a request that has waited for Options.FirstWait.
var errLate = errors.New("no answer in time")

// Key names a value. Errors contain its text, such as "table rules".
type Key interface {
	comparable
	fmt.Stringer
}

// Options set up a Reloaded.
type Options[K Key, V any] struct {
	// Load reads the value of a key for a request at a moment. last is the
	// cached value, however old, the zero value if there is none. The context is the
	// request's without its cancellation, bounded by FirstTimeout or Timeout.
	Load func(ctx context.Context, now time.Time, key K, last V) (V, error)
	// FirstTimeout bounds a load that requests wait for, and Timeout a reload,
	// both in real time.
	FirstTimeout, Timeout time.Duration
	// FirstWait bounds how long a request waits for a first value, or for Renew,
	// in real time. The load goes on. 0 means until the load ends.
	FirstWait time.Duration
	// MaxFirst bounds the first loads under way; 0 for no bound. The next one waits
	// for FirstTimeout at most. Clients cause first loads by made-up keys, and they
	// must not take the time and the connections of reloads.
	MaxFirst int

	// Fresh is how old a value may be before a request reloads it; 0 for Every.
	// After a reload that failed, the next one may begin after a second, after the
	// next failures in a row after 2, 4 and 8 s, and from then on after Fresh or
	// Every, the shorter one. After an error that Answer marks it is Every.
	Fresh time.Duration
	// MaxAge is how old a value may be that stands in for a reload which fails; 0
	// for no bound.
	MaxAge time.Duration
	// Report receives the error of every reload that failed while requests went
	// on with the last value; nil for no report.
	Report func(key K, last V, err error)
	// Answer marks errors of Load that are answers about the key, such as an
	// invalid item. If there is no earlier value, the cache keeps such an error
	// for ten seconds, like a value. After any other error, the next request
	// loads again. Nil marks none.
	Answer func(error) bool
	// MaxEntries bounds the keys in memory; 0 for no bound. Frequency and age
	// of use decide which keys are evicted (W-TinyLFU), so that keys in steady
	// use survive a flood of made-up ones.
	MaxEntries int
}

// Reloaded holds values that may be a little old, and reloads them on the path of
// requests ("stale while revalidate"). At most one load of a key is in flight. It
// is safe for concurrent use.
//
// A value is fresh for a while, by default ten seconds. The request that finds
// an older value starts a load and waits for it for at most 100 ms. Then it uses
// the newest value; all other requests use the old one at once. After a pause
// they wait too: otherwise a burst would pass under rules that ended long ago.
// The load starts on a request, not by a timer, because a Lambda is frozen
// between requests.
//
// Callers pass the time, so tests and replays run at any moment. Libraries
// such as otter read a clock of their own, and their readers never wait for a
// reload: a Lambda would be frozen during it.
type Reloaded[K Key, V any] struct {
	opts    Options[K, V]
	entries Cache[K, *entry[V]]
	mu      sync.Mutex
	flights map[K]*flight[V]
	early   Budget
	places  chan struct{} // has a place for each first load, if Options.MaxFirst bounds them
}

// entry is the outcome of the last load. It never changes.
type entry[V any] struct {
	value  V
	err    error         // one that Options.Answer marks; value is the zero value then
	loaded time.Time     // when the load of the value began
	tried  time.Time     // when the last load began, which may have failed
	fresh  time.Duration // since tried
}

// isFresh reports whether the last load is recent. Concurrent requests pass
// slightly different times, so an entry from shortly after now counts too. An
// entry from much later does not: a clock that was set back would keep it for ever.
func (e *entry[V]) isFresh(now time.Time) bool { return e != nil && now.Sub(e.tried).Abs() < e.fresh }

// afterPause reports whether no request has asked for the value for a while.
func (e *entry[V]) afterPause(now time.Time) bool {
	// Under steady load no value is overdue by a tenth of its time.
	return now.Sub(e.tried).Abs() >= e.fresh+e.fresh/10
}

// flight is a load under way. Its outcome is set when done is closed.
type flight[V any] struct {
	done  chan struct{}
	late  chan struct{} // closed after wait
	value V
	err   error
}

// NewReloaded returns an empty cache.
func NewReloaded[K Key, V any](o Options[K, V]) *Reloaded[K, V] {
	o.Fresh = cmp.Or(o.Fresh, Every)
	return &Reloaded[K, V]{
		opts:    o,
		entries: New[K, *entry[V]](o.MaxEntries),
		flights: map[K]*flight[V]{},
		early:   Budget{Burst: earlyReloads, PerSecond: earlyReloads},
		places:  make(chan struct{}, o.MaxFirst),
	}
}

// Get returns the value of a key. All requests for a key wait for its first
// value, as long as their contexts and FirstWait let them, and get the error of
// that load. After a first value, Get fails only once that is older than MaxAge.
// A fresh value costs no allocation.
func (c *Reloaded[K, V]) Get(ctx context.Context, now time.Time, key K) (V, error) {
	last, _ := c.entries.Get(key)
	if last.isFresh(now) {
		return last.value, last.err
	}
	last = c.usable(last, now)
	load, started := c.join(ctx, now, key, func(e *entry[V]) bool { return e.isFresh(now) })
	if last == nil {
		return c.first(ctx, key, load)
	}
	if started || last.afterPause(now) { // a load that takes longer continues beside the requests
		select {
		case <-load.done:
			if load.err == nil || last.err != nil { // a reload never fails, but an earlier first load may have
				return load.value, load.err
			}
		case <-load.late:
		case <-ctx.Done():
		}
	}
	return last.value, last.err
}

// Renew is Get for a request that the cached value does not serve. It waits for
// the load in flight. Without one, it starts a load, unless enough accepts the
// value that is cached by then.
func (c *Reloaded[K, V]) Renew(ctx context.Context, now time.Time, key K, enough func(V) bool) (V, error) {
	load, _ := c.join(ctx, now, key, func(e *entry[V]) bool { return e != nil && enough(e.value) })
	return c.first(ctx, key, load)
}

// usable returns the entry, nil if it is too old to stand in for another.
func (c *Reloaded[K, V]) usable(e *entry[V], now time.Time) *entry[V] {
	if e != nil && c.opts.MaxAge > 0 && now.Sub(e.loaded).Abs() >= c.opts.MaxAge {
		return nil
	}
	return e
}

// first waits for a load. A request that gives up leaves the load to the others.
func (c *Reloaded[K, V]) first(ctx context.Context, key K, load *flight[V]) (V, error) {
	var late <-chan time.Time
	if c.opts.FirstWait > 0 {
		late = time.After(c.opts.FirstWait)
	}
	cause := errLate
	select {
	case <-load.done:
		return load.value, load.err
	case <-late:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	var none V
	return none, fmt.Errorf("%s: waiting for the first answer: %w", key, cause)
}

// Len returns the number of keys in memory.
func (c *Reloaded[K, V]) Len() int {
	return c.entries.Len()
}

// join returns the load of a key that is in flight, or the outcome of one that
// has ended since the caller looked, if that is enough; otherwise it starts one.
func (c *Reloaded[K, V]) join(ctx context.Context, now time.Time, key K, enough func(*entry[V]) bool) (load *flight[V], started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if load := c.flights[key]; load != nil {
		return load, false
	}
	load = &flight[V]{done: make(chan struct{}), late: make(chan struct{})}
	last, _ := c.entries.Get(key)
	if enough(last) {
		load.value, load.err = last.value, last.err
		close(load.done)
		return load, true
	}
	c.flights[key] = load
	time.AfterFunc(wait, func() { close(load.late) })
	go func() {
		load.value, load.err = c.load(context.WithoutCancel(ctx), now, key, last)
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(load.done)
	}()
	return load, true
}

// load reads a value and caches it. If that fails, it keeps the value of last and
// succeeds; without a usable one, it returns the error.
func (c *Reloaded[K, V]) load(ctx context.Context, now time.Time, key K, last *entry[V]) (V, error) {
	var known V
	if last != nil {
		known = last.value
	}
	last = c.usable(last, now)
	kept, timeout := last != nil && last.err == nil, c.opts.FirstTimeout
	if kept {
		timeout = c.opts.Timeout
	} else if c.opts.MaxFirst > 0 {
		select { // before the time of the load begins, so that a breaker does not count the wait
		case c.places <- struct{}{}:
			defer func() { <-c.places }()
		case <-time.After(timeout):
			return known, errLate
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, limit.ErrDeadline) // so that a breaker counts it
	defer cancel()
	value, err := c.opts.Load(ctx, now, key, known)
	answer := err != nil && c.opts.Answer != nil && c.opts.Answer(err)
	next := &entry[V]{value: value, loaded: now, tried: now, fresh: c.opts.Fresh}
	switch {
	case err == nil:
	case kept:
		if c.opts.Report != nil {
			c.opts.Report(key, known, err)
		}
		next.value, next.loaded, next.fresh = known, last.loaded, c.pause(last, now, answer)
	case answer:
		var none V
		next.value, next.err, next.fresh = none, err, Every
	default:
		return value, err
	}
	c.entries.Set(key, next)
	return next.value, next.err
}

// pause returns how long no reload follows one that failed now. A value does not
// outlive MaxAge by it.
func (c *Reloaded[K, V]) pause(last *entry[V], now time.Time, answer bool) time.Duration {
	longest, pause := min(c.opts.Fresh, Every), firstPause
	if c.opts.MaxAge > 0 {
		longest = min(longest, c.opts.MaxAge-now.Sub(last.loaded))
	}
	if !last.tried.Equal(last.loaded) { // the reload before it failed too
		pause = 2 * last.fresh
	}
	if answer || pause >= longest || !c.early.Take(now) {
		return longest
	}
	return pause
}
