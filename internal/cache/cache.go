// Package cache keeps a bounded number of values by key.
//
// It hides otter behind an interface. Go compiles the methods of a generic type
// again in each package that imports a type with such a field, even indirectly.
// A dozen packages would take seconds each to compile.
package cache

import "github.com/maypok86/otter/v2"

// Cache holds values by key. Frequency and age of use decide which keys are
// evicted (W-TinyLFU). It is safe for concurrent use. The methods are otter's.
type Cache[K comparable, V any] interface {
	GetIfPresent(key K) (V, bool)
	Set(key K, value V) (V, bool)
	Compute(key K, remap func(old V, found bool) (V, otter.ComputeOp)) (V, bool)
	ComputeIfAbsent(key K, value func() (v V, cancel bool)) (V, bool)
	Invalidate(key K) (V, bool)
	CleanUp()
	EstimatedSize() int
	GetMaximum() uint64
}

// New returns an empty cache of at most size keys; 0 for no bound.
func New[K comparable, V any](size int) Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{MaximumSize: size})
}
