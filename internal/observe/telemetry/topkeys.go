package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// slots is how many keys a sketch follows. A key with more than a hundredth of
// all counts is always among them.
const slots = 100

// TopKey is a key that was denied often, or came near its limit.
type TopKey struct {
	Rule string `json:"rule"`
	Key  string `json:"key"` // hashed if the rules hash keys
	// Count is how often the key was denied, or how many units it took above 80%
	// of its limits. The true count is at most Error lower, and never higher.
	Count int64 `json:"count"`
	Error int64 `json:"error,omitempty"`
	// Share is the largest part of a limit that the key had in use, from 0.8 to
	// 1; 0 for a denied key.
	Share float64 `json:"share,omitempty"`
}

// byCount orders keys by their counts, the highest first.
func byCount(a, b TopKey) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key))
}

// byShare orders keys by their shares, the largest first.
func byShare(a, b TopKey) int { return cmp.Or(cmp.Compare(b.Share, a.Share), byCount(a, b)) }

// merge adds up what several sketches say of the same keys, and returns the first
// ten in an order.
func merge(keys []TopKey, order func(a, b TopKey) int) []TopKey {
	sums := map[ruleKey]TopKey{}
	for _, k := range keys {
		name := ruleKey{k.Rule, k.Key}
		sum := sums[name]
		k.Count, k.Error, k.Share = k.Count+sum.Count, k.Error+sum.Error, max(k.Share, sum.Share)
		sums[name] = k
	}
	merged := slices.AppendSeq(make([]TopKey, 0, len(sums)), maps.Values(sums))
	slices.SortFunc(merged, order)
	return merged[:min(len(merged), listed)]
}

type ruleKey struct{ rule, key string }

// sketch finds the keys with the highest counts by the algorithm Space-Saving
// (Metwally, Agrawal, El Abbadi 2005): a new key takes the slot of the key with
// the lowest count, and that count as its error. The Go libraries for it have no
// releases.
type sketch struct {
	keys   []TopKey // without their counts
	counts []int64  // of keys, in one piece because a new key searches the lowest
	index  map[ruleKey]int
}

func (s *sketch) add(k ruleKey, count int64, share float64) {
	i, known := s.index[k]
	switch {
	case known:
	case len(s.keys) < slots:
		if s.index == nil {
			s.index = make(map[ruleKey]int, slots)
		}
		i = len(s.keys)
		s.keys, s.counts = append(s.keys, TopKey{Rule: k.rule, Key: k.key}), append(s.counts, 0)
		s.index[k] = i
	default:
		for j, n := range s.counts {
			if n < s.counts[i] {
				i = j
			}
		}
		delete(s.index, ruleKey{s.keys[i].Rule, s.keys[i].Key})
		s.keys[i] = TopKey{Rule: k.rule, Key: k.key, Error: s.counts[i]}
		s.index[k] = i
	}
	s.counts[i] += count
	s.keys[i].Share = max(s.keys[i].Share, share)
}

// all returns the keys with their counts.
func (s *sketch) all() []TopKey {
	keys := slices.Clone(s.keys)
	for i, n := range s.counts {
		keys[i].Count = n
	}
	return keys
}

// Sketch finds the keys of one rule that come most often. Its zero value is empty.
type Sketch struct{ sketch }

// Add counts a key.
func (s *Sketch) Add(key string) { s.add(ruleKey{key: key}, 1, 0) }

// Top returns at most n keys, those that came most often first.
func (s *Sketch) Top(n int) []TopKey {
	keys := s.all()
	slices.SortFunc(keys, byCount)
	return keys[:min(n, len(keys))]
}

// topKeys are the sketches of the current minute and of the one before. It is
// safe for concurrent use.
type topKeys struct {
	mu            sync.Mutex
	minute        int64 // of current, since 1970
	current, last sketch
}

func (t *topKeys) add(now time.Time, k ruleKey, count int64, share float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	t.current.add(k, count, share)
}

// turn begins a new minute if the current one is over. The caller holds the
// mutex.
func (t *topKeys) turn(now time.Time) {
	minute := now.Unix() / 60
	if minute == t.minute || minute == t.minute-1 { // of a request that began before another
		return
	}
	last := sketch{}
	if minute == t.minute+1 {
		last = t.current
	}
	t.minute, t.current, t.last = minute, sketch{}, last
}

// top returns the first keys in an order, of the current minute and the one
// before.
func (t *topKeys) top(now time.Time, order func(a, b TopKey) int) []TopKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	return t.first(order)
}

// take returns the first keys in an order that were added since the last take,
// and forgets all of them.
func (t *topKeys) take(order func(a, b TopKey) int) []TopKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := t.first(order)
	t.current, t.last = sketch{}, sketch{}
	return keys
}

func (t *topKeys) first(order func(a, b TopKey) int) []TopKey {
	return merge(append(t.last.all(), t.current.all()...), order)
}
