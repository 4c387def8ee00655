//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// traffic is what four clients of one user send until it is stopped.
type traffic struct {
	clients sync.WaitGroup

	mu      sync.Mutex
	seen    []seen
	err     error
	stopped bool
}

// seen is an answer, and when its request was sent.
type seen struct {
	at time.Time
	answer
}

// counted reports whether the table counted an allowed request.
func (s *seen) counted() bool {
	return s.status == http.StatusOK && s.echo.Authorizer["degraded"] == "false"
}

func (d *deployment) traffic(t *testing.T, user string) *traffic {
	f := &traffic{}
	for range 4 {
		f.clients.Go(func() {
			for more := true; more; {
				at := time.Now()
				got, err := ask(t.Context(), http.MethodGet, d.url+"/traffic", field{"Authorization", user})
				more = f.add(seen{at, got}, err)
			}
		})
	}
	return f
}

func (f *traffic) add(s seen, err error) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen = append(f.seen, s); f.err == nil {
		f.err = err
	}
	return f.err == nil && !f.stopped
}

// until waits for an answer to a request that is sent from now on.
func (f *traffic) until(t *testing.T, what string, is func(seen) bool) {
	t.Helper()
	began := time.Now()
	for {
		f.mu.Lock()
		all, err := f.seen, f.err
		f.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].at.After(began) && is(all[i]) {
				return
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("within a minute no answer is %s; the last of %d is %+v", what, len(all), all[len(all)-1])
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stop returns all answers.
func (f *traffic) stop(t *testing.T) []seen {
	t.Helper()
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	if f.clients.Wait(); f.err != nil {
		t.Fatal(f.err)
	}
	return f.seen
}

// publishesUnderTraffic publishes a lower limit and the old one again. Every request
// is answered, the new rules are in force within ten seconds, and no count is
// lost.
func (d *deployment) publishesUnderTraffic(t *testing.T, user string) {
	const inForce = 11 * time.Second
	text, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	low := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(low, bytes.Replace(text, []byte("limit: 100000/hour"), []byte("limit: 1/hour"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	f := d.traffic(t, user)
	f.until(t, "allowed", func(s seen) bool { return s.counted() })
	var published []time.Time
	for _, file := range []string{low, d.file} {
		command(t, ".", d.cli, "rules", "apply", file, "--rules", d.rules, "--why", "under traffic")
		at := time.Now()
		published = append(published, at)
		f.until(t, "late enough", func(s seen) bool { return s.at.After(at.Add(inForce)) })
	}
	allowed, degraded := 0, 0
	for _, s := range f.stop(t) {
		switch {
		case s.status != http.StatusOK && s.status != http.StatusTooManyRequests:
			t.Errorf("a request is answered %d", s.status)
		case s.at.After(published[0].Add(inForce)) && s.at.Before(published[1].Add(-time.Second)) && s.counted():
			t.Errorf("%v after the lower limit was published a request is allowed", s.at.Sub(published[0]))
		case s.at.After(published[1].Add(inForce)) && s.status != http.StatusOK:
			t.Errorf("%v after the old limit was published a request is denied", s.at.Sub(published[1]))
		case s.counted():
			allowed++
		case s.status == http.StatusOK:
			degraded++
		}
	}
	t.Logf("%d counted, %d degraded", allowed, degraded)
	c := d.counter(t, "traffic|user:"+user+"|")
	if c == nil || c.charged < int64(allowed) || c.charged > int64(allowed+degraded) {
		t.Errorf("the counter is %+v; %d requests were allowed, and %d without the table", c, allowed, degraded)
	}
}

// losesTable deletes the counters and creates the table again. Meanwhile on_error
// decides, and nothing needs a restart.
func (d *deployment) losesTable(t *testing.T, user string) {
	f := d.traffic(t, user)
	f.until(t, "counted", func(s seen) bool { return s.counted() })
	if _, err := d.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &d.counters}); err != nil {
		t.Fatal(err)
	}
	f.until(t, "decided by on_error", func(s seen) bool { return s.echo.Authorizer["degraded"] == "true" })
	command(t, ".", d.cli, "tables", "create", "--counters", d.counters)
	f.until(t, "counted again", func(s seen) bool { return s.counted() })
	for _, s := range f.stop(t) {
		if s.status != http.StatusOK {
			t.Errorf("a request is answered %d, in spite of on_error: allow", s.status)
		}
	}
	if c := d.counter(t, "traffic|user:"+user+"|"); c == nil || c.charged == 0 {
		t.Errorf("the new table has the counter %+v", c)
	}
}

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
