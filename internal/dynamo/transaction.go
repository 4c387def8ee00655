package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
)

// ChargeAll takes the costs of several counters or of none, in one transaction: each write costs twice as much as alone.
// The keys must differ. If one of the charges is denied, nothing is charged, and the verdicts of the others say what they
// would get.
//
// A transaction returns no item, so what is left is reckoned from the view that the charge was proven by: others may have
// taken more since.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs); err != nil {
		return err
	}
	seen := make([]*view, len(cs))
	for i, c := range cs {
		seen[i] = s.views.get(c)
	}
	for attempt := range maxAttempts + 1 {
		allowed, err := s.judgeAll(ctx, now, cs, seen, vs)
		if err != nil || !allowed {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		lives := s.newLives(seen)
		charged, err := s.transact(ctx, now, cs, seen, lives, attempt == 0)
		if err != nil {
			return err
		}
		if charged {
			for i, c := range cs {
				s.admitUnseen(seen[i], lives[i], c, now, vs[i])
			}
			return nil
		}
	}
	return ErrContended
}

// judgeAll judges every charge, and brings its view up to date where judge does.
func (s *Store) judgeAll(ctx context.Context, now time.Time, cs []*limit.Charge, seen []*view, vs []*limit.Verdict) (allowed bool, err error) {
	allowed = true
	for i, c := range cs {
		if seen[i], err = s.judge(ctx, now, c, seen[i], vs[i]); err != nil {
			return false, err
		}
		allowed = allowed && vs[i].Allowed
	}
	return allowed, nil
}

// newLives returns the life that each counter has after the transaction.
func (s *Store) newLives(seen []*view) []string {
	lives := make([]string, len(seen))
	for i := range seen {
		if lives[i] = s.opts.NewLife(); seen[i] != nil {
			lives[i] = seen[i].life
		}
	}
	return lives
}

// transact writes all charges or none. Refused, it leaves in seen what it has learned. A counter without a view must be
// new, because a transaction that goes through would not tell which life it has charged.
func (s *Store) transact(ctx context.Context, now time.Time, cs []*limit.Charge, seen []*view, lives []string, keepCredit bool) (charged bool, err error) {
	var in dynamodb.TransactWriteItemsInput
	var parts []int
	for i, c := range cs {
		if c.Free() {
			continue
		}
		x := chargeExpression(plan(seen[i], c, now, s.opts.Wall(), keepCredit), lives[i])
		if seen[i] == nil {
			x.require("attribute_not_exists(" + x.name(attrLife) + ")")
		}
		in.TransactItems = append(in.TransactItems, x.part(s.table, c.Key))
		parts = append(parts, i)
	}
	if len(parts) == 0 {
		return true, nil
	}
	s.writes.Add(2 * int64(len(parts)))
	_, err = s.api.TransactWriteItems(ctx, &in)
	reasons := canceled(err)
	if len(reasons) != len(parts) {
		return err == nil, Translate(err, s.table)
	}
	for n, i := range parts {
		switch aws.ToString(reasons[n].Code) {
		case "None", "TransactionConflict": // nothing learned
		case "ConditionalCheckFailed":
			if seen[i], err = s.keep(cs[i], reasons[n].Item, now); err != nil {
				return false, err
			}
		default:
			return false, Translate(err, s.table)
		}
	}
	return false, nil
}

// admitUnseen fills in the verdict of a charge that a transaction made. The view with the charge added to it is no state
// that the item need have had, but nothing in it is more than is in the item: it serves as one.
func (s *Store) admitUnseen(seen *view, life string, c *limit.Charge, now time.Time, v *limit.Verdict) {
	if c.Free() {
		return
	}
	after := newView(life, c.Limits, now)
	for i := range c.Limits {
		l := &c.Limits[i]
		if seen != nil {
			after.totals[i] = seen.totals[i]
			after.states[i] = limit.State{Slots: limit.NewSlots(slices.Clone(seen.states[i].All())), Bucket: seen.states[i].Bucket}
		}
		after.states[i].Take(l, now, c.Costs[i])
		if full, charged := after.states[i].Full(); charged {
			after.totals[i] = full
		} else {
			after.totals[i] += c.Costs[i]
		}
	}
	s.views.put(c.Key, after)
	admit(after, c, now, v)
}
