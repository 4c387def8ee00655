package apigw_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const business = `
rules:
  - {name: hidden, when: {path: /hidden}, headers: "off", key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: shadow, mode: shadow, when: {path: /shadow}, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: real, when: {path: [/shadow, /raised]}, key: "ip:{ip}", overrides: true, limits: [{capacity: 2, window: 60s}]}
  - {name: lifted, when: {path: /lifted}, key: "ip:{ip}", overrides: true, limits: [{capacity: 1, window: 60s}]}
  - {name: barred, when: {path: /barred}, key: "ip:{ip}", overrides: true, limits: [{capacity: 1, window: 60s}]}
overrides:
  real: {"ip:198.51.100.1": {capacity: 5}}
  lifted: {"ip:203.0.113.9": {unlimited: true}}
  barred: {"ip:203.0.113.9": {deny: true, why: not for clients to read}}
`

// TestBusiness compares the contexts of decisions by shadow rules, rules with
// headers: off, and overrides. Each line is the last of several answers,
// without the values of the problem.
func TestBusiness(t *testing.T) {
	set := parse(t, business)
	for _, test := range []struct {
		path, ip string
		times    int
		want     string
	}{
		{"/hidden", "203.0.113.9", 1, "allowed=true degraded=false"},
		{"/hidden", "203.0.113.9", 2, "allowed=false degraded=false retryAfter=61 rule=undisclosed xRateLimitRetryAfter=61"},
		{"/shadow", "203.0.113.9", 2, `allowed=true degraded=false limit=2 rateLimit="real";r=0;t=61 ` +
			`rateLimitPolicy="real";q=2;w=60 remaining=0 reset=61 rule=real xRateLimitLimit=2 xRateLimitRemaining=0`},
		{"/raised", "198.51.100.1", 3, `allowed=true degraded=false limit=5 rateLimit="real";r=2;t=61 ` +
			`rateLimitPolicy="real";q=5;w=60 remaining=2 reset=61 rule=real xRateLimitLimit=5 xRateLimitRemaining=2`},
		{"/lifted", "203.0.113.9", 5, "allowed=true degraded=false"},
		{"/barred", "203.0.113.9", 1, "allowed=false degraded=false deniedStatus=403 rule=deny"},
	} {
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0)})
		authorizer := apigw.NewAuthorizer(e, func() time.Time { return now })
		ev := apigw.RequestEvent{Type: "REQUEST", MethodArn: "arn:aws:execute-api:eu-west-1:1:api/prod/GET" + test.path, HTTPMethod: "GET", Path: test.path}
		ev.RequestContext.Identity.SourceIP = test.ip
		var answer apigw.Response
		for range test.times {
			var err error
			if answer, _, err = authorizer.Decide(context.Background(), ev); err != nil {
				t.Fatal(err)
			}
		}
		about := answer.Context.Map()
		var values []string
		for _, name := range slices.Sorted(maps.Keys(about)) {
			if !strings.HasPrefix(name, "problem") && name != "deniedBody" && name != "deniedContentType" {
				values = append(values, fmt.Sprint(name, "=", about[name]))
			}
		}
		if got := strings.Join(values, " "); got != test.want {
			t.Errorf("%s, %d times:\n%s\nwant\n%s", test.path, test.times, got, test.want)
		}
	}
}
