package operator

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// TestSignReceipts: which rules and secrets serve --decide starts with, and whether
// programs and proxies get receipts.
func TestSignReceipts(t *testing.T) {
	const (
		settles = "limits: [{capacity: 9, window: 1h, cost: {from: header.x-n, min: 1, max: 9, settle: true}}]"
		places  = "limits: [{in_flight: 9, expires: 90s}]"
		secret  = "0123456789abcdef"
	)
	for _, test := range []struct {
		rule, store, secret string
		programs, proxies   bool
		want                string
	}{
		{settles, "", "", true, false, ""},
		{settles, "", secret, true, true, ""},
		{settles, "counters", secret, true, true, ""},
		{settles, "counters", "", false, false, "SLIDEGATE_RECEIPT_SECRET is not set, and rule a settles or has places in flight: give all servers over dynamodb://counters the same"},
		{places, "counters", "", false, false, "rule a settles or has places in flight"},
		{settles + ", mode: off", "counters", "", false, false, ""},
		{"refund_on: 5xx, limit: 9/hour", "counters", "", false, false, ""},
		{settles, "counters", "short", false, true, "SLIDEGATE_RECEIPT_SECRET: a secret for receipts has 5 characters"},
	} {
		set, err := rulefile.Parse("rules.yaml", []byte("rules: [{name: a, key: all, "+test.rule+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		var o ServeOptions
		err = o.SignReceipts(&session.Session{Locations: session.Locations{CountersTable: test.store}, Rules: set}, test.secret)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v", test, err)
		}
		if (len(o.receipts) > 0) != test.programs || o.proxies != test.proxies {
			t.Errorf("%+v: %d secrets, proxies %v", test, len(o.receipts), o.proxies)
		}
	}
}
