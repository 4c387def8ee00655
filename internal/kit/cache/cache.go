// Package cache keeps a bounded number of values by key: Cache as they are set,
// and Reloaded as they are loaded.
//
// It keeps keys and values as interfaces in one type of otter's. Go compiles the
// methods of a generic type again for each type of key and value, in each package
// that uses them: seconds for a dozen packages, and programs that are larger by a
// copy for each.
package cache

import "github.com/maypok86/otter/v2"

// Cache holds values by key. Frequency and age of use decide which keys are
// evicted (W-TinyLFU). It is safe for concurrent use.
type Cache[K comparable, V any] struct{ entries entries }

// entries is otter's type without its type parameters.
type entries interface {
	GetIfPresent(key any) (any, bool)
	Set(key, value any) (any, bool)
	Compute(key any, remap func(old any, found bool) (any, otter.ComputeOp)) (any, bool)
	Invalidate(key any) (any, bool)
	CleanUp()
	EstimatedSize() int
}

// New returns an empty cache of at most size keys; 0 for no bound.
func New[K comparable, V any](size int) Cache[K, V] { return Cache[K, V]{newEntries(size)} }

//go:noinline // or each package that calls New compiles otter
func newEntries(size int) entries {
	return otter.Must(&otter.Options[any, any]{MaximumSize: size})
}

// Get returns a key's value, and whether there is one.
func (c Cache[K, V]) Get(key K) (V, bool) { return typed[V](c.entries.GetIfPresent(key)) }

// Set sets a key's value.
func (c Cache[K, V]) Set(key K, value V) { c.entries.Set(key, value) }

// Update sets a key's value by the old one. It returns the value. If change
// reports false, the entry stays as it is. Other callers wait for change, which
// must not use the cache.
func (c Cache[K, V]) Update(key K, change func(old V, found bool) (value V, changed bool)) V {
	v, _ := typed[V](c.entries.Compute(key, func(old any, found bool) (any, otter.ComputeOp) {
		before, _ := typed[V](old, found)
		value, changed := change(before, found)
		if !changed {
			return old, otter.CancelOp
		}
		return value, otter.WriteOp
	}))
	return v
}

// Remove removes a key.
func (c Cache[K, V]) Remove(key K) { c.entries.Invalidate(key) }

// Len returns the number of keys.
func (c Cache[K, V]) Len() int {
	c.entries.CleanUp()
	return c.entries.EstimatedSize()
}

func typed[V any](value any, found bool) (V, bool) {
	v, _ := value.(V) // nil if it is not found
	return v, found
}
