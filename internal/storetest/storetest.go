// Package storetest is the conformance suite of the stores: what one of them must answer, every one must.
//
// The specification is limit's step, run here by the Step store. A trace says what the step answers at which moment; a
// random sequence is held against the step as it goes; what happened concurrently must fit some order of steps. Each
// failure is explained: what was done, what the store said, and what the step says.
//
// A store's own tests call Run with a Harness, and keep to themselves what only that store has: its faults, its items as
// others may have written them, its bound.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Store is what the suite tests: the engine's idea of a store, with what operators need.
type Store interface {
	Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error
	Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool
	Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	Reset(ctx context.Context, key string) error
}

// Harness makes the clients of one set of counters, and says what they cannot do. The suite never uses a key twice.
type Harness struct {
	// Client returns a client that has seen no counter yet, like a process that has just started. All clients of a
	// harness reach the same counters. A store that lives in its process returns itself each time.
	Client func(t testing.TB) Store
	// Expire deletes a counter whose windows have ended, as the store's time to live does in its own time. Nil where
	// nothing can tell a counter that has expired from one that has not.
	Expire func(t testing.TB, key string)
	// Lag is how long a client may go on denying by what it has seen of a counter, while another one gives units back
	// or resets it. It may then also deny a clock that is behind the newest charge once too often. 0 for a store whose
	// every answer is of the moment.
	Lag time.Duration
	// Blind says that Denies has nothing at hand to deny by, and is always false.
	Blind bool
	// Rounds is how many times as many random sequences as rapid makes on its own (100, or -rapid.checks) the store can
	// take within a few seconds; 0 stands for 1.
	Rounds int
}

// Run tests a store. It calls open for each part of the suite, so that one part's counters are never in another's way.
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
		{"several keys", together},
		{"keys", naming},
		{"bad charges", refusing},
		{"sequences", sequences},
		{"concurrency", concurrency},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}
