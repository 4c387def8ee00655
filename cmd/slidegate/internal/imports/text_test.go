package imports

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	long := strings.Repeat("é", 40)
	for text, want := range map[string]string{
		"a b": "a b", "": `""`, `"`: `"\""`, "a\nb": `"a\nb"`, "\u2028": `"\u2028"`, long: strings.Repeat("é", 30) + "…",
	} {
		if got := Show(text); got != want {
			t.Errorf("Show(%q) = %s, want %s", text, got, want)
		}
	}
}
