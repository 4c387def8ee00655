// Package swr caches values that may be a little old and reloads them on the
// path of requests ("stale while revalidate").
//
// A value is fresh for ten seconds. The request that finds an older value
// starts a load and waits for it for at most 100 ms. Then it uses the newest
// value; all other requests use the old one at once. The load starts on a
// request, not by a timer, because a Lambda is frozen between requests.
//
// Callers pass the time, so tests and replays run at any moment. Libraries
// such as otter read a clock of their own, and their readers never wait for a
// reload: a Lambda would be frozen during it.
package swr

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/cache"
)

const (
	// Every is how old a value may be before a request reloads it.
	Every = 10 * time.Second
	// wait bounds how long the request that starts a reload waits for it, in
	// real time.
	wait = 100 * time.Millisecond
)

// Key names a value. Errors contain its text, such as "table rules".
type Key interface {
	comparable
	fmt.Stringer
}

// Options set up a Cache.
type Options[K Key, V any] struct {
	// Load reads the value of a key. last is the cached value, the zero value
	// if there is none. The context is the request's without its cancellation,
	// bounded by FirstTimeout or Timeout.
	Load func(ctx context.Context, key K, last V) (V, error)
	// FirstTimeout bounds a load that requests wait for, and Timeout a reload,
	// both in real time.
	FirstTimeout, Timeout time.Duration
	// Report receives the error of every reload that failed. Requests got the
	// last value instead.
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

// Cache holds values by key. At most one load of a key is in flight. It is safe
// for concurrent use.
type Cache[K Key, V any] struct {
	opts    Options[K, V]
	entries cache.Cache[K, *entry[V]]

	mu      sync.Mutex
	flights map[K]*flight[V]
}

// entry is the outcome of a load. It never changes.
type entry[V any] struct {
	value  V
	err    error // one that Options.Answer marks; value is the zero value then
	loaded time.Time
}

// fresh reports whether the entry is less than ten seconds old. Concurrent
// requests pass slightly different times, so an entry from shortly after now is
// fresh too. An entry from much later is not: a clock that was set back would
// keep it for ever.
func (e *entry[V]) fresh(now time.Time) bool {
	return e != nil && now.Sub(e.loaded).Abs() < Every
}

// flight is a load under way. Its outcome is set when done is closed.
type flight[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// New returns an empty cache.
func New[K Key, V any](o Options[K, V]) *Cache[K, V] {
	return &Cache[K, V]{
		opts:    o,
		entries: cache.New[K, *entry[V]](o.MaxEntries),
		flights: map[K]*flight[V]{},
	}
}

// Get returns the value of a key. All requests for a key wait for its first
// value, as long as their contexts let them, and get the error of that load.
// After a first value, Get never fails. A fresh value costs no allocation.
func (c *Cache[K, V]) Get(ctx context.Context, now time.Time, key K) (V, error) {
	last, _ := c.entries.GetIfPresent(key)
	if last.fresh(now) {
		return last.value, last.err
	}
	if last != nil && last.err != nil {
		last = nil // there is no value to go on with
	}
	load, started := c.join(ctx, now, key, last)
	if last == nil { // a request that gives up leaves the load to the others
		select {
		case <-load.done:
			return load.value, load.err
		case <-ctx.Done():
			var none V
			return none, fmt.Errorf("%s: waiting for the first answer: %w", key, context.Cause(ctx))
		}
	}
	if started { // a load that takes longer continues beside the request
		select {
		case <-load.done:
			if load.err == nil { // a reload never fails, but an earlier first load may have
				return load.value, nil
			}
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return last.value, nil
}

// Len returns the number of keys in memory.
func (c *Cache[K, V]) Len() int {
	c.entries.CleanUp()
	return c.entries.EstimatedSize()
}

// join returns the load of a key that is in flight, or that has ended since the
// caller found no fresh value; otherwise it starts one.
func (c *Cache[K, V]) join(ctx context.Context, now time.Time, key K, last *entry[V]) (load *flight[V], started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if load := c.flights[key]; load != nil {
		return load, false
	}
	load = &flight[V]{done: make(chan struct{})}
	if found, _ := c.entries.GetIfPresent(key); found.fresh(now) {
		load.value, load.err = found.value, found.err
		close(load.done)
		return load, true
	}
	c.flights[key] = load
	go func() {
		load.value, load.err = c.load(context.WithoutCancel(ctx), now, key, last)
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(load.done)
	}()
	return load, true
}

// load reads a value and caches it. If that fails, it keeps last and succeeds; a
// nil last returns the error.
func (c *Cache[K, V]) load(ctx context.Context, now time.Time, key K, last *entry[V]) (V, error) {
	var known V
	timeout := c.opts.FirstTimeout
	if last != nil {
		timeout, known = c.opts.Timeout, last.value
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, err := c.opts.Load(ctx, key, known)
	if err != nil {
		value = known
		if last != nil {
			c.opts.Report(key, known, err)
			err = nil
		}
	}
	if err == nil || c.opts.Answer != nil && c.opts.Answer(err) {
		c.entries.Set(key, &entry[V]{value: value, err: err, loaded: now})
	}
	return value, err
}
