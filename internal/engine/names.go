package engine

import "unsafe"

// nameRoom is the room for the name of each counter in a decision, in bytes. It
// suffices for a rule with a short name that counts by an address or a UUID.
const nameRoom = 56

// names is room within the allocation of a decision for the names of its
// counters. Without it, each name would be an allocation of its own.
//
// Trade-off: a name keeps the whole decision in memory. So what keeps a name or
// a key for longer than its decision must clone it; see limit.Charge.Key.
type names []byte

// text returns the bytes as a string, in the room if they fit.
func (n *names) text(name []byte) string {
	if len(name) == 0 || len(name) > len(*n) {
		return string(name)
	}
	taken := (*n)[:copy(*n, name)]
	*n = (*n)[len(taken):]
	// The bytes of a string must never change. These are no longer room for
	// other names, and there is no other way to them than the string.
	return unsafe.String(&taken[0], len(taken))
}
