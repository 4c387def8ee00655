//go:build !race

package sim_test

import (
	"slices"
	"testing"

	dm "github.com/slidegate/slidegate/internal/test/dynamomodel"
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
		mutation dm.Mutation
	}{
		{"h <= :q", "clocks", true, dm.AnyOrder.OfCharges()},
		{"e = :e", "operators", false, dm.AnyGeneration.OfCharges()},
		{"a snapshot creates no item", "operators", false, dm.CreateFromSnapshot},
		{"C <= :B", "calm", false, dm.AnyTotal},
		{"C <= :B, a unit looser", "calm", false, dm.OneUnitTooMany},
		{"f >= :c", "calm", false, dm.AnyCredit},
		{"f >= :c, as if it cost 1", "calm", false, dm.CreditOfOne},
		{"n = :N", "operators", false, dm.AnyCapacity},
		{"f is computed from C", "calm", false, dm.CreditOfEmptyWindow},
		{"without a snapshot, f shrinks", "calm", false, dm.FreeColdCharge},
		{"without a snapshot, f only shrinks", "calm", false, dm.FullCreditWhenCold},
		{"an idle snapshot leaves n", "tight", false, dm.CapacityOfIdleCharge},
		{"an idle snapshot lowers f", "faults", false, dm.FreeIdleCharge},
		{"C grows", "tight", false, dm.TotalStays},
		{"no slot that counts is removed", "calm", false, dm.RemovePrevious},
		{"ttl has slack", "idle", false, dm.NoSlack},
		{"a limit without a snapshot", "everything", false, dm.NewLimitAnyway},

		{"refund: e = :e", "corrections", false, dm.AnyGeneration.OfSettlements()},
		{"refund: C stays", "corrections", false, dm.LowerTotal},
		{"charge more: f shrinks", "corrections", false, dm.FreeExtraCharge},
		{"charge more: C grows", "corrections", true, dm.ExtraTotalStays},
		{"charge more: h <= :q", "tight", true, dm.AnyOrder.OfSettlements()},
		{"charge more: h = :q", "corrections", true, dm.NewestStays.OfSettlements()},

		{"bucket: tat <= :now + τ - cT", "algorithms", false, dm.BucketWithoutBound},
		{"bucket: a charge looser", "algorithms", false, dm.BucketOneChargeTooMany},
		{"bucket: tat <= :now", "algorithms", false, dm.BucketAlwaysFull},
		{"log: C = :v", "algorithms", false, dm.LogOfAnyVersion},
		{"log: none without a snapshot", "algorithms", false, dm.LogOverAny},
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
