package gate_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
)

// A program without an http.Handler decides, answers, and says how it answered.
func ExampleGate_Decide() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{{
		Name: "jobs", Key: "ip:{ip}", RefundOn: []string{"5xx"}, Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, status := range []int{500, 200, 200} {
		d, err := g.Decide(ctx, &gate.Request{Method: "POST", Path: "/jobs", IP: netip.MustParseAddr("192.0.2.1")})
		if err != nil {
			log.Fatal(err) // there is no decision
		}
		fmt.Println(d.Allowed, d.Rule, d.Key, d.Remaining)
		if d.Allowed {
			g.Finish(ctx, d, gate.Outcome{Status: status})
		}
	}
	// Output:
	// true jobs ip:192.0.2.1 0
	// true jobs ip:192.0.2.1 0
	// false jobs ip:192.0.2.1 0
}
