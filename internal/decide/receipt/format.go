package receipt

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// version is the first byte of a receipt. A backend refuses other versions, and
// the charge stays.
const version = 2

// The bounds of what a receipt may state. A receipt of the authorizer's is far
// below them.
const (
	maxStatuses = MaxLen // a longer list does not fit
	maxWeights  = MaxLen
	maxUnits    = 1 << 62
	// farthest bounds times, in nanoseconds from 1970: slots must fit 64 bits.
	farthest = 1 << 62
	// farthestWindow bounds the number of a calendar's window.
	farthestWindow = 1 << 20
)

// serialMark stands before the serial number of a generation. The random marks
// of stores do not contain it.
const serialMark = "#"

// A receipt is a head, and the charges up to its end. Numbers are varints, and
// texts have their length before them. The head has the ID of the decision's
// holds, 0 for none; each charge that has one says how long it is, and when it was
// opened and ends, in milliseconds after the decision.

func appendHead(data []byte, now time.Time, rulesVersion int64, pending []engine.Pending) []byte {
	data = append(data, version)
	data = binary.AppendVarint(data, now.UnixNano())
	data = binary.AppendUvarint(data, uint64(rulesVersion))
	var hold uint64
	for i := range pending {
		hold = cmp.Or(hold, pending[i].Receipt.Hold)
	}
	return binary.AppendUvarint(data, hold)
}

func appendPending(data []byte, p *engine.Pending, now time.Time) []byte {
	data = appendString(data, p.Rule)
	data = appendString(data, p.Charge.Key)
	data = appendString(data, generation(&p.Receipt))
	if p.Receipt.Hold == 0 {
		data = binary.AppendUvarint(data, 0)
	} else {
		data = binary.AppendUvarint(data, uint64(p.Charge.Hold.For))
		data = binary.AppendVarint(data, p.Receipt.Opened-now.UnixMilli())
		data = binary.AppendVarint(data, p.Receipt.Until-now.UnixMilli())
	}
	data = binary.AppendUvarint(data, uint64(len(p.Refunds)))
	for _, s := range p.Refunds {
		data = binary.AppendUvarint(data, uint64(s.First))
		data = binary.AppendUvarint(data, uint64(s.Last-s.First))
	}
	data = binary.AppendUvarint(data, uint64(len(p.Charge.Limits)))
	for i := range p.Charge.Limits {
		l := &p.Charge.Limits[i]
		data = appendLimit(data, l)
		data = binary.AppendUvarint(data, uint64(p.Charge.Costs[i]))
		data = binary.AppendUvarint(data, uint64(p.MaxCosts[i]-engine.Unsettled))
		if l.Correctable() { // the slot of another one is of no use
			data = binary.AppendVarint(data, p.Receipt.Slots[i]-l.SlotAt(now))
		}
		if p.MaxCosts[i] != engine.Unsettled {
			data = binary.AppendUvarint(data, uint64(len(p.Weights[i])))
			for _, name := range slices.Sorted(maps.Keys(p.Weights[i])) {
				data = binary.AppendUvarint(appendString(data, name), uint64(p.Weights[i][name]))
			}
		}
	}
	return data
}

// generation returns the generation of a receipt, with its serial number behind
// it if it has one.
func generation(r *limit.Receipt) string {
	if r.Serial == 0 {
		return r.Generation
	}
	return r.Generation + serialMark + strconv.FormatUint(r.Serial, 10)
}

func appendLimit(data []byte, l *limit.Limit) []byte {
	data = appendString(data, l.Name)
	data = append(data, byte(l.Algorithm))
	for _, n := range [...]uint64{uint64(l.Capacity), uint64(l.Window), uint64(l.Granularity), uint64(l.Burst)} {
		data = binary.AppendUvarint(data, n)
	}
	if l.Calendar == nil {
		return append(data, 0)
	}
	data = append(data, 1+byte(l.Calendar.Unit), byte(l.Calendar.Anchor))
	return appendString(data, l.Calendar.Location.String())
}

func appendString(data []byte, s string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(s))), s...)
}

// decoder reads a receipt. After the first error it returns zero values.
type decoder struct {
	data []byte
	err  error
}

func decode(data []byte) (*Receipt, error) {
	d := &decoder{data: data}
	if v := d.byte(); d.err == nil && v != version {
		return nil, fmt.Errorf("%w: it has version %d, and this program reads version %d", ErrMalformed, v, version)
	}
	r := &Receipt{}
	at := d.signed()
	d.check(-farthest <= at && at <= farthest, "time")
	r.Time = time.Unix(0, at)
	r.Rules = d.number(math.MaxInt64, "version of the rules")
	hold, size := binary.Uvarint(d.data)
	d.took(0, size)
	for d.err == nil && len(d.data) > 0 {
		r.Pending = append(r.Pending, d.pending(r.Time, hold))
	}
	d.check(len(r.Pending) > 0, "charge")
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

func (d *decoder) pending(at time.Time, hold uint64) (p engine.Pending) {
	p.Rule, p.Charge.Key = d.string(), d.string()
	p.Receipt.Generation, p.Receipt.Serial = d.generation()
	d.check(p.Rule != "" && p.Charge.Key != "", "rule or key")
	if open := d.number(int64(limit.MaxHold), "length of a hold"); open > 0 {
		d.check(hold != 0, "ID of its holds")
		p.Charge.Hold = limit.Opening{ID: hold, For: time.Duration(open)}
		p.Receipt.Hold, p.Receipt.Opened, p.Receipt.Until = hold, d.milliseconds(at), d.milliseconds(at)
	}
	for range d.number(maxStatuses, "number of statuses") {
		first := int(d.number(999, "status"))
		p.Refunds = append(p.Refunds, rules.Statuses{First: first, Last: first + int(d.number(999, "status"))})
	}
	n := d.number(limit.MaxLimits, "number of limits")
	for i := range n {
		if d.err != nil {
			return p
		}
		l := d.limit()
		p.Charge.Limits = append(p.Charge.Limits, l)
		p.Charge.Costs = append(p.Charge.Costs, d.number(maxUnits, "cost"))
		p.MaxCosts[i] = d.number(maxUnits, "most cost") + engine.Unsettled
		if d.err == nil && l.Correctable() {
			p.Receipt.Slots[i] = d.slot(&l, at)
		}
		d.check(l.Correctable() || p.MaxCosts[i] == engine.Unsettled, "limit that settles")
		if p.MaxCosts[i] != engine.Unsettled {
			p.Weights[i] = d.weights()
		}
	}
	d.check(n > 0, "limit")
	return p
}

// weights reads what usage costs; nil for none.
func (d *decoder) weights() (all rules.Weights) {
	for range d.number(maxWeights, "number of weights") {
		if all == nil {
			all = rules.Weights{}
		}
		name := d.string()
		all[name] = d.number(rules.MaxWeight, "weight")
	}
	return all
}

// milliseconds reads when a hold was opened, or ends. Stores may go by clocks of
// their own, and a repeated charge names the hold of an earlier one.
func (d *decoder) milliseconds(at time.Time) int64 {
	distance := d.signed()
	d.check(max(distance, -distance) <= 2*limit.MaxHold.Milliseconds(), "time of a hold")
	return at.UnixMilli() + distance
}

// generation reads what generation wrote.
func (d *decoder) generation() (mark string, serial uint64) {
	mark, number, numbered := strings.Cut(d.string(), serialMark)
	if !numbered {
		return mark, 0
	}
	serial, err := strconv.ParseUint(number, 10, 64)
	d.check(err == nil && serial > 0, "generation")
	return mark, serial
}

// limit reads a limit; it is valid if there is no error.
func (d *decoder) limit() (l limit.Limit) {
	l.Name, l.Algorithm = d.string(), limit.Algorithm(d.byte())
	l.Capacity = d.number(maxUnits, "capacity")
	l.Window = time.Duration(d.number(int64(limit.MaxWindow), "window"))
	l.Granularity = time.Duration(d.number(int64(limit.MaxWindow), "granularity"))
	l.Burst = d.number(maxUnits, "burst")
	if unit := d.byte(); unit > 0 && d.err == nil {
		l.Calendar = &limit.Calendar{Unit: limit.Unit(unit - 1), Anchor: int(d.byte())}
		zone, err := time.LoadLocation(d.string())
		if err != nil && d.err == nil {
			d.err = fmt.Errorf("the receipt's calendar: %w: import time/tzdata", err)
		}
		l.Calendar.Location = zone
	}
	d.check(d.err != nil || l.Valid(), "limit")
	return l
}

// slot reads the slot that was charged, as its distance from that of the
// decision's time.
func (d *decoder) slot(l *limit.Limit, at time.Time) int64 {
	distance, bound := d.signed(), int64(farthestWindow)
	if l.Calendar == nil {
		bound = farthest / int64(l.Granularity)
	}
	d.check(-bound <= distance && distance <= bound, "slot")
	slot := l.SlotAt(at) + distance
	d.check(-bound <= slot && slot <= bound, "slot")
	return slot
}

func (d *decoder) byte() (b byte) {
	if d.check(len(d.data) > 0, "end"); d.err != nil {
		return 0
	}
	b, d.data = d.data[0], d.data[1:]
	return b
}

func (d *decoder) signed() int64 {
	n, size := binary.Varint(d.data)
	return d.took(n, size)
}

// number reads a number from 0 to most.
func (d *decoder) number(most int64, what string) int64 {
	n, size := binary.Uvarint(d.data)
	d.check(n <= uint64(most), what)
	return d.took(int64(n), size)
}

func (d *decoder) took(n int64, size int) int64 {
	if d.check(size > 0, "number"); d.err != nil {
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) string() (s string) {
	n := d.number(MaxLen, "length of a text")
	if d.check(n <= int64(len(d.data)), "end"); d.err != nil {
		return ""
	}
	s, d.data = string(d.data[:n]), d.data[n:]
	return s
}

func (d *decoder) check(ok bool, what string) {
	if !ok && d.err == nil {
		d.err = fmt.Errorf("%w: it has no valid %s", ErrMalformed, what)
	}
}
