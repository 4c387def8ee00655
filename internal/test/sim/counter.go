package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// counter is an item of the table with its exact log. A deletion by an operator
// starts a new log. The table may expire an item only when no window contains
// its charges, so the log continues then.
type counter struct {
	key       string
	logs      [limit.MaxLimits]limitLog
	ttl       int64 // Unix seconds, of the item as it is; 0 for none
	expiring  bool  // a check for expiry is scheduled
	resetting bool  // an operator's reset is scheduled

	charged []limit.State // by package limit, to check denials
	lowered int64         // when units were last refunded, or the item deleted

	history []string // the latest events, oldest first
}

func (w *world) newCounter(s *subject, limits []limit.Limit) *counter {
	k := &counter{key: fmt.Sprintf("rule|user:%d|%08x", s.number, len(w.counters)+1), lowered: -1 << 62, charged: make([]limit.State, len(limits))}
	w.counters[k.key] = k
	return k
}

// restart begins a new log, because an operator has deleted the item.
func (k *counter) restart(w *world) {
	k.logs = [limit.MaxLimits]limitLog{}
	clear(k.charged)
	k.ttl, k.lowered = 0, w.now
	k.note(w, "reset")
}

// expired records that the table has deleted the item.
func (k *counter) expired(w *world) {
	for i := range k.logs {
		k.logs[i].total = 0
	}
	k.ttl, k.lowered = 0, w.now
	w.count("items expired", 1)
	k.note(w, "expired")
}

// charge logs a charge that has taken effect. item is the counter as it is now.
func (k *counter) charge(w *world, c *call, p *part, item map[string]types.AttributeValue) {
	r := c.request
	p.applied++
	for i := range p.charge.Limits {
		l, cost := &p.charge.Limits[i], p.charge.Costs[i]
		if cost == 0 {
			continue
		}
		of := charging{l, cost, number(item, prefixOf(i)+"H"), r.now, r.trueNow, w.now, !c.lost && !c.over}
		k.note(w, "charge by %d, %v", r.environment.number, &of)
		broken, peak := k.logs[i].charge(&of)
		if broken != "" {
			w.count("over-admissions", 1)
			k.violated(w, "limit "+prefixOf(i)+": "+broken)
		}
		w.peak(peak)
		if !c.more {
			k.checkTotal(w, i, l, item)
		}
		k.charged[i].Take(l, r.now, cost)
		if !of.admitted {
			w.count("units lost", cost)
		}
	}
	k.stored(w, item)
}

// checkTotal compares the item's total with the log's.
func (k *counter) checkTotal(w *world, i int, l *limit.Limit, item map[string]types.AttributeValue) {
	if got, want := number(item, prefixOf(i)+"C"), k.logs[i].total; !l.Bucket() && got != want {
		k.violated(w, fmt.Sprintf("limit %s: the item's total is %d, charged were %d", prefixOf(i), got, want))
		k.logs[i].total = got
	}
}

// peak records the share of a capacity in a window of true time, unless the
// world is still warming up. A window that the end of the warm-up cuts in two
// counts in full.
func (w *world) peak(share float64) {
	if w.now-epoch >= int64(w.plan.Warmup) {
		w.report.Peak = max(w.report.Peak, share)
	}
}

// settle logs the effect of a correction on the item, and nothing if the item
// is of another generation.
func (k *counter) settle(w *world, c *call, p *part, item map[string]types.AttributeValue) {
	k.stored(w, item)
	generation, _ := item["e"].(*types.AttributeValueMemberS)
	for i, delta := range p.deltas {
		l, log, r := &p.charge.Limits[i], &k.logs[i], c.request
		slot := p.receipt.Slots[i]
		switch {
		case delta > 0 && number(item, prefixOf(i)+"C") == log.total+delta:
			of := charging{l, delta, number(item, prefixOf(i)+"H"), r.now, r.trueNow, w.now, false}
			k.note(w, "charge more by %d, %v", r.environment.number, &of)
			log.more(&of)
			k.charged[i].Take(l, r.now, delta)
		case delta < 0 && generation.Value == p.receipt.Generation && refunded(item, i, slot, log.slots.units[slot]+delta):
			of := charging{l, delta, slot, r.now, r.trueNow, w.now, false}
			k.note(w, "refund by %d, %v", r.environment.number, &of)
			log.less(slot, -delta, p.entry)
			k.charged[i].Refund(slot, -delta)
			k.lowered = w.now
		}
	}
}

// refunded reports whether an item's slot contains exactly these units.
func refunded(item map[string]types.AttributeValue, i int, slot, units int64) bool {
	name := prefixOf(i) + strconv.FormatInt(slot, 36)
	return item[name] != nil && number(item, name) == units
}

// stored records the size and the ttl of the item.
func (k *counter) stored(w *world, item map[string]types.AttributeValue) {
	k.ttl = number(item, "ttl")
	w.reap(k)
	if len(item) > w.report.Attributes {
		w.report.Attributes, w.report.Bytes = len(item), dynamomodel.Size(item)
	}
}

// room reports whether package limit would allow a charge.
func (k *counter) room(c *limit.Charge, now time.Time) bool {
	var v limit.Verdict
	limit.Decide(k.charged, c, now, &v)
	return v.Allowed
}

func prefixOf(i int) string { return "abcdefgh"[i : i+1] }

// number returns a number of an item; 0 if there is none.
func number(item map[string]types.AttributeValue, name string) int64 {
	return dynamomodel.Units(item[name])
}
