//go:build !race

package outage_test

import (
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/outage"
)

// A mutant runs in up to worldsPerMutant worlds of a kind, until the log
// detects it.
const (
	worldsPerMutant   = 12
	decisionsPerWorld = 20_000
	mutantSeed        = 7
)

// TestLogDetectsMutants removes or weakens one term of the protocol in every
// write on its way to the table, so that each kind of fault meets one. The real
// protocol breaks nothing in the same worlds. With a mutant, the exact log must
// find a window with more than the limit allows, or the store must find its
// counter inconsistent. TestExploreMutants has every term.
func TestLogDetectsMutants(t *testing.T) {
	for _, test := range []struct {
		term     string
		world    string
		store    bool // the store may detect the mutant before the log does
		mutation dynamomodel.Mutation
	}{
		{"h <= :q", "clocks", true, dynamomodel.AnyOrder},
		{"e = :e", "resets", false, dynamomodel.AnyGeneration},
		{"C <= :B, a unit looser", "calm", false, dynamomodel.OneUnitTooMany},
		{"f >= :c, as if it cost 1", "calm", false, dynamomodel.CreditOfOne},
		{"an idle snapshot lowers f", "faults", false, dynamomodel.FreeIdleCharge},
		{"C grows", "tight", false, dynamomodel.TotalStays},
		{"ttl has slack", "idle", false, dynamomodel.NoSlack},
	} {
		t.Run(test.term, func(t *testing.T) {
			t.Parallel()
			kind := slices.Index(outage.Worlds(), test.world)
			for n := range worldsPerMutant {
				plan := outage.Draw(mutantSeed, kind+n*len(outage.Worlds()))
				r := run(t, plan, decisionsPerWorld, test.mutation)
				if r.Counts["over-admissions"] > 0 || test.store && len(r.Violations) > 0 {
					t.Logf("world %d: %s", n, r.Violations[0])
					return
				}
			}
			t.Errorf("%d worlds of the kind %q do not detect the mutant", worldsPerMutant, test.world)
		})
	}
}
