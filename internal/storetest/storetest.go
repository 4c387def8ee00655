// Package storetest is the conformance suite of the stores: all of them must
// give the same answers.
//
// The specification is package limit, run here as the Reference store. A trace
// lists the answer to each charge. A random sequence compares the store with
// the reference call by call. What happened concurrently must be possible in
// some order of calls. Each failure is explained: what was done, what the store
// says, and what the reference says.
//
// A store's own tests call Run with a Harness. They also test what only that
// store has: its failures, its foreign items, its bound.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Store is what the suite tests: the engine's interface of a store, and what
// operators need.
type Store interface {
	Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error
	Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool
	Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	Reset(ctx context.Context, key string) error
}

// Harness creates the clients of one set of counters, and says what they cannot
// do. The suite never uses a key twice.
type Harness struct {
	// Client returns a client that has seen no counter yet, like a process that
	// has just started. All clients of a harness reach the same counters. A
	// store within its process returns itself each time.
	Client func(t testing.TB) Store
	// Expire deletes a counter whose windows have ended, as the store's time to
	// live would. It is nil if expired counters look like any
	// others.
	Expire func(t testing.TB, key string)
	// Lag is how long a client may go on denying by an old snapshot while
	// another client refunds units or resets the counter. Such a client may
	// also over-deny if its clock is behind the newest charge. It is 0 for a
	// store without snapshots.
	Lag time.Duration
	// NoLocalDenials says that Denies always returns false.
	NoLocalDenials bool
	// Rounds multiplies the number of random sequences that rapid makes (100,
	// or -rapid.checks), as far as the store takes them within seconds; 0
	// stands for 1.
	Rounds int
}

// Run tests a store. It calls open for each part of the suite, so that the
// parts share no counters.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"traces", traces},
		{"several limits", several},
		{"overrides", overrides},
		{"peeks and denials", peeking},
		{"resets", resetting},
		{"settlements", settling},
		{"expiry", expiring},
		{"several keys", atomicGroup},
		{"keys", naming},
		{"bad charges", refusing},
		{"sequences", sequences},
		{"concurrency", concurrency},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}
