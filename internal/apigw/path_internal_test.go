package apigw

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIsFilledIn: a path that is its template, filled in, has no base path, as the
// search for one finds too.
func TestIsFilledIn(t *testing.T) {
	parameters := map[string]string{"id": "42", "a": "..", "b": "", "c": "x/y", "d": "%2F", "e": "{id}", "proxy": "v1/./x"}
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"v1", "", ".", "..", "{id}", "{a}", "{b}", "{c}", "{d}", "{e}", "{proxy+}", "{none}", "42", "a%20b"}), 0, 4)
	same, others := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.SampledFrom([]string{"/", "/", "/", ""}).Draw(t, "start") + strings.Join(parts.Draw(t, "template"), "/")
		filled, ok := filledIn(template, parameters)
		sent := rapid.SampledFrom([]string{filled, "/base" + filled, filled + "/", "/v1", "/v1/42", ""}).Draw(t, "sent")
		got := isFilledIn(sent, template, parameters)
		if got != (ok && sent == filled) {
			t.Errorf("%q is %q filled in: %t, want %t", sent, template, got, !got)
		}
		if !got {
			others++
			return
		}
		same++
		if below, found := findBelow(sent, template, parameters); below != sent || !found {
			t.Errorf("%q by %q: the search finds %q, %t", sent, template, below, found)
		}
	})
	if same == 0 || others == 0 {
		t.Errorf("%d paths are filled in and %d are not, want some of each", same, others)
	}
}
