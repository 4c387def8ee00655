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

// room is a store with places for two keys in each shard. Names in small
// letters are keys of one shard, those in capitals of another.
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
	shard := uint64(0)
	if name < "a" {
		shard = 1
	}
	for i := 0; r.keys[name] == ""; i++ {
		if key := fmt.Sprint(name, i); r.store.index(key) == shard {
			r.keys[name] = key
		}
	}
	return r.keys[name]
}

func (r *room) request(name string, cost int64) *limit.Charge {
	return &limit.Charge{Key: r.key(name), Limits: r.limits, Costs: slices.Repeat([]int64{cost}, len(r.limits))}
}

// try takes a unit from each key, from all or none. A key in brackets pays
// nothing.
func (r *room) try(at time.Duration, names string) error {
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
	if err := r.try(at, names); err != nil {
		r.Errorf("%s at %v: %v", names, at, err)
	}
}

func (r *room) refuse(at time.Duration, names string) {
	r.Helper()
	if err := r.try(at, names); !errors.Is(err, ErrFull) {
		r.Errorf("%s at %v: %v, want ErrFull", names, at, err)
	}
}

// settle corrects the last charge of a key, which cost a unit or nothing.
func (r *room) settle(at time.Duration, name string, delta int64) error {
	receipt := r.receipts[r.key(name)]
	return r.store.Settle(context.Background(), epoch.Add(at), r.request(name, 1), &receipt, []int64{delta})
}

func (r *room) reset(name string) { _ = r.store.Reset(context.Background(), r.key(name)) }

// holds checks that the store holds exactly these keys, each once in its
// shard's queue, and that a shrunk queue keeps nothing else alive.
func (r *room) holds(names string) {
	r.Helper()
	held := map[string]int{}
	for i := range r.store.shards {
		sh := &r.store.shards[i]
		for _, ct := range sh.queue[:cap(sh.queue)] {
			if ct != nil {
				held[ct.key]++
			}
		}
		if len(sh.queue) != len(sh.counters) {
			r.Errorf("shard %d has %d counters, and %d in its queue", i, len(sh.counters), len(sh.queue))
		}
	}
	want := map[string]int{}
	for name := range strings.FieldsSeq(names) {
		want[r.key(name)] = 1
	}
	if !maps.Equal(held, want) {
		r.Errorf("it holds %v, want %v", held, want)
	}
}

// TestRoom checks which keys make room for which others. A charge at 0 counts
// for 61 seconds, and gives way to a new key at 62.
func TestRoom(t *testing.T) {
	for name, test := range map[string]func(*room){
		"a live counter never gives way": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.refuse(62*sec-1, "c")
			r.holds("a b")
		},
		"the one that has ended gives way": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.charge(62*sec, "c")
			r.holds("b c")
		},
		"an empty shard fills again": func(r *room) {
			r.charge(0, "a b")
			r.charge(62*sec, "c d")
			r.holds("c d")
		},
		"what has ended stays while there is room": func(r *room) {
			r.charge(0, "a")
			r.charge(time.Hour+61*sec-1, "b")
			r.holds("a b")
		},
		"for an hour": func(r *room) {
			r.charge(0, "a")
			r.charge(time.Hour+61*sec, "b")
			r.holds("b")
		},
		"no key gives way to a key that is held": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "b")
			r.charge(2*time.Hour, "b B")
			r.holds("a b B")
			r.charge(2*time.Hour, "c")
			r.holds("b c B")
		},
		"nor to one that pays nothing": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "(c)")
			r.holds("a b")
		},
		"a later charge keeps a counter": func(r *room) {
			r.charge(0, "a b")
			r.charge(50*sec, "a b")
			r.refuse(111*sec, "c")
			r.charge(112*sec, "c d")
			r.holds("c d")
		},
		"the one charged first is not the one that ends first": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "b")
			r.charge(50*sec, "a")
			r.charge(63*sec, "c")
			r.holds("a c")
		},
		"the longest of several limits keeps it": func(r *room) {
			hour := limit.Limit{Name: "b", Capacity: 100, Window: time.Hour, Granularity: time.Minute}
			r.limits = []limit.Limit{minute, hour, minute}
			r.charge(0, "a b")
			r.refuse(time.Hour, "c")
		},
		"a clock that is behind keeps it by the newest time": func(r *room) {
			r.charge(2*time.Hour, "a")
			r.charge(0, "b")
			r.refuse(2*time.Hour+62*sec-1, "c")
			r.charge(2*time.Hour+62*sec, "c d")
		},
		"several keys need room for all": func(r *room) {
			r.charge(0, "a")
			r.charge(sec, "A")
			r.charge(2*sec, "b")
			r.refuse(62*sec, "B c d")
			r.holds("A b")
			r.charge(62*sec, "B c")
			r.holds("A B b c")
		},
		"of several keys without room none is held": func(r *room) {
			r.charge(0, "a b A")
			r.refuse(0, "(d) A B c")
			r.holds("a b A")
			r.charge(0, "B")
			r.holds("a b A B")
		},
		"a key that has ended is charged beside a new one": func(r *room) {
			r.charge(0, "a b")
			r.charge(2*time.Hour, "a c")
			r.holds("a c")
		},
		"a key that comes back is another counter": func(r *room) {
			r.charge(0, "a b")
			r.charge(0, "a")
			r.reset("a")
			r.reset("never charged")
			r.holds("b")
			r.charge(30*sec, "a")
			r.charge(62*sec, "c")
			r.holds("a c")
		},
	} {
		t.Run(name, func(t *testing.T) { test(newRoom(t)) })
	}
}

// TestRoomForSettlements corrects charges once the shard is full. A counter is
// made only where there was a charge of nothing that turns out to have cost
// something.
func TestRoomForSettlements(t *testing.T) {
	for _, test := range []struct {
		name  string
		do    func(*room)
		delta int64
		full  bool
	}{
		{"nothing cost something after all", func(r *room) { r.charge(0, "(c)") }, 1, true},
		{"nothing is left at that", func(r *room) { r.charge(0, "(c)") }, 0, false},
		{"zero cost has nothing to refund", func(r *room) { r.charge(0, "(c)") }, -1, false},
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
			r.holds("a b")
		})
	}
	t.Run("a counter that is made gives way in its turn", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "(a)")
		for range 2 {
			if err := r.settle(sec, "a", 1); err != nil {
				t.Error(err)
			}
		}
		r.charge(sec, "b")
		r.holds("a b")
		r.refuse(63*sec-1, "c")
		r.charge(63*sec, "c d")
		r.holds("c d")
	})
	t.Run("a counter that is corrected upwards counts from then on", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "a b")
		if err := r.settle(30*sec, "a", 1); err != nil {
			t.Error(err)
		}
		r.charge(62*sec, "c")
		r.holds("a c")
	})
	t.Run("no key gives way to a counter that is held", func(t *testing.T) {
		r := newRoom(t)
		r.charge(0, "(a)")
		r.charge(0, "a b")
		r.receipts[r.key("a")] = limit.Receipt{} // of the first
		if err := r.settle(2*time.Hour, "a", 1); err != nil {
			t.Error(err)
		}
		r.holds("a b")
	})
}

// TestNew shares the bound out: a place at least in every shard.
func TestNew(t *testing.T) {
	for maxKeys, want := range map[int]int{-1: 3906, 0: 3906, 1: 1, 64: 1, 127: 1, 128: 2, 6400: 100} {
		store := New(maxKeys)
		for i := range store.shards {
			if got := store.shards[i].bound; got != want {
				t.Fatalf("New(%d): a shard has %d places, want %d", maxKeys, got, want)
			}
		}
	}
}
