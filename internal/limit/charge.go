package limit

import (
	"errors"
	"fmt"
	"time"
)

// Charge asks a store to take units from the limits of one key, from all of them or from none.
type Charge struct {
	Key    string  // the counter's name: rule, key and shape
	Limits []Limit // one to MaxLimits, in the order of their names
	Costs  []int64 // units, one for each limit; 0 is always allowed and counts nothing
}

var errShape = errors.New("a charge needs one cost for each of 1 to 8 limits")

// Check returns an error for a charge that no store can judge. Stores call it before they touch anything.
func (c *Charge) Check() error {
	if len(c.Limits) == 0 || len(c.Limits) > MaxLimits || len(c.Costs) != len(c.Limits) {
		return errShape
	}
	for i := range c.Limits {
		if l := &c.Limits[i]; !l.Valid() {
			return fmt.Errorf("limit %q is not valid: %+v", l.Name, *l)
		}
		if c.Costs[i] < 0 {
			return fmt.Errorf("limit %q: cost %d is negative", c.Limits[i].Name, c.Costs[i])
		}
	}
	return nil
}

// CheckAll returns an error for charges that no store can judge together: there must be 1 to MaxLimits of them, each on a
// key of its own and with a verdict to fill in.
func CheckAll(cs []*Charge, vs []*Verdict) error {
	if len(cs) == 0 || len(cs) > MaxLimits {
		return fmt.Errorf("%d charges at once: want 1 to %d", len(cs), MaxLimits)
	}
	if len(vs) != len(cs) {
		return fmt.Errorf("%d verdicts for %d charges", len(vs), len(cs))
	}
	for i, c := range cs {
		if err := c.Check(); err != nil {
			return err
		}
		for _, other := range cs[:i] {
			if other.Key == c.Key {
				return fmt.Errorf("two charges at once on %q", c.Key)
			}
		}
	}
	return nil
}

// CheckSettlement returns an error for corrections of the charge that no store can make. There is one for each limit: at
// most what was charged is given back, at most MaxCapacity charged more, and none for a limit that is not Correctable.
func (c *Charge) CheckSettlement(deltas []int64) error {
	if err := c.Check(); err != nil {
		return err
	}
	if len(deltas) != len(c.Limits) {
		return fmt.Errorf("%d corrections for %d limits", len(deltas), len(c.Limits))
	}
	for i, delta := range deltas {
		if delta < -c.Costs[i] || delta > MaxCapacity {
			return fmt.Errorf("limit %q: correction %d of a charge of %d is out of range", c.Limits[i].Name, delta, c.Costs[i])
		}
		if l := &c.Limits[i]; delta != 0 && !l.Correctable() {
			return fmt.Errorf("limit %q: a %s cannot be corrected", l.Name, l.Algorithm)
		}
	}
	return nil
}

// Free reports whether the charge takes nothing from any limit.
func (c *Charge) Free() bool {
	for _, cost := range c.Costs {
		if cost != 0 {
			return false
		}
	}
	return true
}

// ErrUndecided is wrapped by the errors of a store that is well but has no room or no turn for a charge. It is no outage:
// to count elsewhere instead would let more through than the limit says.
var ErrUndecided = errors.New("the store cannot take the charge now")

// Verdict is a store's answer to a Charge.
type Verdict struct {
	Result                   // all limits together
	Limits [MaxLimits]Result // each limit's own, in the charge's order
	// Receipt says what was charged. It means nothing unless the charge was made.
	Receipt Receipt
}

// Receipt names what a charge took, so that it can be corrected once the true cost is known.
type Receipt struct {
	Life  string           // the life of the counter that was charged: nothing is corrected in a later one
	Slots [MaxLimits]int64 // the slot charged, by limit; 0 for a bucket
}

// Judge says what a charge on these states would get now, one state for each limit. It changes nothing, and leaves in the
// receipt the slots that Take would charge.
func Judge(states []State, c *Charge, now time.Time, v *Verdict) {
	for i := range c.Limits {
		l, s := &c.Limits[i], &states[i]
		q := s.Current(l, now)
		v.Receipt.Slots[i] = q
		v.add(i, s.judge(l, now, q, c.Costs[i]))
	}
	v.Receipt.Life = ""
}

// Take charges the states after Judge has allowed it in v. The receipt's life is the store's to add.
func Take(states []State, c *Charge, now time.Time, v *Verdict) {
	for i := range c.Limits {
		v.add(i, states[i].take(&c.Limits[i], now, v.Receipt.Slots[i], c.Costs[i]))
	}
}

// Left fills in the verdict of a charge that was made now and has left these states, in a counter of this life.
func Left(states []State, life string, c *Charge, now time.Time, v *Verdict) {
	for i := range c.Limits {
		l, s := &c.Limits[i], &states[i]
		q := s.Current(l, now)
		v.Receipt.Slots[i] = q
		v.add(i, s.left(l, now, q, c.Costs[i]))
	}
	v.Receipt.Life = life
}

// Settle corrects the charge that r is the receipt of, in the same life of the counter: what a negative delta gives back
// is taken from the slot that was charged, so far as it still holds it; a positive one is charged now, whatever the
// capacity says. A charge that took nothing has no life, and gives nothing back.
func Settle(states []State, c *Charge, now time.Time, r *Receipt, deltas []int64) {
	for i, delta := range deltas {
		switch {
		case delta < 0 && r.Life != "":
			states[i].GiveBack(r.Slots[i], -delta)
		case delta > 0:
			states[i].Take(&c.Limits[i], now, delta)
		}
	}
}

// add takes in the result of limit i, after those before it. Most rules have one limit: its result is all there is.
func (v *Verdict) add(i int, r Result) {
	v.Limits[i] = r
	if i == 0 {
		v.Result = r
		return
	}
	v.Result = Combine(v.Limits[:i+1])
}
