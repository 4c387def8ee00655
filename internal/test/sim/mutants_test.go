//go:build !race

package sim_test

import (
	"slices"
	"testing"

	pt "github.com/slidegate/slidegate/internal/store/dynamo/protocoltest"
	"github.com/slidegate/slidegate/internal/test/sim"
)

// A mutant runs in up to worldsPerMutant worlds of a kind, until the log
// detects it.
const (
	worldsPerMutant   = 12
	decisionsPerWorld = 20_000
	mutantSeed        = 7
)

// TestLogDetectsMutants removes or weakens one term of the protocol at a time,
// in every write on its way to the table. The real protocol breaks nothing in
// the same worlds. With a mutant, the exact log must find a window with more
// than the limit allows, or the store must find its counter inconsistent.
func TestLogDetectsMutants(t *testing.T) {
	tests := []struct {
		term     string
		world    string
		store    bool // the store may detect the mutant before the log does
		mutation pt.Mutation
	}{
		{"h <= :q", "clocks", true, pt.AnyOrder.OfCharges()},
		{"e = :e", "operators", false, pt.AnyGeneration.OfCharges()},
		{"a snapshot creates no item", "operators", false, pt.CreateFromSnapshot},
		{"C <= :B", "calm", false, pt.AnyTotal},
		{"C <= :B, a unit looser", "calm", false, pt.OneUnitTooMany},
		{"f >= :c", "calm", false, pt.AnyCredit},
		{"f >= :c, as if it cost 1", "calm", false, pt.CreditOfOne},
		{"n = :N", "operators", false, pt.AnyCapacity},
		{"f is computed from C", "calm", false, pt.CreditOfEmptyWindow},
		{"without a snapshot, f shrinks", "calm", false, pt.FreeColdCharge},
		{"without a snapshot, f only shrinks", "calm", false, pt.FullCreditWhenCold},
		{"an idle snapshot leaves n", "tight", false, pt.CapacityOfIdleCharge},
		{"an idle snapshot lowers f", "faults", false, pt.FreeIdleCharge},
		{"C grows", "tight", false, pt.TotalStays},
		{"no slot that counts is removed", "calm", false, pt.RemovePrevious},
		{"ttl has slack", "idle", false, pt.NoSlack},
		{"a limit without a snapshot", "everything", false, pt.NewLimitAnyway},

		{"refund: e = :e", "corrections", false, pt.AnyGeneration.OfSettlements()},
		{"refund: C stays", "corrections", false, pt.LowerTotal},
		{"charge more: f shrinks", "corrections", false, pt.FreeExtraCharge},
		{"charge more: C grows", "corrections", true, pt.ExtraTotalStays},
		{"charge more: h <= :q", "tight", true, pt.AnyOrder.OfSettlements()},
		{"charge more: h = :q", "corrections", true, pt.NewestStays.OfSettlements()},

		{"bucket: tat <= :now + τ - cT", "algorithms", false, pt.BucketWithoutBound},
		{"bucket: a charge looser", "algorithms", false, pt.BucketOneChargeTooMany},
		{"bucket: tat <= :now", "algorithms", false, pt.BucketAlwaysFull},
		{"log: C = :v", "algorithms", false, pt.LogOfAnyVersion},
		{"log: none without a snapshot", "algorithms", false, pt.LogOverAny},
	}
	for _, test := range tests {
		t.Run(test.term, func(t *testing.T) {
			t.Parallel()
			kind := slices.Index(sim.Worlds(), test.world)
			for n := range worldsPerMutant {
				plan := sim.Draw(mutantSeed, kind+n*len(sim.Worlds()))
				if r := run(t, plan, decisionsPerWorld, test.mutation); r.Counts["over-admissions"] > 0 || test.store && len(r.Violations) > 0 {
					t.Logf("world %d: %s", n, r.Violations[0])
					return
				}
			}
			t.Errorf("%d worlds of the kind %q do not detect the mutant", worldsPerMutant, test.world)
		})
	}
}
