package memory

import (
	"testing"
	"unsafe"
)

// TestLayout checks that a charge finds what it needs of its shard in one line of
// a cache, and that a counter has the size that its doc states.
func TestLayout(t *testing.T) {
	const line = 64
	var s Store
	var sh shard
	if first, size := unsafe.Offsetof(s.shards), unsafe.Sizeof(sh); first%line != 0 || size%line != 0 {
		t.Errorf("shards of %d bytes, from byte %d on, do not begin with a line", size, first)
	}
	if end := unsafe.Offsetof(sh.bound) + unsafe.Sizeof(sh.bound); end > line {
		t.Errorf("what a charge needs of a shard ends at byte %d", end)
	}
	if size := unsafe.Sizeof(counter{}); size > 96 {
		t.Errorf("a counter takes %d bytes", size)
	}
}
