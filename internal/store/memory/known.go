package memory

import (
	"hash/maphash"
	"sync/atomic"
)

// FallbackKeys is the bound of a Fallback for on_error: local in one process.
const FallbackKeys = 50_000

// marks is how many keys a Fallback remembers as known: 256 KB.
const marks = 1 << 16 // a power of two

// known remembers which keys another store has admitted lately. A key that
// shares its place with a later one is forgotten, so that callers who come often
// stay, and a flood of keys that come once passes by. It never takes a lock.
type known struct {
	seed  maphash.Seed
	marks [marks]atomic.Uint32
}

// place returns where the mark of a key is, and the mark, which is never 0.
func (k *known) place(key string) (at *atomic.Uint32, mark uint32) {
	hash := maphash.String(k.seed, key)
	return &k.marks[hash%marks], uint32(hash>>32) | 1
}

func (k *known) has(key string) bool {
	at, mark := k.place(key)
	return at.Load() == mark
}

// Fallback is a Store for times when another store does not answer. Note
// marks the keys that the other store admits. Unmarked new keys find room only
// in the first half, so that a flood of made-up keys in an outage
// leaves the other half to callers from before.
type Fallback struct {
	*Store
	known *known
}

// NewFallback returns a Fallback for at most maxKeys keys, as New does.
func NewFallback(maxKeys int) *Fallback {
	f := &Fallback{New(maxKeys), &known{seed: maphash.MakeSeed()}}
	for i := range f.shards {
		f.shards[i].known = f.known
	}
	return f
}

// Note remembers a key that the other store has admitted. It costs no
// allocation.
func (f *Fallback) Note(key string) {
	at, mark := f.known.place(key)
	if at.Load() != mark { // callers who come often share the line of a cache
		at.Store(mark)
	}
}
