package flags

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
)

// Keys are offered once each, up to a bound. Overrides that cannot be read are
// skipped.
func TestCompleteKeys(t *testing.T) {
	pulled := 0
	stored := func(yield func(*ruletable.Override, error) bool) {
		for i := range 3 * completeWords {
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
	offered := func(words func(prompt, func(string) bool)) []string {
		pulled = 0
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		found, _ := completer(words)(cmd, nil, "")
		return found
	}
	even := offered(func(_ prompt, yield func(string) bool) {
		yield("4")
		yieldKeys(stored, func(key string) bool { return (key[len(key)-1]-'0')%2 == 1 || yield(key) })
	})
	if len(even) != 75 || !slices.Equal(even[:4], []string{"4", "0", "2", "6"}) || pulled != 300 {
		t.Errorf("%d words of %d items: %v", len(even), pulled, even)
	}
	all := offered(func(_ prompt, yield func(string) bool) {
		if yieldKeys(stored, yield) {
			t.Error("more keys are wanted than are offered")
		}
	})
	if len(all) != completeWords || pulled != 2*completeWords-1 {
		t.Errorf("%d words of %d items, want %d of %d", len(all), pulled, completeWords, 2*completeWords-1)
	}
}
