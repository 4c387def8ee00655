package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// write is a charge on its way, planned from one view. It is the protocol of docs/design.md, sections 3.1 to 3.3, before
// it is spelt as DynamoDB expressions.
type write struct {
	life   string       // of the view; empty without one
	limits []limitWrite // of the limits that cost something
	ttl    int64        // Unix seconds
	// proven has the view alone prove that there is room, and no credit: a transaction's answer shows no item that could be
	// checked. Without a view the counter must be new.
	proven bool
}

// limitWrite is what a write does to one limit.
type limitWrite interface {
	// spell adds the condition under which the charge keeps the limit, and the update that makes it. proven is the
	// write's.
	spell(x *expression, proven bool)
}

// plan says what to write to make the charge, given a view (nil for none) that does not deny it. Limits whose cost is 0
// are left out. keepCredit leaves the credit of a limit alone that the view shows idle: a mostly idle fleet then spares
// itself a second write for each key.
func plan(v *view, c *limit.Charge, now, wall time.Time, keepCredit bool) *write {
	slots := currentSlots(v, c.Limits, now)
	w := &write{ttl: expiry(v, c.Limits, &slots, now, wall)}
	if v != nil {
		w.life = v.life
	}
	room := maxRemovals
	for i := range c.Limits {
		l, cost := &c.Limits[i], c.Costs[i]
		switch {
		case cost == 0:
		case l.Bucket():
			w.limits = append(w.limits, planBucket(v, i, l, now, cost))
		case l.Algorithm == limit.SlidingWindowLog:
			w.limits = append(w.limits, planLog(v, i, l, now, cost))
		default:
			sw := planSlots(v, i, l, now, cost, keepCredit)
			sw.expired = sw.expired[:min(len(sw.expired), room)]
			room -= len(sw.expired)
			w.limits = append(w.limits, sw)
		}
	}
	return w
}

// currentSlots returns q for each limit: the slot that a charge made now belongs to, as far as a view tells.
func currentSlots(v *view, limits []limit.Limit, now time.Time) (slots [limit.MaxLimits]int64) {
	var never [limit.MaxLimits]limit.State
	states := never[:]
	if v != nil {
		states = v.states
	}
	for i := range limits {
		slots[i] = states[i].Current(&limits[i], now)
	}
	return slots
}

// slack is how long an item outlives its last window: longer than any write can be under way and any clock be wrong.
const slack = 3600 * time.Second

// expiry returns the item's ttl: when the last of its limits counts for nothing any more, by the wall clock, and the
// slack. Limits that cost nothing now count too, or the charge of a short limit would have a long one's counter deleted
// under it.
func expiry(v *view, limits []limit.Limit, slots *[limit.MaxLimits]int64, now, wall time.Time) int64 {
	var longest time.Duration
	for i := range limits {
		switch l := &limits[i]; {
		case !l.Bucket():
			longest = max(longest, l.Until(slots[i]+l.Slots()+1, now))
		case v == nil:
			longest = max(longest, l.Drain()) // no charge fills a bucket further
		default:
			longest = max(longest, l.Drain(), v.states[i].Expiry(l, now))
		}
	}
	end := wall.Add(longest)
	seconds := end.Unix()
	if end.Nanosecond() > 0 {
		seconds++
	}
	return seconds + int64(slack/time.Second)
}
