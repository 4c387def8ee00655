package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const sec = time.Second

var epoch, minute = time.Unix(1_700_000_040, 0), limit.Limit{Capacity: 100, Window: time.Minute, Granularity: sec}

// room is a store with places for two keys in each shard. Names in lower case
// are keys of one shard, names in upper case of another.
type room struct {
	*testing.T
	store    *Store
	limits   []limit.Limit
	keys     map[string]string
	receipts map[string]limit.Receipt
}

func newRoom(t *testing.T) *room {
	return &room{t, New(2 * shardCount), []limit.Limit{minute}, map[string]string{}, map[string]limit.Receipt{}}
}

func (r *room) key(name string) string {
	shard := 0
	if name < "a" {
		shard = 1
	}
	for i := 0; r.keys[name] == ""; i++ {
		key := fmt.Sprint(name, i)
		if sh, _ := r.store.shard(key); sh.index == shard {
			r.keys[name] = key
		}
	}
	return r.keys[name]
}

func (r *room) request(name string, cost int64) *limit.Charge {
	return &limit.Charge{Key: r.key(name), Limits: r.limits, Costs: slices.Repeat([]int64{cost}, len(r.limits))}
}

// tryCharge takes a unit from each key, from all or none. A key in brackets has
// zero cost.
func (r *room) tryCharge(at time.Duration, names string) error {
	var cs []*limit.Charge
	var vs []*limit.Verdict
	for name := range strings.FieldsSeq(names) {
		cost := int64(1)
		if strings.HasPrefix(name, "(") {
			name, cost = strings.Trim(name, "()"), 0
		}
		cs, vs = append(cs, r.request(name, cost)), append(vs, &limit.Verdict{})
	}
	var err error
	if len(cs) == 1 {
		err = r.store.Charge(context.Background(), epoch.Add(at), cs[0], vs[0])
	} else {
		err = r.store.ChargeAll(context.Background(), epoch.Add(at), cs, vs)
	}
	for i, c := range cs {
		if err == nil {
			r.receipts[c.Key] = vs[i].Receipt
		}
	}
	return err
}

func (r *room) charge(at time.Duration, names string) {
	r.Helper()
	if err := r.tryCharge(at, names); err != nil {
		r.Errorf("%s at %v: %v", names, at, err)
	}
}

func (r *room) chargeFull(at time.Duration, names string) {
	r.Helper()
	if err := r.tryCharge(at, names); !errors.Is(err, ErrFull) {
		r.Errorf("%s at %v: %v, want ErrFull", names, at, err)
	}
}

// settle corrects the last charge of a key, which had a cost of 1 or 0.
func (r *room) settle(at time.Duration, name string, delta int64) error {
	receipt := r.receipts[r.key(name)]
	return r.store.Settle(context.Background(), epoch.Add(at), r.request(name, 1), &receipt, []int64{delta})
}

func (r *room) reset(name string) { _ = r.store.Reset(context.Background(), r.key(name)) }

// checkKeys checks that the store has exactly these keys, each once in its
// shard's queue.
func (r *room) checkKeys(names string) {
	r.Helper()
	got := map[string]int{}
	for i := range r.store.shards {
		sh := &r.store.shards[i]
		queued := 0
		for _, ct := range sh.queue.lists {
			for ; ct != nil; ct = ct.next {
				got[ct.key]++
				queued++
				if sh.table.find(ct.hash, ct.key) != ct {
					r.Errorf("shard %d does not find %s", i, ct.key)
				}
			}
		}
		if queued != sh.table.n {
			r.Errorf("shard %d has %d counters, and %d in its queue", i, sh.table.n, queued)
		}
	}
	want := map[string]int{}
	for name := range strings.FieldsSeq(names) {
		want[r.key(name)] = 1
	}
	if !maps.Equal(got, want) || r.store.Len() != len(want) {
		r.Errorf("the store has %v, %d in all, want %v", got, r.store.Len(), want)
	}
}

// TestRoom checks which counters are dropped for which new keys. A charge at 0
// counts for 61 seconds, and its counter may be dropped at 62.
func TestRoom(t *testing.T) {
	for name, test := range map[string]func(*room){
		"a live counter is never dropped": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.chargeFull(62*sec-1, "c")
			r.checkKeys("a b")
		},
		"an ended counter is dropped": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.charge(62*sec, "c")
			r.checkKeys("b c")
		},
		"all ended counters are dropped": func(r *room) {
			r.charge(0, "a b")
			r.charge(62*sec, "c d")
			r.checkKeys("c d")
		},
		"an ended counter stays while there is room": func(r *room) {
			r.charge(0, "a")
			r.charge(time.Hour+61*sec-1, "b")
			r.checkKeys("a b")
		},
		"but not longer than an hour": func(r *room) {
			r.charge(0, "a")
			r.charge(time.Hour+61*sec, "b")
			r.checkKeys("b")
		},
		"no counter is dropped for a known key": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "b")
			r.charge(2*time.Hour, "b B")
			r.checkKeys("a b B")
			r.charge(2*time.Hour, "c")
			r.checkKeys("b c B")
		},
		"no counter is dropped for zero cost": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "(c)")
			r.checkKeys("a b")
		},
		"a later charge keeps a counter": func(r *room) {
			r.charge(0, "a b")
			r.charge(50*sec, "a b")
			r.chargeFull(111*sec, "c")
			r.charge(112*sec, "c d")
			r.checkKeys("c d")
		},
		"the one charged first is not the one that ends first": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.charge(50*sec, "a")
			r.charge(63*sec, "c")
			r.checkKeys("a c")
		},
		"the longest of several limits keeps a counter": func(r *room) {
			hour := limit.Limit{Name: "b", Capacity: 100, Window: time.Hour, Granularity: time.Minute}
			r.limits = []limit.Limit{minute, hour, minute}
			r.charge(0, "a b")
			r.chargeFull(time.Hour, "c")
		},
		"after a late charge a counter ends by the newest time": func(r *room) {
			r.charge(2*time.Hour, "a")
			r.charge(0, "b")
			r.chargeFull(2*time.Hour+62*sec-1, "c")
			r.charge(2*time.Hour+62*sec, "c d")
		},
		"several keys need room for all": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "A")
			r.charge(2*sec, "b")
			r.chargeFull(62*sec, "B c d")
			r.checkKeys("A b")
			r.charge(62*sec, "B c")
			r.checkKeys("A B b c")
		},
		"several keys without room create no counter": func(r *room) {
			r.charge(0, "a b A")
			r.chargeFull(0, "(d) A B c")
			r.checkKeys("a b A")
			r.charge(0, "B")
			r.checkKeys("a b A B")
		},
		"an ended counter is charged beside a new one": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "a c")
			r.checkKeys("a c")
		},
		"a key gets a new counter after a reset": func(r *room) {
			r.charge(0, "a b")
			r.charge(0, "a")
			r.reset("a")
			r.reset("never charged")
			r.checkKeys("b")
			r.charge(30*sec, "a")
			r.charge(62*sec, "c")
			r.checkKeys("a c")
		},
	} {
		t.Run(name, func(t *testing.T) { test(newRoom(t)) })
	}
}

// TestRoomForSettlements corrects charges when the shard is full. Only a charge
// of zero cost with a positive delta needs a new counter.
func TestRoomForSettlements(t *testing.T) {
	for _, test := range []struct {
		name  string
		do    func(*room)
		delta int64
		full  bool
	}{
		{"zero cost, upwards", func(r *room) { r.charge(0, "(c)") }, 1, true},
		{"zero cost, unchanged", func(r *room) { r.charge(0, "(c)") }, 0, false},
		{"zero cost, downwards", func(r *room) { r.charge(0, "(c)") }, -1, false},
		{"another generation, upwards", func(r *room) { r.charge(0, "c"); r.reset("c") }, 1, false},
		{"another generation, downwards", func(r *room) { r.charge(0, "c"); r.reset("c") }, -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRoom(t)
			test.do(r)
			r.charge(0, "a b")
			if err := r.settle(sec, "c", test.delta); errors.Is(err, ErrFull) != test.full || err != nil && !test.full {
				t.Error(err)
			}
			r.checkKeys("a b")
		})
	}
	t.Run("a settlement's new counter is dropped when it has ended", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "(a)")
		for range 2 {
			if err := r.settle(sec, "a", 1); err != nil {
				t.Error(err)
			}
		}
		r.charge(sec, "b")
		r.checkKeys("a b")
		r.chargeFull(63*sec-1, "c")
		r.charge(63*sec, "c d")
		r.checkKeys("c d")
	})
	t.Run("a settlement upwards extends a counter", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "a b")
		if err := r.settle(30*sec, "a", 1); err != nil {
			t.Error(err)
		}
		r.charge(62*sec, "c")
		r.checkKeys("a c")
	})
	t.Run("a settlement of a known key drops no counter", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "(a)")
		r.charge(0, "a b")
		r.receipts[r.key("a")] = limit.Receipt{} // the receipt of the zero cost
		if err := r.settle(2*time.Hour, "a", 1); err != nil {
			t.Error(err)
		}
		r.checkKeys("a b")
	})
}

// TestNew checks each shard's share of the bound: at least one key.
func TestNew(t *testing.T) {
	for maxKeys, want := range map[int]int{-1: 3906, 0: 3906, 1: 1, 64: 1, 127: 1, 128: 2, 6400: 100} {
		store := New(maxKeys)
		for i := range store.shards {
			if got := store.shards[i].bound; got != want {
				t.Fatalf("New(%d): a shard has room for %d keys, want %d", maxKeys, got, want)
			}
		}
	}
}
