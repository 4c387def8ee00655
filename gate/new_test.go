package gate_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// TestNewErrors: errors of rules name the field of the struct that is wrong.
func TestNewErrors(t *testing.T) {
	limits := []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}
	for _, test := range []struct {
		rule gate.Rule
		want string
	}{
		{gate.Rule{}, `Rules[0].Name: is missing: write one that no other rule has, such as "per-ip"
Rules[0].Key: is missing: write what to count by, such as "ip:{ip}"
Rules[0].Limits: is missing: write one to eight, such as SlidingWindow(100, time.Minute)`},
		{gate.Rule{Name: "API", Key: "ip:{ip}", Limits: limits},
			`Rules[0].Name: "API" cannot be a name: use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first, such as api`},
		{gate.Rule{Name: "api", Key: "ip:{ip", Limits: limits}, `Rules[0].Key: "{ip" is never closed: write } after the name`},
		{gate.Rule{Name: "api", Key: "ip:{ip}", Limits: []slidegate.Limit{limits[0], slidegate.SlidingLog(1001, time.Hour)}},
			"Rules[0]: SlidingLog(1001, 1h): n must be at most 1000: use SlidingWindow for more"},
		{gate.Rule{Name: "api", Key: "ip:{ip}", Limits: []slidegate.Limit{{}}},
			"Rules[0]: limit 1 is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind"},
		{gate.Rule{Name: "api", Key: "ip:{ip}", Limits: limits, When: gate.Match{Paths: []string{"/a", "b"}, Claims: map[string][]string{"path": {"x"}}}},
			`Rules[0].When.Paths[1]: pattern "b": a pattern begins with a slash: write /b
Rules[0].When.Claims["path"]: path needs the name of a parameter of the route: write path.NAME`},
		{gate.Rule{Name: "api", Key: "ip:{ip}", Limits: limits, Cost: -1, RefundOn: []string{"6xx"}},
			`Rules[0].Cost must be from 0 to 4294967295
Rules[0].RefundOn[0]: "6xx" is no status: write a number such as 404, or a class such as 5xx`},
	} {
		_, err := gate.New(gate.Rules{Rules: []gate.Rule{test.rule}})
		if err == nil || err.Error() != "slidegate: "+test.want {
			t.Errorf("got  %v\nwant slidegate: %s", err, test.want)
		}
	}
	_, err := gate.New(gate.Rules{TrustedProxies: -1, Deny: []gate.Match{{CIDRs: []string{"1.2"}}}})
	if want := `slidegate: TrustedProxies must be from 0 to 32
Deny[0].CIDRs[0]: "1.2" is no network: write one such as 198.51.100.0/24 or 2001:db8::/32`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
