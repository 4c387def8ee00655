package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// member is one of the charges of a transaction.
type member struct {
	charge     *limit.Charge
	verdict    *limit.Verdict
	snapshot   *protocol.Snapshot // nil for none
	generation string             // of the counter, if the transaction creates it
	answered   bool               // the snapshot is the answer to a refused transaction
}

// before reports whether the charge was made by an earlier call. Only an answer shows
// that its hold is still open.
func (m *member) before() bool { return m.verdict.Before != nil && m.answered }

// ChargeAll takes the costs of several counters or of none, in one transaction:
// each write costs twice as much as alone. The keys must differ. If one of the
// charges is denied, nothing is charged, and the other verdicts are as Peek would
// return them.
//
// A transaction returns no item, so the verdicts are computed from the
// snapshots that proved the charges: other callers may have taken more since.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	var members []*member
	for i, c := range cs {
		if !c.ZeroCost() {
			members = append(members, &member{charge: c, verdict: vs[i], snapshot: s.latest(c, now)})
		} else if err := s.Peek(ctx, now, c, vs[i]); err != nil {
			return err
		}
	}
	for attempt := range protocol.MaxAttempts + 1 {
		allowed, err := s.decideAll(ctx, now, members)
		if err != nil || !allowed || len(members) == 0 {
			return err
		}
		if attempt == protocol.MaxAttempts {
			break
		}
		charged, err := s.transact(ctx, now, members)
		if err != nil {
			return err
		}
		if charged {
			for _, m := range members {
				if m.before() {
					continue
				}
				after := m.snapshot.AfterTransaction(m.charge, now, m.generation)
				s.snapshots.put(m.charge.Key, after)
				after.Admit(m.charge, now, m.verdict)
				for i := range m.charge.Limits {
					if m.charge.Limits[i].Bucket() { // the transaction took a later turn, if others came before
						m.verdict.Receipt.Slots[i] = 0
					}
				}
			}
			return nil
		}
	}
	return ErrContended
}

// decideAll decides every charge by its snapshot, or by a new one if the snapshot
// is too old to deny. allowed is false if one of them is denied.
func (s *Store) decideAll(ctx context.Context, now time.Time, members []*member) (allowed bool, err error) {
	allowed = true
	for _, m := range members {
		if m.snapshot, err = s.prepare(ctx, now, m.charge, m.snapshot, m.verdict); err != nil {
			return false, err
		}
		allowed = allowed && m.verdict.Allowed
	}
	return allowed, nil
}

// transact writes all charges or none. A refusal updates the snapshots of the
// members whose condition failed; its answer lacks the items of the others.
func (s *Store) transact(ctx context.Context, now time.Time, members []*member) (charged bool, err error) {
	var in dynamodb.TransactWriteItemsInput
	members = slices.DeleteFunc(slices.Clone(members), (*member).before)
	if len(members) == 0 {
		return true, nil
	}
	for _, m := range members {
		if m.snapshot == nil {
			m.generation = s.opts.NewGeneration()
		}
		update := protocol.PlanTransaction(m.snapshot, m.charge, now, s.opts.Wall(), m.generation)
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: update.Request(s.table, m.charge.Key)})
	}
	s.writes.Add(2 * int64(len(members)))
	_, err = s.api.TransactWriteItems(ctx, &in)
	reasons := cancellationReasons(err)
	if len(reasons) != len(members) {
		return err == nil, Translate(err, s.table)
	}
	for i, m := range members {
		switch aws.ToString(reasons[i].Code) {
		case "None", "TransactionConflict": // the answer shows no item
		case "ConditionalCheckFailed":
			if m.snapshot, err = s.keep(m.charge, reasons[i].Item, now); err != nil {
				return false, err
			}
			m.answered = true
		default:
			return false, Translate(err, s.table)
		}
	}
	return false, nil
}
