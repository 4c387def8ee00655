package problem

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// ofFiles are the codes whose words name fields that only rules files have,
// because no Go program can have the problem.
var ofFiles = []Code{
	CandidateBucket, UnpayableCost, CannotSettle, RestrictedBy, UnderstatedCost, UnstatedCost,
}

// TestWords: words for Go programs name no field of a rules file, and words that
// are the same for both are said once.
func TestWords(t *testing.T) {
	field := regexp.MustCompile(`\b(algorithm|anchor|atomic|capacity|client_ip|cost|granularity|hash|headers|key|` +
		`limits?|mode|name|over|overrides|refund_on|settle|trusted|unless|when|window): `)
	for _, code := range codes {
		if field.MatchString(cmp.Or(code.inPrograms, code.inFiles)) != slices.Contains(ofFiles, code) || code.inFiles == code.inPrograms {
			t.Errorf("words for Go programs that name a field of rules files or are said twice, or the code is wrongly in ofFiles: %q", *code)
		}
	}
}

func TestPath(t *testing.T) {
	p := Root("rules").At(1).To("limits").At(0).To("window")
	if got, want := p.String(), "rules[1].limits[0].window"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if a, b := p.To("a"), p.To("b"); a.String() == b.String() {
		t.Error("two paths share their steps")
	}
}

// TestProgram: places are those of Go programs.
func TestProgram(t *testing.T) {
	rule := Root("rules").At(2)
	tooMuch := New(OutOfRange, int64(-1), 0, 9)
	for _, test := range []struct {
		path    Path
		fault   Fault
		limiter bool
		want    string
	}{
		{rule.To("cost"), tooMuch, false, "Rules[2].Cost must be from 0 to 9"},
		{rule.To("limits").At(1).To("capacity"), tooMuch, false, "Rules[2]: Call(2, 1): n must be from 0 to 9"},
		{rule.To("limits").At(1).To("capacity"), tooMuch, true, "Call(2, 1): n must be from 0 to 9"},
		{rule.To("limits").At(1), New(CannotLease, limit.TokenBucket, limit.SlidingWindow), true,
			"Call(2, 1): a TokenBucket has no slots that a lease could end with: remove the lease, or use SlidingWindow"},
		{rule.To("limits"), New(Count, 9, "limits", 1, 8), true, "9 limits: give 1 to 8"},
		{rule.To("limits"), New(Count, 9, "limits", 1, 8), false, "Rules[2].Limits: 9 limits: give 1 to 8"},
		{rule.To("when").To("path").At(1), New(BadPattern, "b", "why", "/b"), false, `Rules[2].When.Paths[1]: pattern "b": why: write /b`},
		{rule.To("when").To("match").To("jwt.plan"), New(EmptyList), false, `Rules[2].When.Claims["jwt.plan"]: is empty: give a value, or nil`},
		{rule.To("key"), New(Missing, Need{"key", "write key: x"}), false, `Rules[2].Key: is missing: write what to count by, such as "ip:{ip}"`},
		{Root("client_ip").To("trusted_hops"), tooMuch, false, "TrustedProxies must be from 0 to 9"},
		{rule, New(SkippedWhole, Root("skip").At(3)), false,
			"Rules[2]: Skip[3] lifts all limits of every request that this rule covers: narrow it, or remove the rule"},
		{rule.To("name"), New(ReservedName, "deny", "x"), true, `WithName: "deny" stands for x: write another name`},
		{rule.To("refund_on"), New(CannotRefund, rule.To("limits").At(0), limit.TokenBucket, limit.SlidingWindow), true,
			"RefundOn: Call(2, 0) cannot refund: remove RefundOn, or use SlidingWindow"},
	} {
		w := Program{Limiter: test.limiter, Limit: func(rule, i int) string { return fmt.Sprintf("Call(%d, %d)", rule, i) }}
		if got := w.Text(Problem{Path: test.path, Fault: test.fault}); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
