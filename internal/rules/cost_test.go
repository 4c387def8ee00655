package rules

import (
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// A cost that the request states is bounded, and an unreadable one counts as the
// largest.
func TestStatedCost(t *testing.T) {
	cost := Cost{from: key.Part{Kind: key.FromHeader, Text: "x-tokens"}, Min: 500, Max: 8000}
	for _, test := range []struct {
		sent []string
		want int64
	}{
		{[]string{"700"}, 700}, {[]string{"1"}, 500}, {[]string{"0"}, 500}, {[]string{"8000"}, 8000}, {[]string{"8001"}, 8000},
		{nil, 8000}, {[]string{""}, 8000}, {[]string{"x"}, 8000}, {[]string{"-1"}, 8000}, {[]string{"+700"}, 8000}, {[]string{"7e2"}, 8000},
		{[]string{" 700"}, 8000}, {[]string{"700", "700"}, 8000}, {[]string{"99999999999999999999"}, 8000}, {[]string{"0x2bc"}, 8000},
	} {
		r := &request.Request{Headers: map[string][]string{"X-Tokens": test.sent}}
		if got := cost.of(r, 100_000); got != test.want {
			t.Errorf("%q costs %d, want %d", test.sent, got, test.want)
		}
	}
	clamped := Cost{from: key.Part{Kind: key.FromClaim, Text: "size"}, Min: 1, Max: 8000, Clamp: true}
	if got := clamped.of(&request.Request{Claims: claimsOf(t, `{"size": 5000}`)}, 4000); got != 4000 {
		t.Errorf("5000 of a limit that holds 4000 cost %d", got)
	}
	fixed := Fixed(5)
	if got := fixed.of(nil, 4); got != 5 {
		t.Errorf("a fixed cost of 5 is %d", got)
	}
}
