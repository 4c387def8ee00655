package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
)

// member is one of the charges of a transaction.
type member struct {
	charge  *limit.Charge
	verdict *limit.Verdict
	view    *view // nil for none
	life    string
}

// ChargeAll takes the costs of several counters or of none, in one transaction: each write costs twice as much as alone.
// The keys must differ. If one of the charges is denied, nothing is charged, and the verdicts of the others say what they
// would get.
//
// A transaction returns no item, so what is left is reckoned from the view that the charge was proven by: others may have
// taken more since.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	var members []*member
	for i, c := range cs {
		if !c.Free() {
			members = append(members, &member{charge: c, verdict: vs[i], view: s.views.get(c)})
		} else if err := s.Peek(ctx, now, c, vs[i]); err != nil {
			return err
		}
	}
	for attempt := range maxAttempts + 1 {
		allowed, err := s.judgeAll(ctx, now, members)
		if err != nil || !allowed || len(members) == 0 {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		charged, err := s.transact(ctx, now, members)
		if err != nil {
			return err
		}
		if charged {
			for _, m := range members {
				s.admitUnseen(m, now)
			}
			return nil
		}
	}
	return ErrContended
}

// judgeAll judges every charge, and brings its view up to date where judge does.
func (s *Store) judgeAll(ctx context.Context, now time.Time, members []*member) (allowed bool, err error) {
	allowed = true
	for _, m := range members {
		if m.view, err = s.judge(ctx, now, m.charge, m.view, m.verdict); err != nil {
			return false, err
		}
		allowed = allowed && m.verdict.Allowed
	}
	return allowed, nil
}

// transact writes all charges or none. Refused, it leaves in the views what it has learned. A counter without a view must
// be new, because a transaction that goes through would not tell which life it has charged.
func (s *Store) transact(ctx context.Context, now time.Time, members []*member) (charged bool, err error) {
	var in dynamodb.TransactWriteItemsInput
	for _, m := range members {
		w := plan(m.view, m.charge, now, s.opts.Wall(), false)
		w.proven = true
		if m.life = w.life; m.view == nil {
			m.life = s.opts.NewLife()
		}
		x := chargeExpression(w, m.life)
		in.TransactItems = append(in.TransactItems, x.part(s.table, m.charge.Key))
	}
	s.writes.Add(2 * int64(len(members)))
	_, err = s.api.TransactWriteItems(ctx, &in)
	reasons := canceled(err)
	if len(reasons) != len(members) {
		return err == nil, Translate(err, s.table)
	}
	for i, m := range members {
		switch aws.ToString(reasons[i].Code) {
		case "None", "TransactionConflict": // nothing learned
		case "ConditionalCheckFailed":
			if m.view, err = s.keep(m.charge, reasons[i].Item, now); err != nil {
				return false, err
			}
		default:
			return false, Translate(err, s.table)
		}
	}
	return false, nil
}

// admitUnseen fills in the verdict of a charge that a transaction made. The view with the charge added to it is no state
// that the item need have had, but nothing in it is more than is in the item: it serves as one, and is as old as it was.
func (s *Store) admitUnseen(m *member, now time.Time) {
	c := m.charge
	after := newView(m.life, c.Limits, now)
	for i := range c.Limits {
		if m.view != nil {
			after.seen, after.totals[i], after.states[i] = m.view.seen, m.view.totals[i], m.view.states[i].Clone()
		}
		after.states[i].Take(&c.Limits[i], now, c.Costs[i])
		if full, charged := after.states[i].Full(); charged {
			after.totals[i] = full
		} else {
			after.totals[i] += c.Costs[i]
		}
	}
	s.views.put(c.Key, after)
	limit.Left(after.states, after.life, c, now, m.verdict)
}
