package limit_test

import (
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestKinds checks that a bucket has no slots and that slots are no bucket,
// although both keep a number in the same place.
func TestKinds(t *testing.T) {
	bucket := limit.NewBucket(epoch.UnixNano())
	if newest, ok := bucket.Newest(); ok {
		t.Errorf("a bucket has slot %d", newest)
	}
	if slots := slices.Collect(bucket.All()); len(slots) > 0 {
		t.Errorf("a bucket has slots %v", slots)
	}
	clone := bucket.Clone()
	if full, ok := clone.Full(); !ok || full != epoch.UnixNano() {
		t.Errorf("the clone of a bucket is full at %d (%t)", full, ok)
	}
	slots := limit.State{Slots: limit.NewSlots([]limit.Slot{{Number: 1, Units: 2}, {Number: 3, Units: 4}})}
	if full, ok := slots.Full(); ok || full != 0 {
		t.Errorf("slots are full at %d (%t)", full, ok)
	}
}
