package receipt

import (
	"hash/maphash"
	"strconv"
	"testing"
)

// TestUsed remembers the last receipts, and not many more.
func TestUsed(t *testing.T) {
	u := used{seed: maphash.MakeSeed()}
	const all = 2*remembered + remembered/2
	for n := range all {
		if !u.add(strconv.Itoa(n)) {
			t.Fatalf("receipt %d was used before", n)
		}
	}
	for n := all - remembered; n < all; n++ {
		if u.add(strconv.Itoa(n)) {
			t.Fatalf("receipt %d is forgotten", n)
		}
	}
	if kept := len(u.now) + len(u.last); kept > 2*remembered {
		t.Errorf("%d receipts are kept", kept)
	}
}
