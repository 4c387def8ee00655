package limit

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

const (
	// HoldMargin is how long a hold keeps its place after its end. It is longer
	// than clocks that agree with a store's can be apart, and than a holder needs
	// to notice the end.
	HoldMargin = 3 * time.Second
	// MaxHolds is the most holds of a counter: each hundred takes about 3 KB.
	MaxHolds = 1000
	// HoldAge is how old a state may be that proves by its holds alone that there
	// is no place. Holds end at any time, unlike windows.
	HoldAge = time.Second
	// HoldRetry is the retry-after of a charge that finds no place.
	HoldRetry = time.Second
)

var (
	// ErrClosed is the error of a settlement or a renewal whose hold is gone: it
	// was settled before, or has ended.
	ErrClosed = errors.New("the reservation was settled before, or has ended")
	// ErrReset is the error of one whose counter is gone, with all that it held.
	ErrReset = errors.New("the counter of the reservation was reset, or has expired")
)

// Opening is a hold that a charge opens.
//
// Example: a rule lets 20 requests work at once, each for at most 90 s. Then For
// is 90 s. A rule whose charges are settled within 15 minutes has For 15 min and
// Most 100.
type Opening struct {
	// ID names the hold in its counter: 64 random bits, or a hash of the caller's
	// own name for the charge, so that a repeated charge counts once. 0 is none.
	ID  uint64
	For time.Duration // from the charge to the end of the hold, unless it is renewed
	// Most is how many holds the counter may have. A charge that finds more is made
	// without its hold, and cannot be corrected. An InFlight limit replaces Most by
	// its capacity, and denies. A charge that costs it no place opens no hold.
	Most int64
}

// Hold is an open reservation: a charge that may still be corrected, once, and a
// place in flight.
//
// Opened distinguishes it from an earlier one of the same ID. A message about that
// one which arrives late must not settle or renew this one.
type Hold struct {
	ID          uint64
	Opened, End int64  // Unix milliseconds
	Took        []Took // by limit
}

// Took is what the charge of a hold took from one limit.
type Took struct{ Slot, Units int64 }

// over reports whether the hold has come to its end. Its holder must not work,
// but it keeps its place until it has ended, and a renewal can still save it.
func (h *Hold) over(now int64) bool { return h.End*int64(time.Millisecond) <= now }

// ended reports whether the hold has lost its place.
func (h *Hold) ended(now int64) bool { return h.over(now - int64(HoldMargin)) }

func compareHolds(a, b Hold) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID)) }

// Until returns the end of a hold that is opened or renewed now, in Unix
// milliseconds, rounded up.
func (o *Opening) Until(now time.Time) int64 {
	return now.Add(o.For + time.Millisecond - 1).UnixMilli()
}

// Holds are the holds of one counter. A nil Holds has none.
type Holds struct {
	open []Hold // ascending by end
	// Version counts the changes, so that states can be ordered: holds, unlike
	// units, also go.
	Version int64
	endless bool
}

// NewHolds returns holds in any order.
func NewHolds(open []Hold, version int64) *Holds {
	slices.SortFunc(open, compareHolds)
	return &Holds{open: open, Version: version}
}

// All returns the holds, ascending by end. The caller must not change them.
func (h *Holds) All() []Hold {
	if h == nil {
		return nil
	}
	return h.open
}

// Clone returns holds that share nothing with these but what they took.
func (h *Holds) Clone() *Holds {
	if h == nil {
		return &Holds{}
	}
	return &Holds{slices.Clone(h.open), h.Version, h.endless}
}

// Endless returns these holds as a caller sees them who does not know the time: none
// has ended.
func (h *Holds) Endless() *Holds { return &Holds{h.open, h.Version, true} }

// Changes returns Version; 0 for nil.
func (h *Holds) Changes() int64 {
	if h == nil {
		return 0
	}
	return h.Version
}

// Find returns the hold of an ID; nil if there is none.
func (h *Holds) Find(id uint64) *Hold {
	i := slices.IndexFunc(h.All(), func(open Hold) bool { return open.ID == id })
	if i < 0 {
		return nil
	}
	return &h.open[i]
}

// Over returns the hold of an ID that has come to its end; nil if there is none.
func (h *Holds) Over(id uint64, now time.Time) *Hold {
	if hold := h.Find(id); hold != nil && !h.endless && hold.over(now.UnixNano()) {
		return hold
	}
	return nil
}

// Ended returns the holds that have lost their places.
func (h *Holds) Ended(now time.Time) []Hold { return h.All()[:h.countEnded(now.UnixNano())] }

func (h *Holds) countEnded(now int64) (n int) {
	if h == nil || h.endless {
		return 0
	}
	for all := h.All(); n < len(all) && all[n].ended(now); n++ {
	}
	return n
}

// Live returns how many holds have their places.
func (h *Holds) Live(now time.Time) int64 { return h.live(now.UnixNano()) }

func (h *Holds) live(now int64) int64 { return int64(len(h.All()) - h.countEnded(now)) }

// Expiry returns the time from now until the last hold has lost its place; at
// least 0.
func (h *Holds) Expiry(now time.Time) time.Duration { return h.expiry(now.UnixNano()) }

func (h *Holds) expiry(now int64) time.Duration {
	all := h.All()
	if len(all) == 0 {
		return 0
	}
	return max(0, time.Duration(all[len(all)-1].End*int64(time.Millisecond)+int64(HoldMargin)-now))
}

// Open adds the hold of a charge, in place of one of the same ID.
func (h *Holds) Open(hold Hold) {
	all := slices.DeleteFunc(h.open, func(open Hold) bool { return open.ID == hold.ID })
	i, _ := slices.BinarySearchFunc(all, hold, compareHolds)
	h.open = slices.Insert(all, i, hold)
	h.Version++
}

// Of returns the hold of a receipt; nil if it is gone. A receipt without Opened is of
// a charge whose answer was lost. Its ID is random, and so of one opening.
func (h *Holds) Of(r *Receipt) *Hold {
	if hold := h.Find(r.Hold); hold != nil && (hold.Opened == r.Opened || r.Opened == 0) {
		return hold
	}
	return nil
}

// Close removes the hold of a receipt. It fails with ErrClosed if it is gone.
func (h *Holds) Close(r *Receipt) error {
	if h.Of(r) == nil {
		return ErrClosed
	}
	h.open = slices.DeleteFunc(h.open, func(open Hold) bool { return open.ID == r.Hold })
	h.Version++
	return nil
}

// Renew moves the end of a receipt's hold, unless a later renewal has. It fails with
// ErrClosed if it is gone.
func (h *Holds) Renew(r *Receipt, end int64) error {
	hold := h.Of(r)
	if hold == nil {
		return ErrClosed
	}
	if hold.End < end {
		renewed := *hold
		renewed.End = end
		h.Open(renewed)
	}
	return nil
}

// prune removes holds that have lost their places.
func (h *Holds) prune(now int64) { h.open = slices.Delete(h.open, 0, h.countEnded(now)) }

// decide returns what a charge of an InFlight limit would get.
func (h *Holds) decide(l *Limit, now, cost int64) Result {
	room := l.Capacity - h.live(now)
	r := Result{Allowed: cost <= max(0, room), Remaining: max(0, room), Reset: h.expiry(now)}
	if !r.Allowed {
		r.RetryAfter = HoldRetry
	}
	return r
}

// MostHolds returns how many holds the counter may have, with its own, for this
// charge to open one. It is 0 for a charge that takes no place of an InFlight
// limit, because each hold of its counter is a place.
func (c *Charge) MostHolds() int64 {
	for i := range c.Limits {
		if l := &c.Limits[i]; l.Algorithm == InFlight {
			return l.Capacity * c.Costs[i]
		}
	}
	return c.Hold.Most
}

// Reserves reports whether the charge opens a hold if there is room. One that can
// never be allowed does not.
func (c *Charge) Reserves() bool {
	if c.Hold.ID == 0 || c.MostHolds() == 0 {
		return false
	}
	for i := range c.Costs {
		if c.Costs[i] > c.Limits[i].MaxCost() {
			return false
		}
	}
	return true
}

// Takes reports whether a charge that v allows takes or opens anything.
func (c *Charge) Takes(v *Verdict) bool {
	return v.Before == nil && (v.Receipt.Hold != 0 || slices.Max(c.Costs) > 0)
}

// decideHold completes v by the hold that the charge would open.
func (h *Holds) decideHold(c *Charge, now time.Time, v *Verdict) {
	n := now.UnixNano()
	full := h.live(n) >= c.MostHolds()
	if v.Allowed && c.Hold.ID != 0 {
		if v.ByHolds = full; !full {
			v.Receipt.Hold, v.Receipt.Opened, v.Receipt.Until = c.Hold.ID, now.UnixMilli(), c.Hold.Until(now)
		}
		return
	}
	v.ByHolds = full
	for i := range c.Limits {
		v.ByHolds = v.ByHolds && (v.Limits[i].Allowed || c.Limits[i].Algorithm == InFlight)
	}
}

// repeats reports whether the charge was made before, and its hold is still open.
// Then v says so: nothing more is charged. A hold that is over does not count: its
// holder would begin to work in a place that it is about to lose.
func (h *Holds) repeats(states []State, c *Charge, now time.Time, v *Verdict) bool {
	before := h.Find(c.Hold.ID)
	if n := now.UnixNano(); before == nil || before.over(n) {
		return false
	}
	AfterCharge(states, h, "", c, now, v)
	v.Before = before.Took
	for i, took := range before.Took {
		v.Receipt.Slots[i] = took.Slot
		v.Limits[i].Delay = 0
	}
	v.Delay = 0
	return true
}

// take opens the hold of a charge that v allows.
func (h *Holds) take(c *Charge, now time.Time, v *Verdict) {
	h.prune(now.UnixNano())
	h.Open(c.HoldAt(now, &v.Receipt.Slots))
}

// HoldAt returns the hold of the charge, which is made now in these slots.
func (c *Charge) HoldAt(now time.Time, slots *[MaxLimits]int64) Hold {
	hold := Hold{ID: c.Hold.ID, Opened: now.UnixMilli(), End: c.Hold.Until(now), Took: make([]Took, len(c.Limits))}
	for i := range c.Limits {
		hold.Took[i].Units = c.Costs[i]
		if c.Limits[i].Correctable() {
			hold.Took[i].Slot = slots[i]
		}
	}
	return hold
}
