package imports

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	n := Names{}
	for _, tt := range []struct{ words, want string }{
		{"Remote_Address", "remote-address"}, {"remote address", "remote-address-2"}, {"remote-address-2", "remote-address-2-2"},
		{"remote-address", "remote-address-3"}, {"--a//b--", "a-b"}, {"", "rule"}, {"é", "rule-2"}, {"deny", "deny-2"}, {"unmatched", "unmatched-2"},
		{"plan", "plan-2"}, {"7", "7"}, {strings.Repeat("x", 99), strings.Repeat("x", 56)}, {strings.Repeat("x", 80), strings.Repeat("x", 56) + "-2"},
	} {
		if got := n.Take(tt.words); got != tt.want {
			t.Errorf("the name of %q is %s, want %s", tt.words, got, tt.want)
		}
	}
}

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
