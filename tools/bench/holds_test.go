package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/store/dynamostore"
	"github.com/slidegate/slidegate/store/redisstore"
)

// BenchmarkHolds makes the calls of one client beside the bare operation: a plain
// charge, one that opens a hold, its settlement, its renewal, and a place in flight
// that is taken and given back, in two calls. The counters have 0 or 100 other holds.
func BenchmarkHolds(b *testing.B) {
	redisOn, dynamoOn := onRedis(b), onDynamoDB(b)
	for _, others := range []int{0, 100} {
		compareHolds(b, "memory", others, subject{bare, counting}, subject{ours, func(*testing.B, int64) *opened {
			return &opened{store: memory.New(0)}
		}})
		compareHolds(b, "redis", others, redisOn(bare, redisScript), redisOn(ours, func(_ *testing.B, client *redis.Client, _ int64) *opened {
			return &opened{store: redisstore.New(client).Driver()}
		}))
		compareHolds(b, "dynamodb", others, dynamoOn(bare, conditional), dynamoOn(ours, func(_ *testing.B, i *items, _ int64) *opened {
			return &opened{store: dynamostore.New(i.client, i.table).Driver()}
		}))
	}
}

func compareHolds(b *testing.B, store string, others int, least, of subject) {
	if others > 0 {
		store = fmt.Sprintf("%s-beside-%d", store, others)
	}
	b.Run("load="+store+"/limiter="+bare, func(b *testing.B) {
		o := least.open(b, unlimited)
		key := fmt.Sprintf("holds:%d", serial.Add(1))
		measure(b, o, func(int) error {
			_, err := o.decide(context.Background(), key)
			return err
		})
	})
	for _, column := range []string{"charge", "open", "settle", "renew", "place"} {
		b.Run("load="+store+"/limiter="+column, func(b *testing.B) {
			o := of.open(b, unlimited)
			var hs [keysAtOnce]holder
			for i := range hs {
				hs[i] = holder{store: o.store, charge: limit.Charge{
					Key:    fmt.Sprintf("rule|holds:%d|shape", serial.Add(1)),
					Limits: []limit.Limit{{Capacity: unlimited, Window: window, Granularity: window / slots}}, Costs: []int64{2},
					Hold: limit.Opening{For: time.Hour, Most: limit.MaxHolds},
				}, delta: -1}
				if column == "place" {
					hs[i].charge.Limits[0] = limit.Limit{Algorithm: limit.InFlight, Capacity: limit.MaxHolds, Window: time.Hour}
					hs[i].charge.Costs[0], hs[i].delta = 1, 0
				}
				for range others {
					check(b, hs[i].open())
				}
				check(b, hs[i].open()) // of the renewals
			}
			open, settle := func(n int) error { return hs[n].open() }, func(n int) error { return hs[n].settle() }
			switch column {
			case "charge":
				measure(b, o, func(n int) error { return hs[n].charged(0) })
			case "open":
				measure(b, o, open, settle)
			case "settle":
				// The first settlements are of the holds above.
				measure(b, o, settle, open)
			case "renew":
				measure(b, o, func(n int) error { return hs[n].renew() })
			case "place":
				measure(b, o, func(n int) error {
					if err := hs[n].open(); err != nil {
						return err
					}
					return hs[n].settle()
				})
			}
		})
	}
}

// keysAtOnce is how many keys a benchmark calls between two readings of the clock,
// which cost little then.
const keysAtOnce = 8

// measure reports the time and the round trips of b.N calls for the keys in turn, and
// not those of others that it makes after some of them.
func measure(b *testing.B, o *opened, do func(n int) error, after ...func(n int) error) {
	var took time.Duration
	var made int64
	count := func() int64 { return calls([]*opened{o}) }
	b.ResetTimer()
	for done := 0; done < b.N; done += keysAtOnce {
		keys := min(keysAtOnce, b.N-done)
		start, before := time.Now(), count()
		for n := range keys {
			check(b, do(n))
		}
		took, made = took+time.Since(start), made+count()-before
		for _, do := range after {
			for n := range keys {
				check(b, do(n))
			}
		}
	}
	b.ReportMetric(float64(took)/float64(b.N), "ns/op")
	if o.calls != nil {
		b.ReportMetric(float64(made)/float64(b.N), "calls/op")
	}
}

// holder makes charges of a key, and corrects them by delta.
type holder struct {
	store   limit.Store
	charge  limit.Charge
	receipt limit.Receipt
	delta   int64
}

func (h *holder) open() error { return h.charged(rand.Uint64()) }

// charged makes a charge that opens a hold; 0 is for none.
func (h *holder) charged(id uint64) error {
	var v limit.Verdict
	h.charge.Hold.ID = id
	err := h.store.Charge(context.Background(), time.Now(), &h.charge, &v)
	if err == nil && (!v.Allowed || v.Receipt.Hold != id) {
		err = fmt.Errorf("the charge is allowed: %v; its hold is %d, want %d", v.Allowed, v.Receipt.Hold, id)
	}
	h.receipt = v.Receipt
	return err
}

func (h *holder) settle() error {
	return h.store.Settle(context.Background(), time.Now(), &h.charge, &h.receipt, []int64{h.delta})
}

// renew moves the end of the hold on, however little time has passed.
func (h *holder) renew() error {
	h.charge.Hold.For += time.Millisecond
	return h.store.Renew(context.Background(), time.Now(), &h.charge, &h.receipt)
}
