package engine

import (
	"strings"
	"testing"
)

// TestNames: names stay as they are, whatever is written next to them and to the
// bytes that they were made of. Those that do not fit are texts of their own.
func TestNames(t *testing.T) {
	room := make(names, 2*nameRoom)
	var want, got []string
	for i, n := range []int{nameRoom, 0, nameRoom - 9, 10, 9, 1, 3 * nameRoom} {
		text := []byte(strings.Repeat(string(rune('a'+i)), n))
		want, got = append(want, string(text)), append(got, room.text(text))
		clear(text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("names\n%q, want\n%q", got, want)
	}
	if len(room) != 0 {
		t.Errorf("%d bytes are left, want 0", len(room))
	}
	if n := testing.AllocsPerRun(100, func() {
		full := room
		_ = full.text(nil)
	}); n != 0 {
		t.Errorf("%v allocations for no text", n)
	}
}
