package protocol

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// mutant breaks a term of the protocol: in the real writes on their way to the
// table, or where they are planned. A nil mutant breaks nothing.
type mutant struct {
	of      kind
	write   func(*sent) dynamomodel.Mutation
	plan    func(p *Plan, s *Snapshot, c *limit.Charge, now time.Time)
	assumed func(*Snapshot) // changes the snapshot after a transaction
	resend  bool            // a settlement is sent again after its answer was lost

	changed bool // whether the mutant has changed anything
}

// mutate returns a mutant of charges outside transactions.
func mutate(m dynamomodel.Mutation) mutant {
	return mutant{write: func(*sent) dynamomodel.Mutation { return m }}
}

// condition and assignment return mutants that replace text in charges.
func condition(pairs ...string) mutant  { return mutate(dynamomodel.Condition(pairs...)) }
func assignment(pairs ...string) mutant { return mutate(dynamomodel.Assignment(pairs...)) }

// on applies the mutant to another kind of write.
func (m mutant) on(k kind) mutant {
	m.of = k
	return m
}

// whereSnapshot confines a mutant to charges that had a snapshot.
func (m mutant) whereSnapshot() mutant {
	all := m.write
	m.write = func(w *sent) dynamomodel.Mutation {
		if w.snapshot == nil {
			return nil
		}
		return all(w)
	}
	return m
}

// refunds and extras apply the mutant to settlements that refund units, and to
// settlements that charge more.
func (m mutant) refunds() mutant { return m.settlements(dynamomodel.Mutation.OfRefunds) }
func (m mutant) extras() mutant  { return m.settlements(dynamomodel.Mutation.OfExtraCharges) }

func (m mutant) settlements(only func(dynamomodel.Mutation) dynamomodel.Mutation) mutant {
	all := m.write
	m.of, m.write = settling, func(w *sent) dynamomodel.Mutation { return only(all(w)) }
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
