package ruledoc

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	known := []string{"name", "when", "key", "limits", "cost", "on_error"}
	for _, tt := range []struct{ word, want string }{
		{"limit", "limits"}, {"on-error", "on_error"}, {"onerror", "on_error"}, {"nmae", "name"}, {"costs", "cost"},
		{"kye", "key"}, {"ky", "key"}, {"csot", "cost"}, {"rate", ""}, {"must", ""}, {"per", ""}, {"ekyy", ""}, // as many mistakes as half the letters make another word
		{"wehn", "when"}, {"limts", "limits"}, {"path", ""},
		{"retries", ""}, {"x", ""}, {"", ""}, {"wh", ""}, {strings.Repeat("limits", 1000), ""},
	} {
		if got := Closest(tt.word, known); got != tt.want {
			t.Errorf("Closest(%.20q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"limit", []string{"limits", "key"}, "did you mean limits?"},
		{"retries", []string{"limits", "key", "name"}, "there are limits, key and name"},
		{"retries", []string{"limits"}, "there are limits"},
		{"no", []string{"on", "off"}, "there are on and off"},
		{"retries", nil, "there are "},
	} {
		if got := Suggest(tt.word, tt.known, "there are", "and"); got != tt.want {
			t.Errorf("Suggest(%q, %q) = %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}
