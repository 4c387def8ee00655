package outage

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// counter is an item of the table with its exact log. A deletion by an operator
// starts a new log. The table may expire an item only when no window contains
// its charges, so the log continues then.
type counter struct {
	key       string
	log       limitLog
	ttl       int64 // Unix seconds, of the item as it is; 0 for none
	expiring  bool  // a check for expiry is scheduled
	resetting bool  // an operator's reset is scheduled

	history []string // the latest events, oldest first
}

func (w *world) newCounter(number int) *counter {
	k := &counter{key: fmt.Sprintf("rule|user:%d|00000000", number)}
	w.counters[k.key] = k
	return k
}

// restart begins a new log, because an operator has deleted the item.
func (k *counter) restart(w *world) {
	k.log, k.ttl = limitLog{}, 0
	k.note(w, "reset")
}

// expired records that the table has deleted the item.
func (k *counter) expired(w *world) {
	k.log.total, k.ttl = 0, 0
	w.count("items expired", 1)
	k.note(w, "expired")
}

// charge logs a charge that has taken effect. item is the counter as it is now.
func (k *counter) charge(w *world, c *call, item map[string]types.AttributeValue) {
	r := c.request
	r.applied++
	l, cost := &r.charge.Limits[0], r.charge.Costs[0]
	of := charging{l, cost, dynamomodel.Units(item["aH"]), r.now, r.trueNow, w.now, !c.lost && !c.over}
	k.note(w, "charge by %d, %v", r.environment.number, &of)
	broken, peak := k.log.charge(&of)
	if broken != "" {
		w.count("over-admissions", 1)
		k.violated(w, broken)
	}
	w.peak(peak)
	if got, want := dynamomodel.Units(item["aC"]), k.log.total; !c.more && got != want {
		k.violated(w, fmt.Sprintf("the item's total is %d, charged were %d", got, want))
		k.log.total = got
	}
	if !of.admitted {
		w.count("units lost", cost)
	}
	k.stored(w, item)
}

// peak records the share of a capacity in a window of true time, unless the
// world is still warming up. A window that the end of the warm-up cuts in two
// counts in full.
func (w *world) peak(share float64) {
	if w.now-epoch >= int64(w.plan.Warmup) {
		w.report.Peak = max(w.report.Peak, share)
	}
}

// stored records the size and the ttl of the item.
func (k *counter) stored(w *world, item map[string]types.AttributeValue) {
	k.ttl = dynamomodel.Units(item["ttl"])
	w.reap(k)
	if len(item) > w.report.Attributes {
		w.report.Attributes, w.report.Bytes = len(item), dynamomodel.Size(item)
	}
}
