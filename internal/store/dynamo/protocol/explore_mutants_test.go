package protocol

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	dm "github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// caught is a mutant, the run that it is searched in, and the invariant that it
// breaks there.
type caught struct {
	name, run, breaks string
	mutant            mutant
}

// harmless is a mutant that breaks nothing, and why.
type harmless struct {
	name, run, why string
	mutant         mutant
}

// TestExploreMutants leaves out or weakens one term of the real writes at a
// time. A small search catches each; -v prints the shortest trace to the
// violation.
func TestExploreMutants(t *testing.T) {
	for _, c := range append(caughtCharges(), caughtOthers()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := runNamed(c.run).explore(t, &c.mutant, c.breaks)
			if found.broken == "" {
				t.Errorf("want %s broken: %v", c.breaks, &found)
			} else {
				t.Log(&found)
			}
		})
	}
}

// TestExploreHarmlessMutants has the terms that no invariant needs, each with
// its reason. The wide scope searches every small run for a violation.
func TestExploreHarmlessMutants(t *testing.T) {
	for _, h := range harmlessMutants() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			runs := []run{runNamed(h.run)}
			if *wide {
				runs = smallRuns()
			}
			for _, r := range runs {
				found := r.explore(t, &h.mutant, "")
				found.report(t)
			}
			if !h.mutant.changed {
				t.Error("the mutant has changed nothing: its text is out of date")
			}
		})
	}
}

func runNamed(name string) run {
	for _, r := range smallRuns() {
		if r.name == name {
			return r
		}
	}
	panic("no run is called " + name)
}

// caughtCharges are mutants of charges.
func caughtCharges() []caught {
	noCeiling := condition("(#XC <= :Xb OR (#XN = :Xn AND #XF >= :Xc))", "#XN = :Xn AND #XF >= :Xc")
	noTotal := mutate(dm.Both(dm.TotalStays, dm.Assignment("#XC = if_not_exists(#XC, :zero) + :Xc", "#XC = if_not_exists(#XC, :Xc)")))
	orLimits := condition(" AND #bT", " OR #bT", " AND (attribute_not_exists(#bT)", " OR (attribute_not_exists(#bT)")
	newAnyway := mutate(dm.Condition("attribute_not_exists(#XH)", "attribute_exists(#e)")).whereSnapshot()
	return []caught{
		{"h <= :q removed", "any cost 2", "I1", mutate(dm.AnyOrder)},
		{"e = :e removed", "any 2 deletes", "I1", mutate(dm.AnyGeneration)},
		{"a snapshot creates an item", "any 2 deletes", "I1", mutate(dm.CreateFromSnapshot)},
		{"all generations share a mark", "any 2 deletes", "I1", mutate(oneGeneration)},
		{"C <= :B always true", "any cost 2", "I1", mutate(dm.AnyTotal)},
		{"C <= :B one unit looser", "any cost 2", "I1", mutate(dm.OneUnitTooMany)},
		{"C <= :B removed", "1 caller", "I4", noCeiling},
		{"n = :N removed", "any capacities", "I1", mutate(dm.AnyCapacity)},
		{"f >= :c removed", "any cost 2", "I1", mutate(dm.AnyCredit)},
		{"f >= :c becomes f >= 1", "any cost 2", "I1", mutate(dm.CreditOfOne)},
		{"f from the snapshot's total", "any cost 2", "I1", mutant{write: creditFromSnapshot}},
		{"f as if the window were empty", "any cost 2", "I1", mutate(dm.CreditOfEmptyWindow)},
		{"f is set and n is not", "any capacities", "I1", assignment("#XF = :Xb - #XC, #XN = :Xn", "#XF = :Xb - #XC")},
		{"without a snapshot f stays", "any cost 2", "I1", mutate(dm.FreeColdCharge)},
		{"without a snapshot f starts again", "any cost 2", "I1", mutate(dm.FullCreditWhenCold)},
		{"an idle snapshot leaves f", "any cost 2", "I1", mutate(dm.FreeIdleCharge)},
		{"an idle snapshot sets n", "any capacities", "I1", mutate(dm.CapacityOfIdleCharge)},
		{"known slot: e = :e removed", "any 2 down, delete", "I1", mutate(dm.AnyGeneration.InKnownSlots())},
		{"known slot: C <= :B removed", "any cost 2", "I1", mutate(dm.AnyTotal.InKnownSlots())},
		{"known slot: C not raised", "any cost 2", "I1", mutate(dm.TotalStays.InKnownSlots())},
		{"known slot: f stays", "any cost 2", "I1", mutate(dm.FreeIdleCharge.InKnownSlots())},
		{"known slot: a slot set, not raised", "any cost 2", "I1", mutate(setKnownSlot)},
		{"known slot: taken for known", "1 caller", "I4", mutant{plan: everySlotKnown}},
		{"OR after the generation", "any cost 2", "I1", condition("#e = :e AND ", "#e = :e OR ")},
		{"OR before the ceiling", "any cost 2", "I1", condition("#XH <= :Xq AND (#XC", "#XH <= :Xq OR (#XC")},
		{"OR in the credit", "any cost 2", "I1", condition("#XN = :Xn AND #XF", "#XN = :Xn OR #XF")},
		{"OR between two limits", "any window and bucket", "I1", orLimits},
		{"a limit charged since the snapshot, taken for new", "any window and bucket", "I1", newAnyway},
		{"C not raised", "any cost 2", "I1", noTotal},
		{"h not set", "any cost 2", "I1", mutate(dm.NewestStays)},
		{"a slot set, not raised", "any cost 2", "I1", mutate(setSlot)},
		{"q = b", "k=2, skew 1", "I4", mutant{plan: ownSlot}},
		{"the window from b, not q", "k=2, skew 1", "I4", mutant{plan: ownWindow}},
		{"REMOVE one slot too far", "any cost 2", "I1", mutate(dm.RemovePrevious)},
		{"ttl from b, not q", "expiry of 2 units", "I1", mutant{plan: ttlFromClock}},
		{"ttl without slack", "expiry", "I1", mutate(dm.NoSlack)},
		{"ttl of the limits that cost something", "expiry of 2 limits", "I1", mutant{plan: ttlOfCharged}},
		{"ttl not set again", "expiry", "I1", assignment("#ttl = :ttl", "#ttl = if_not_exists(#ttl, :ttl)")},
		{"weighted: tail rounded down", "any weighted", "I1", mutant{plan: floorTail}},
		{"weighted: h <= :q removed", "any weighted", "I0", mutate(dm.AnyOrder)},
	}
}

// caughtOthers are mutants of settlements, pruning, buckets, logs and
// transactions.
func caughtOthers() []caught {
	noMark := condition("#e = :e AND ", "")
	drain := condition("#e = :e AND ", "", "#XT > :Xt AND ", "")
	anyItem := condition("attribute_not_exists(#e) AND attribute_not_exists(#XH)", "(attribute_not_exists(#e) OR attribute_exists(#e))")
	startedAgain := assignment("if_not_exists(#XF, :Xn) - :Xr", ":Xn - :Xr")
	return []caught{
		{"down: e = :e removed", "any 2 down, delete", "I1", mutate(dm.AnyGeneration).refunds()},
		{"down: C lowered", "any 2 down, delete", "I1", mutate(dm.LowerTotal).refunds()},
		{"down: f raised", "any weighted, 2 down", "I1", mutate(dm.RaiseCredit).refunds()},
		{"down: sent again", "1 caller, 2 down, delete", "I1", mutant{resend: true}},
		{"up: e = :e removed", "any 1 down, 1 up, delete", "I0", condition(" AND #e = :e", "").extras()},
		{"up: h <= :q removed", "any 1 down, 1 up, delete", "I0", mutate(dm.AnyOrder).extras()},
		{"up: h not set", "any 1 down, 1 up, delete", "I1", mutate(dm.NewestStays).extras()},
		{"up: f not lowered", "any 1 down, 1 up, delete", "I1", mutate(dm.FreeExtraCharge).extras()},
		{"up: f started again", "any 1 down, 1 up, delete", "I1", startedAgain.extras()},
		{"up: n set", "any capacities, 1 up", "I1", assignment("#XN = if_not_exists(#XN, :Xn)", "#XN = :Xn").extras()},
		{"up: C not raised", "any 1 down, 1 up, delete", "I1", mutate(dm.ExtraTotalStays).extras()},
		{"up: ttl not set", "expiry, 1 up", "I1", assignment(", #ttl = :ttl", "").extras()},

		{"pruning: e = :e removed", "any pruning", "I1", mutate(dm.AnyGeneration).on(pruning)},
		{"pruning: one slot too far", "any pruning", "I1", mutant{of: pruning, write: removeCounted}},

		{"worn: the generation stays", "any worn", "I1", mutant{plan: sameGeneration}},
		{"worn: C lowered by a unit of a slot", "any worn", "I0", mutant{plan: lowerStill}},
		{"worn: a transaction remembers the old C", "any worn, transactions", "I1", mutant{assumed: oldTotal}},

		{"bucket: e = :e removed", "any bucket, delete", "I0", noMark},
		{"bucket: neither e = :e nor tat > :now", "any bucket, delete", "I1", drain},
		{"bucket: tat <= :latest removed", "any bucket, delete", "I1", mutate(dm.BucketWithoutBound)},
		{"bucket: one charge looser", "any bucket, delete", "I1", mutate(dm.BucketOneChargeTooMany)},
		{"bucket: tat <= :now removed", "any bucket, delete", "I1", mutate(dm.BucketAlwaysFull)},
		{"bucket: draining, computed from now", "any bucket, delete", "I1", assignment("#XT = #XT + :Xi", "#XT = :Xt + :Xi")},
		{"bucket: OR between its bounds", "any bucket, delete", "I1", condition("#XT > :Xt AND", "#XT > :Xt OR")},

		{"log: e = :e removed", "any log, delete", "I1", noMark},
		{"log: version removed", "any log, delete", "I1", mutate(dm.LogOfAnyVersion)},
		{"log: version at least", "any log, delete", "I1", condition("#XC = :Xv", "#XC >= :Xv")},
		{"log: version not raised", "any log, delete", "I1", mutate(sameVersion)},
		{"log: without a snapshot over any", "any log, delete", "I1", mutate(dm.LogOverAny)},

		{"transaction: e = :e removed", "any transactions", "I1", mutate(dm.AnyGeneration).on(transacting)},
		{"transaction: h <= :q removed", "any transactions", "I0", mutate(dm.AnyOrder).on(transacting)},
		{"transaction: C <= :B removed", "any transactions", "I1", mutate(dm.AnyTotal).on(transacting)},
		{"transaction: without a snapshot over any", "any transactions", "I1", anyItem.on(transacting)},
		{"transaction: its snapshot counts the charge twice", "any transactions", "I1", mutant{assumed: countTwice}},
		{"transaction: its snapshot without the charges of others", "any transactions", "I1", mutant{assumed: forgetOlder}},
	}
}

func harmlessMutants() []harmless {
	const gone = "what has left the window counts for nothing, refunded or not"
	anyGeneration := condition("attribute_not_exists(#e)", "(attribute_not_exists(#e) OR attribute_exists(#e))")
	return []harmless{
		{"the credit removed", "cost 2", "it saves writes: a snapshot that is a little old need not be read again",
			condition("(#XC <= :Xb OR (#XN = :Xn AND #XF >= :Xc))", "#XC <= :Xb")},
		{"known slot: h <= :q removed", "any cost 2",
			"C counts all since the window began; the term has the table refuse a write whose slot is gone, and not fail it",
			mutate(dm.AnyOrder.InKnownSlots())},
		{"without a snapshot n is set", "any capacities", "the condition has n = :N, or there is none",
			assignment("#XN = if_not_exists(#XN, :Xn)", "#XN = :Xn")},
		{"REMOVE nothing", "any k=2", "the item only grows", mutant{plan: removeNothing}},
		{"down: #j >= :r removed", "any 2 down, delete", "a receipt refunds what was charged; the term is for those that are settled twice",
			mutate(belowZero).refunds()},
		{"down: with h <= :j+k", "any 2 down, delete", gone, mutant{write: refundInWindow}.refunds()},
		{"down, weighted: with h <= :j+k", "any weighted, 2 down", gone, mutant{write: refundInWindow}.refunds()},
		{"bucket: tat > :now removed", "any bucket, delete", "a snapshot of this generation shows it, and only turns given back lower it: TestGivenBack",
			condition("#XT > :Xt AND ", "")},
		{"log: version at most", "any log, delete", "in a generation it is never less", condition("#XC = :Xv", "#XC <= :Xv")},
		{"transaction: without a snapshot in any generation", "any transactions, 2 limits", "each limit has to be new too",
			anyGeneration.on(transacting)},
	}
}

// mutant breaks a term of the protocol: in the real writes on their way to the
// table, or where they are planned. A nil mutant breaks nothing.
type mutant struct {
	of      kind
	write   func(*sent) dm.Mutation
	plan    func(p *Plan, s *Snapshot, c *limit.Charge, now time.Time)
	assumed func(*Snapshot) // changes the snapshot after a transaction
	resend  bool            // a settlement is sent again after its answer was lost

	changed bool // whether the mutant has changed anything
}

// mutate returns a mutant of charges outside transactions.
func mutate(m dm.Mutation) mutant {
	return mutant{write: func(*sent) dm.Mutation { return m }}
}

// condition and assignment return mutants that replace text in charges.
func condition(pairs ...string) mutant  { return mutate(dm.Condition(pairs...)) }
func assignment(pairs ...string) mutant { return mutate(dm.Assignment(pairs...)) }

// on applies the mutant to another kind of write.
func (m mutant) on(k kind) mutant {
	m.of = k
	return m
}

// whereSnapshot confines a mutant to charges that had a snapshot.
func (m mutant) whereSnapshot() mutant {
	all := m.write
	m.write = func(w *sent) dm.Mutation {
		if w.snapshot == nil {
			return nil
		}
		return all(w)
	}
	return m
}

// refunds and extras apply the mutant to settlements that refund units, and to
// settlements that charge more.
func (m mutant) refunds() mutant { return m.settlements(dm.Mutation.OfRefunds) }
func (m mutant) extras() mutant  { return m.settlements(dm.Mutation.OfExtraCharges) }

func (m mutant) settlements(only func(dm.Mutation) dm.Mutation) mutant {
	all := m.write
	m.of, m.write = settling, func(w *sent) dm.Mutation { return only(all(w)) }
	return m
}

// change breaks a write of the mutant's kind in place.
func (m *mutant) change(w *sent, u *types.Update) {
	if m != nil && m.write != nil && m.of == w.kind && m.write(w).Apply(u) {
		m.changed = true
	}
}

// misplan breaks a charge where it is planned.
func (m *mutant) misplan(p *Plan, s *Snapshot, c *limit.Charge, now time.Time) {
	if m != nil && m.plan != nil {
		m.plan(p, s, c, now)
		m.changed = true
	}
}

// misremember breaks the snapshot that a transaction leaves.
func (m *mutant) misremember(s *Snapshot) {
	if m != nil && m.assumed != nil {
		m.assumed(s)
		m.changed = true
	}
}
