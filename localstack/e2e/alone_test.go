//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// TestLimiterAlone is for emulators whose CloudFormation has neither authorizers
// nor custom resources: it deploys the limiter without an API, publishes rules by
// command, and invokes the Lambda until it denies. The table has counted what was
// allowed, to the unit. It runs with -wide, because TestDeployByCommand shows more
// on MiniStack.
func TestLimiterAlone(t *testing.T) {
	if !*wide {
		return
	}
	c := newShop(t, localEndpoint(t))
	c.save("rules.yaml", "rules: [{name: per-ip, key: 'ip:{ip}', limit: 10/minute}]\n")
	defer c.run("aws", "delete", "--yes")
	for _, args := range [][]string{{"aws", "deploy"}, {"rules", "apply", "rules.yaml", "--why", "test", "--rules", "stack://slidegate"}} {
		if printed, code := c.run(args...); code != 0 {
			t.Fatal(printed)
		}
	}
	c.denies()
	out, _ := c.run("aws", "deploy", "--json")
	d := deployment{counters: outputOf(t, out, "RateLimitCountersTable"), db: dynamodb.NewFromConfig(c.cfg)}
	if got := d.counter(t, "per-ip|"); got == nil || got.charged != 10 || got.inSlots != 10 {
		t.Errorf("the counter is %+v, want 10 units", got)
	}
}

// outputOf returns an output of the stack, from what a deployment prints as JSON.
func outputOf(t *testing.T, report, name string) string {
	t.Helper()
	found := regexp.MustCompile(`"name": "` + name + `",\s*"value": "([^"]+)"`).FindStringSubmatch(report)
	if found == nil {
		t.Fatalf("no output %s in %s", name, report)
	}
	return found[1]
}

// denies calls the authorizer of the first deployment until it denies, by 10
// requests in a minute. A slow machine may add requests that are decided without
// the table.
func (c *shop) denies() {
	c.t.Helper()
	out, _ := c.run("aws", "deploy", "--json")
	function := outputOf(c.t, out, "RateLimitFunction")
	event, err := os.ReadFile(root + "/internal/lambda/apigw/testdata/several.event.json")
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range 30 {
		var answer struct {
			Context struct{ Allowed, Degraded string }
		}
		text := c.send("lambda", "/2015-03-31/functions/"+function+"/invocations", "application/json", event)
		if err := json.Unmarshal(text, &answer); err != nil || answer.Context.Allowed == "" || answer.Context.Allowed == "true" && answer.Context.Degraded == "false" && i > 19 {
			c.t.Fatalf("request %d is answered %s, error %v", i, text, err)
		}
		if answer.Context.Allowed == "false" {
			if i < 10 || answer.Context.Degraded == "true" {
				c.t.Errorf("request %d is denied: %s", i, text)
			}
			return
		}
	}
	c.t.Error("30 requests were not denied")
}
