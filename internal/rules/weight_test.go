package rules

import (
	"math/big"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]{1,6})?$`)

// FuzzWeight compares with fractions: what is a weight has its exact value.
func FuzzWeight(f *testing.F) {
	for _, text := range []string{
		"0", "0.1", "5", "0.000001", "1000000000", "1000000000.000000", "1000000000.000001", "1000000001", "1.0000000",
		"", ".", ".5", "1.", "-1", "-0", "+1", "1e3", "1E3", "01", "1_000", " 1", "1 ", "0x10", "1.+5", "1.-5", "NaN", "Infinity", "1.5.5", "1,5", "\u0661",
		"99999999999999999999", "9223372036854.775807", "18446744073709.551616", "null", "true", `"1"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseWeight(text)
		want, number := new(big.Rat), decimal.MatchString(text)
		if number {
			want.SetString(text)
		}
		if most := big.NewRat(MaxWeight, Millionths); ok != (number && want.Cmp(most) <= 0) {
			t.Fatalf("%q is a weight: %t", text, ok)
		}
		if ok && big.NewRat(got, Millionths).Cmp(want) != 0 {
			t.Errorf("%q has %d millionths", text, got)
		}
	})
}

// TestWeights: a limit has the weights of its own cost, else of the rule's. That of an
// override has its own, else of the rule's limit; a bucket, which cannot settle, none.
func TestWeights(t *testing.T) {
	s := parse(t, `rules:
  - name: chat
    key: all
    overrides: true
    cost: {from: header.x, min: 1, max: 9, settle: true, weights: {tokens: 0.50}}
    limits:
      - {name: a, capacity: 9, window: 60s}
      - {name: b, capacity: 9, window: 1h, cost: {from: header.x, min: 1, max: 9, settle: true, weights: {tokens: 3, other: 0}}}
      - {name: c, capacity: 9, window: 1d, cost: 1}`)
	half, three := Weights{"tokens": 500_000}, Weights{"tokens": 3_000_000, "other": 0}
	for override, want := range map[string][]Weights{
		"": {half, three, nil},
		"limits: [{name: b, capacity: 5, window: 60s}, {name: z, capacity: 5, window: 1h}]":                             {three, half},
		"limits: [{name: b, capacity: 5, window: 60s, cost: 1}, {name: z, capacity: 5, window: 1h}]":                    {nil, half},
		"limits: [{name: b, algorithm: token_bucket, capacity: 5, window: 60s}, {name: c, capacity: 5, window: 1h}]":    {nil, nil},
		"limits: [{capacity: 9, window: 60s, cost: {from: header.x, min: 1, max: 9, settle: true, weights: {a: 0.1}}}]": {{"a": 100_000}},
	} {
		var o *Override
		if override != "" {
			var err error
			if o, err = parseOverride("o", []byte(override)); err != nil {
				t.Fatal(err)
			}
		}
		terms := s.Rules[0].Terms(&request.Request{}, "", o, time.Now())
		var got []Weights
		for i := range terms.Limits {
			got = append(got, nil)
			if terms.Settles(i) {
				got[i] = terms.Weights(i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("override %s (-want +got):\n%s", override, diff)
		}
	}
}
