package limit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Charge is a call to a store: take units from all limits of one key, or from
// none.
type Charge struct {
	// Key is the counter's name: rule, key and shape.
	Key    string
	Limits []Limit // one to MaxLimits, in the order of their names
	Costs  []int64 // units, one for each limit; 0 is always allowed and counts nothing
	// Checked says that Check has accepted these limits before. It then looks at
	// the costs alone, without divisions.
	Checked bool
	// Lease is the most charges of these costs that a process may make ahead in
	// one write; 0 for none. Only the DynamoDB store does.
	Lease int32
	// Hold is a hold to open with the charge; its ID is 0 for none. A charge of an
	// InFlight limit needs one.
	Hold Opening
}

var errShape = errors.New("a charge needs one cost for each of 1 to 8 limits")

// Check returns an error for a malformed charge. Stores call it before they
// read or write anything.
func (c *Charge) Check() error {
	if len(c.Limits) == 0 || len(c.Limits) > MaxLimits || len(c.Costs) != len(c.Limits) {
		return errShape
	}
	places := 0
	for i := range c.Limits {
		if l := &c.Limits[i]; !c.Checked && !l.Valid() {
			return fmt.Errorf("limit %q is not valid: %+v", l.Name, *l)
		}
		if c.Costs[i] < 0 {
			return fmt.Errorf("limit %q: cost %d is negative", c.Limits[i].Name, c.Costs[i])
		}
		if c.Limits[i].Algorithm != InFlight {
			continue
		}
		if places++; places > 1 || c.Costs[i] > 1 || c.Costs[i] > 0 && c.Hold.ID == 0 {
			return fmt.Errorf("limit %q: a request in flight takes one place of one limit, and has a hold", c.Limits[i].Name)
		}
	}
	if o := &c.Hold; o.ID != 0 && (o.For < 0 || o.For > MaxHold || o.Most < 0 || o.Most > MaxHolds) {
		return fmt.Errorf("a hold of %v beside at most %d: want at most %v, and %d", o.For, o.Most, MaxHold, MaxHolds)
	}
	return nil
}

// CheckAll returns an error for charges that do not form an atomic group: there
// must be 1 to MaxLimits of them, each on another key and with a verdict to
// fill in. Two on one key could be charged one after the other, so that error
// wraps ErrGroup.
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
				return fmt.Errorf("two charges at once on %q: %w", c.Key, ErrGroup)
			}
		}
	}
	return nil
}

// CheckSettlement returns an error for corrections of the charge that no store
// can make. There must be one delta for each limit, in units. It refunds at
// most the cost, charges at most MaxCapacity more, and is 0 for a limit that is
// not Correctable. A leaky bucket can be refunded the whole cost.
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
		if l := &c.Limits[i]; delta != 0 && !l.Correctable() && (delta != -c.Costs[i] || l.Algorithm != LeakyBucket) {
			return fmt.Errorf("limit %q: a %s cannot be corrected", l.Name, l.Algorithm)
		}
	}
	return nil
}

// ZeroCost reports whether the charge takes nothing: its cost is zero for every
// limit, and it opens no hold.
func (c *Charge) ZeroCost() bool {
	if c.Reserves() {
		return false
	}
	for _, cost := range c.Costs {
		if cost != 0 {
			return false
		}
	}
	return true
}

// CheckRenewal returns an error for a receipt without a hold to renew, and for one
// of a charge whose answer was lost: its hold can only be closed.
func (c *Charge) CheckRenewal(r *Receipt) error {
	if r.Hold == 0 || r.Generation == "" || c.Hold.For < time.Second || c.Hold.For > MaxHold {
		return fmt.Errorf("a charge without a known hold, or with one of %v, cannot be renewed", c.Hold.For)
	}
	return c.Check()
}

// ErrUndecided is wrapped by errors of a healthy store that cannot take a
// charge: the store is full, or lost against too many other writers. It is no
// outage. A caller that counted elsewhere instead would let more through than
// the limit.
var ErrUndecided = errors.New("the store cannot take the charge now")

// Throttled is the error of a store that works, but refuses calls above a limit
// of its own. It is no outage: the refusal comes at once, and fewer calls end it.
type Throttled string

// Error returns the text.
func (t Throttled) Error() string { return string(t) }

// ErrDeadline is the cause of a context that ends at the limiter's own deadline
// for a decision. The deadline of a caller has another cause.
var ErrDeadline = fmt.Errorf("the deadline of the decision: %w", context.DeadlineExceeded)

// Verdict is a store's answer to a Charge.
//
// The examples are of a charge with costs 1 and 500, on a limit of 10 requests
// per minute and one of 4,000 tokens per minute. The key has taken 2 requests
// and 3,800 tokens so far.
type Verdict struct {
	// Result combines all limits: denied, because 500 tokens do not fit.
	// Remaining is 8, the smaller of 8 requests and 200 tokens.
	Result
	// Limits holds each limit's own result in the charge's order: 8 requests
	// remain and would allow the charge; 200 tokens remain and deny it.
	// A store allocates it if the caller has given too little room.
	Limits []Result
	// Receipt names what was charged. It is undefined unless the charge was
	// made.
	Receipt Receipt
	// Snapshot says that an earlier answer of the store has proved the denial,
	// so the charge took no call.
	Snapshot bool
	// ByHolds says that open holds alone deny the charge, or leave it without its
	// own: a state proves that for HoldAge.
	ByHolds bool
	// Before is what the charge took, by limit, if it was made before, and its hold
	// is open still. Nothing was charged then. It is nil otherwise.
	Before []Took
}

// Receipt names what a charge took, so that a settlement can correct it once
// the true cost is known.
type Receipt struct {
	// Generation is a mark of the counter that was charged, such as
	// "q83vASNFZ4mrze8B". A counter that was deleted and created again has
	// another one, and is not corrected. It is empty for a charge of zero cost.
	Generation string
	// Serial distinguishes generations of the same mark. Only counters in memory
	// have one, because a text of their own would take as much room as a counter.
	Serial uint64
	// Slots holds the slot charged, by limit: 1700000040 for a slot of one
	// second at that Unix time. For a bucket it is when the charge leaves it
	// full, in Unix nanoseconds.
	Slots [MaxLimits]int64
	// Hold is the ID of the hold that the charge opened; 0 for none.
	Hold uint64
	// Opened and Until are when that hold was opened and when it ends, in Unix
	// milliseconds.
	Opened, Until int64
}

// Decide fills in v with what a charge on these states, one for each limit, and
// holds (nil for none) would get now. It changes no state. The receipt then names
// the slots that Take would charge.
func Decide(states []State, h *Holds, c *Charge, now time.Time, v *Verdict) {
	if c.Reserves() && h.repeats(states, c, now, v) {
		return
	}
	n := now.UnixNano()
	v.Resize(len(c.Limits))
	for i := range c.Limits {
		l, s := &c.Limits[i], &states[i]
		if l.Algorithm == InFlight {
			v.add(i, l, n, 0, h.decide(l, n, c.Costs[i]))
			continue
		}
		q := s.current(l, n)
		v.add(i, l, n, q, s.decide(l, n, q, c.Costs[i]))
	}
	if v.clear(""); c.Reserves() {
		h.decideHold(c, now, v)
	}
}

// clear makes v the verdict of a charge without a hold. Most are, one after the other,
// and to store takes longer than to look.
func (v *Verdict) clear(generation string) {
	v.Receipt.Generation, v.Receipt.Serial = generation, 0
	if v.Receipt.Hold != 0 || v.ByHolds || v.Before != nil {
		v.Receipt.Hold, v.Receipt.Opened, v.Receipt.Until, v.ByHolds, v.Before = 0, 0, 0, false, nil
	}
}

// Apply decides a charge on these states and holds, and makes it if they allow
// it: Decide and then Take. It reports whether it has changed anything. The holds
// may be nil if the charge opens none.
func Apply(states []State, h *Holds, c *Charge, now time.Time, v *Verdict) bool {
	if l := &c.Limits[0]; len(c.Limits) == 1 && c.Hold.ID == 0 && l.Algorithm != InFlight { // as of most rules
		s, n := &states[0], now.UnixNano()
		q := s.current(l, n)
		v.Resize(1)
		r := &v.Limits[0]
		s.apply(l, n, q, c.Costs[0], r)
		v.clear("")
		v.Receipt.Slots[0] = l.receipt(n, q, r)
		v.set(r.Allowed, r.Remaining, r.Reset, r.RetryAfter, r.Delay)
		return v.Allowed && c.Costs[0] > 0
	}
	Decide(states, h, c, now, v)
	if !v.Allowed || !c.Takes(v) {
		return false
	}
	Take(states, h, c, now, v)
	return true
}

// Take makes a charge that Decide has allowed in v, and that was not made before.
// The store adds the receipt's generation.
func Take(states []State, h *Holds, c *Charge, now time.Time, v *Verdict) {
	n := now.UnixNano()
	if v.Receipt.Hold != 0 {
		h.take(c, now, v)
	}
	for i := range c.Limits {
		l, q := &c.Limits[i], v.Receipt.Slots[i]
		if l.Algorithm == InFlight {
			v.add(i, l, n, 0, h.decide(l, n, 0))
			continue
		}
		v.add(i, l, n, q, states[i].take(l, n, q, c.Costs[i]))
	}
}

// AfterCharge fills in the verdict of a charge that another process or program
// made now, and that has left these states and holds in a counter of this
// generation.
func AfterCharge(states []State, h *Holds, generation string, c *Charge, now time.Time, v *Verdict) {
	n := now.UnixNano()
	v.Resize(len(c.Limits))
	for i := range c.Limits {
		l, s := &c.Limits[i], &states[i]
		if l.Algorithm == InFlight {
			v.add(i, l, n, 0, h.decide(l, n, 0))
			continue
		}
		q := s.current(l, n)
		v.add(i, l, n, q, s.afterCharge(l, n, q, c.Costs[i]))
	}
	v.clear(generation)
	if hold := h.Find(c.Hold.ID); hold != nil && c.Reserves() && !hold.over(n) {
		v.Receipt.Hold, v.Receipt.Opened, v.Receipt.Until = hold.ID, hold.Opened, hold.End
	}
}

// Settle corrects the charge of receipt r, in a counter of the same generation,
// and closes its hold if it has one. It fails with ErrClosed if that is gone, and
// changes nothing then.
//
// A negative delta refunds units to the slot that was charged, as far as the
// slot still holds them, or returns the turn in a leaky bucket. A positive delta
// is charged now, whatever the capacity. A charge of zero cost has no
// generation, and nothing to refund.
func Settle(states []State, h *Holds, c *Charge, now time.Time, r *Receipt, deltas []int64) error {
	if r.Hold != 0 {
		if err := h.Close(r); err != nil {
			return err
		}
	}
	for i, delta := range deltas {
		switch l := &c.Limits[i]; {
		case delta < 0 && r.Generation != "" && l.Bucket():
			states[i].giveBack(now, l.Turn(r.Slots[i], -delta), r.Slots[i])
		case delta < 0 && r.Generation != "":
			states[i].Refund(r.Slots[i], -delta)
		case delta > 0:
			states[i].Take(l, now, min(delta, maxUnits-states[i].held(l, states[i].Current(l, now))))
		}
	}
	return nil
}

// Resize makes room for the results of so many limits, whose values are
// undefined. It allocates if there is too little room.
func (v *Verdict) Resize(limits int) {
	if cap(v.Limits) < limits {
		v.Limits = make([]Result, limits)
	}
	v.Limits = v.Limits[:limits]
}

// receipt returns what a receipt names of a charge: its slot q, or when it leaves
// a bucket full.
func (l *Limit) receipt(now, q int64, r *Result) int64 {
	if l.Bucket() {
		return now + int64(r.Reset)
	}
	return q
}

// add combines the result of limit i with those before it. Most rules have one
// limit, so its result is copied.
func (v *Verdict) add(i int, l *Limit, now, q int64, r Result) {
	v.Limits[i], v.Receipt.Slots[i] = r, l.receipt(now, q, &r)
	if i == 0 {
		v.Result = r
		return
	}
	v.Result = Combine(v.Limits[:i+1])
}
