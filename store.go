package slidegate

import (
	"time"

	"github.com/slidegate/slidegate/internal/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

// Store keeps counters: a [Memory], or a store of package dynamostore or
// redisstore.
type Store interface {
	// Driver is for this module.
	Driver() limit.Store
}

// Memory keeps counters in this process. It is safe for concurrent use.
//
// Trade-off: a decision takes less than a microsecond, but processes do not
// share their counters, and a restart loses them.
//
// Make one with NewMemory: the zero Memory is not usable.
type Memory struct {
	counters *memory.Store
	now      func() time.Time
}

// NewMemory returns a store for this many keys; 0 stands for 250,000. A key
// takes about 115 bytes beside its text, and 16 bytes for each slot in use after
// the first.
//
// A store that is full of keys with units in their windows takes no new key:
// Allow then denies, or returns an error that wraps [ErrUndecided], depending on
// the [ErrorPolicy]. It never drops a key in use, because a client could free
// itself by a flood of made-up keys.
func NewMemory(keys int) *Memory {
	return &Memory{memory.New(keys), clock.Monotonic()}
}

// Now returns the time of the machine's wall clock when the Memory was made plus
// monotonic time since. All limiters on one Memory go by it: two clocks that a
// step of the machine's clock parted would end each other's windows.
func (m *Memory) Now() time.Time { return m.now() }

// Driver is for this module.
func (m *Memory) Driver() limit.Store { return m.counters }

// ErrUndecided is wrapped by the error of a store that works but cannot decide:
// it is full, or too many others write the same counter.
var ErrUndecided = limit.ErrUndecided
