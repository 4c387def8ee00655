package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// play makes the steps of a trace, which commas separate:
//
//	62s a (b)      takes a unit from each key, from all or none, 62 s after the epoch; a key in brackets has zero cost
//	62s- a full    a nanosecond before there is no room
//	62s a +1       corrects the last charge of the key
//	reset a        an operator deletes the key's counter
//	zero a         from now on the key's last charge is one of zero cost
//	hours          from now on requests have a limit of an hour between two of a minute
//	keys a b       the store has exactly these keys
func (r *room) play(trace string) {
	r.Helper()
	for step := range strings.SplitSeq(trace, ", ") {
		switch words := strings.Fields(step); words[0] {
		case "reset":
			_ = r.store.Reset(r.Context(), r.key(words[1]))
		case "zero":
			r.receipts[r.key(words[1])] = limit.Receipt{}
		case "hours":
			hour := limit.Limit{Name: "b", Capacity: 100, Window: time.Hour, Granularity: time.Minute}
			r.limits = []limit.Limit{minute, hour, minute}
		case "keys":
			r.checkKeys(words[1:])
		default:
			text, before := strings.CutSuffix(words[0], "-")
			after, err := time.ParseDuration(text)
			at := epoch.Add(after)
			if before {
				at = at.Add(-1)
			}
			call, full := strings.CutSuffix(strings.Join(words[1:], " "), " full")
			if err = errors.Join(err, r.call(at, strings.Fields(call))); errors.Is(err, ErrFull) != full || err != nil && !full {
				r.Errorf("in %q: %s: %v", trace, step, err)
			}
		}
	}
}

// call charges keys, or corrects the last charge of one.
func (r *room) call(at time.Time, words []string) error {
	if delta, err := strconv.ParseInt(words[len(words)-1], 10, 64); err == nil {
		receipt := r.receipts[r.key(words[0])]
		return r.store.Settle(r.Context(), at, r.request(words[0], 1), &receipt, []int64{delta})
	}
	var cs []*limit.Charge
	var vs []*limit.Verdict
	for _, name := range words {
		cost := int64(1)
		if strings.HasPrefix(name, "(") {
			name, cost = strings.Trim(name, "()"), 0
		}
		cs, vs = append(cs, r.request(name, cost)), append(vs, &limit.Verdict{})
	}
	charge := func() error { return r.store.Charge(r.Context(), at, cs[0], vs[0]) }
	if len(cs) > 1 {
		charge = func() error { return r.store.ChargeAll(r.Context(), at, cs, vs) }
	}
	err := charge()
	for i, c := range cs {
		if err == nil {
			r.receipts[c.Key] = vs[i].Receipt
		}
	}
	return err
}

// checkKeys checks that the store has exactly these keys, each once in its
// shard's queue.
func (r *room) checkKeys(names []string) {
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
	for _, name := range names {
		want[r.key(name)] = 1
	}
	if !maps.Equal(got, want) || r.store.Len() != len(want) {
		r.Errorf("the store has %v, %d in all, want %v", got, r.store.Len(), want)
	}
}

// TestRoom checks which counters are dropped for which new keys. A charge at 0
// counts for 61 seconds, and its counter may be dropped at 62. Of settlements
// only one of zero cost and upwards needs a new counter.
func TestRoom(t *testing.T) {
	for name, trace := range map[string]string{
		"a live counter is never dropped":                         "0 a, 1s b, 62s- c full, keys a b",
		"an ended counter is dropped":                             "0 a, 1s b, 62s c, keys b c",
		"all ended counters are dropped":                          "0 a b, 62s c d, keys c d",
		"an ended counter stays while there is room":              "0 a, 1h61s- b, keys a b",
		"but not longer than an hour":                             "0 a, 1h61s b, keys b",
		"no counter is dropped for a known key":                   "0 a b, 2h b, 2h b B, keys a b B, 2h c, keys b c B",
		"no counter is dropped for zero cost":                     "0 a b, 2h (c), keys a b",
		"a later charge keeps a counter":                          "0 a b, 50s a b, 111s c full, 112s c d, keys c d",
		"the one charged first is not the one that ends first":    "0 a, 1s b, 50s a, 63s c, keys a c",
		"the longest of several limits keeps a counter":           "hours, 0 a b, 1h c full",
		"after a late charge a counter ends by the newest time":   "2h a, 0 b, 2h62s- c full, 2h62s c d",
		"several keys need room for all":                          "0 a, 1s A, 2s b, 62s B c d full, keys A b, 62s B c, keys A B b c",
		"several keys without room create no counter":             "0 a b A, 0 (d) A B c full, keys a b A, 0 B, keys a b A B",
		"an ended counter is charged beside a new one":            "0 a b, 2h a c, keys a c",
		"a key gets a new counter after a reset":                  "0 a b, 0 a, reset a, reset never, keys b, 30s a, 62s c, keys a c",
		"settled: zero cost, upwards":                             "0 (c), 0 a b, 1s c +1 full, keys a b",
		"settled: zero cost, unchanged":                           "0 (c), 0 a b, 1s c +0, keys a b",
		"settled: zero cost, downwards":                           "0 (c), 0 a b, 1s c -1, keys a b",
		"settled: another generation, upwards":                    "0 c, reset c, 0 a b, 1s c +1, keys a b",
		"settled: another generation, downwards":                  "0 c, reset c, 0 a b, 1s c -1, keys a b",
		"a settlement's new counter is dropped when it has ended": "0 (a), 1s a +1, 1s a +1, 1s b, keys a b, 63s- c full, 63s c d, keys c d",
		"a settlement upwards extends a counter":                  "0 a b, 30s a +1, 62s c, keys a c",
		"a settlement of a known key drops no counter":            "0 (a), 0 a b, zero a, 2h a +1, keys a b",
	} {
		t.Run(name, func(t *testing.T) {
			r := &room{t, New(2 * shardCount), []limit.Limit{minute}, map[string]string{}, map[string]limit.Receipt{}}
			r.play(trace)
		})
	}
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
