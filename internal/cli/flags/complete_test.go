package flags

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/ruletable"
)

// Keys are offered once each, up to a bound, and what cannot be read stands in nobody's way.
func TestAppendKeys(t *testing.T) {
	pulled := 0
	stored := func(yield func(*ruletable.Override, error) bool) {
		for i := range 3 * completeKeys {
			o, err := &ruletable.Override{Key: fmt.Sprint(i / 2)}, error(nil)
			if i%10 == 9 {
				o, err = nil, fmt.Errorf("item %d: %w", i, ruletable.ErrUnreadable)
			}
			if pulled++; !yield(o, err) {
				return
			}
		}
		yield(nil, io.ErrUnexpectedEOF)
	}
	even := func(key string) bool { return (key[len(key)-1]-'0')%2 == 0 }
	if words := appendKeys([]string{"4"}, stored, even); len(words) != 75 || !slices.Equal(words[:4], []string{"4", "0", "2", "6"}) || pulled != 300 {
		t.Errorf("%d words of %d items: %v", len(words), pulled, words)
	}
	pulled = 0
	all := func(string) bool { return true }
	words := appendKeys(nil, stored, all)
	if len(words) != completeKeys || pulled != 2*completeKeys-1 {
		t.Errorf("%d words of %d items, want %d of %d", len(words), pulled, completeKeys, 2*completeKeys-1)
	}
	if pulled = 0; len(appendKeys(words, stored, all)) != completeKeys || pulled != 0 {
		t.Errorf("%d items were read when there were words enough", pulled)
	}
}
