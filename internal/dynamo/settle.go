package dynamo

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Settle corrects an earlier charge by deltas, one for each of its limits, once the true cost is known.
//
// A negative delta gives units back. They leave the slot that was charged but not the total, so they count from then on
// as charged before the window: every older view stays on the safe side. Once the slot has left the window they are worth
// nothing, and are kept. A positive delta charges more without asking; later requests pay for it.
//
// A counter that was deleted since is left alone, unless the receipt is of a charge that took nothing: what it turns out
// to have cost is charged to the counter that there is. A write whose outcome is unknown is not sent again: giving back
// twice would let too much through.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	seen := s.views.get(c)
	for range maxAttempts {
		x := settleExpression(seen, c, r, deltas, now, s.opts.Wall(), s.opts.NewLife())
		if len(x.sets) == 0 {
			return nil
		}
		after, came, err := s.send(ctx, now, c, x)
		if err != nil || came == wrote {
			return err
		}
		if came == forestalled {
			continue
		}
		if r.Life != "" && (after == nil || after.life != r.Life) {
			return nil
		}
		seen = after
	}
	return ErrContended
}

// settleExpression spells the corrections that can still be made as far as a view (nil for none) tells.
func settleExpression(seen *view, c *limit.Charge, r *limit.Receipt, deltas []int64, now, wall time.Time, newLife string) *expression {
	if seen != nil && r.Life != "" && seen.life != r.Life {
		seen = nil
	}
	slots := currentSlots(seen, c.Limits, now)
	x := newExpression()
	grows := false
	for i := range c.Limits {
		l := &c.Limits[i]
		if r.Life != "" {
			slots[i] = max(slots[i], r.Slots[i]) // charged, so the newest slot is no earlier
		}
		switch {
		case deltas[i] < 0 && r.Life != "" && givable(seen, i, l, r.Slots[i], -deltas[i], now):
			giveBack(x, letter(i), r.Slots[i], -deltas[i])
		case deltas[i] > 0:
			takeMore(x, letter(i), l, slots[i], deltas[i])
			grows = true
		}
	}
	if len(x.sets) == 0 {
		return x
	}
	if grows {
		x.set(attrTTL, x.number("ttl", expiry(seen, c.Limits, &slots, now, wall)))
	}
	if r.Life != "" {
		x.require(x.name(attrLife), "=", x.text("e", r.Life))
	} else {
		x.set(attrLife, x.orElse(attrLife, x.text("e", newLife)))
	}
	return x
}

// givable reports whether a slot still holds the units and still counts, as far as a view tells.
func givable(seen *view, i int, l *limit.Limit, slot, units int64, now time.Time) bool {
	if seen == nil {
		return l.SlotAt(now) <= slot+l.Slots()
	}
	if seen.states[i].Current(l, now) > slot+l.Slots() {
		return false
	}
	for _, s := range seen.states[i].All() {
		if s.Number == slot {
			return s.Units >= units
		}
	}
	return false
}

func giveBack(x *expression, letter string, slot, units int64) {
	counter := x.name(slotName(letter, slot))
	back := x.number(letter+"r", units)
	x.require(counter, ">=", back)
	x.set(slotName(letter, slot), counter, "-", back)
}

// takeMore charges a slot whatever the ceiling. The limit may never have been charged in this life: it cost nothing then.
func takeMore(x *expression, letter string, l *limit.Limit, slot, units int64) {
	more, zero := x.number(letter+"r", units), x.number("zero", 0)
	capacity := x.number(letter+"n", l.Capacity)
	newest := x.name(letter + attrNewest)
	x.require("(attribute_not_exists("+newest+") OR", newest, "<=", x.number(letter+"q", slot)+")")
	for _, counter := range []string{letter + attrTotal, slotName(letter, slot)} {
		x.set(counter, x.orElse(counter, zero), "+", more)
	}
	x.set(letter+attrNewest, ":"+letter+"q")
	x.set(letter+attrCredit, x.orElse(letter+attrCredit, capacity), "-", more)
	x.set(letter+attrCapacity, x.orElse(letter+attrCapacity, capacity))
}
