// Package storetest is the conformance suite of the stores: all of them must
// give the same answers.
//
// The specification is package limit, run here as the Reference store. A trace
// lists the answer to each charge. A random sequence compares the store with
// the reference call by call. The answers to concurrent calls must be possible
// in some order of the calls. Each failure lists the calls, the store's answer
// and the reference's.
//
// A store's own tests call Run with a Harness. They also test what is specific
// to the store: failures, items of other programs, bounds.
package storetest

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Harness creates clients of one set of counters, and lists their limitations.
// The suite never uses a key twice.
type Harness struct {
	// Client returns a client without snapshots, like a process that has just
	// started. All clients of a harness reach the same counters. A store in
	// memory returns itself each time.
	Client func(t testing.TB) limit.Store
	// Expire deletes a counter whose windows have ended, as the store's time to
	// live would. It is nil if the store does not delete such counters.
	Expire func(t testing.TB, key string)
	// Lag is how long a client may go on denying by an old snapshot while
	// another client refunds units or resets the counter. Such a client may
	// also over-deny if its clock is behind the newest charge. It is 0 for a
	// store without snapshots. By holds alone it may deny for limit.HoldAge.
	Lag time.Duration
	// NoHolds is set for stores that open no holds.
	NoHolds bool
	// NoLocalDenials is set if Denies always returns false.
	NoLocalDenials bool
	// Accepts reports whether the client takes a limit; nil for every valid one.
	// It must refuse all others.
	Accepts func(*limit.Limit) bool
	// Rounds multiplies the number of random sequences (100, or -rapid.checks).
	// Fast stores set it higher; 0 stands for 1.
	Rounds int
	// Histories is the number of concurrent histories of each kind; 0 stands for
	// 200.
	Histories int
}

func (h *Harness) accepts(l limit.Limit) bool { return h.Accepts == nil || h.Accepts(&l) }

// Run tests a store. It calls open for each part of the suite, so that the
// parts share no counters.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"traces", traces},
		{"several limits", several},
		{"peeks and denials", peeking},
		{"resets", resetting},
		{"settlements", settling},
		{"holds", holding},
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
