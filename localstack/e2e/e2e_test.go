//go:build e2e

// Package e2e deploys the sample stack to a local AWS with the real CDK command
// line and sends traffic through API Gateway. It needs a running emulator at
// AWS_ENDPOINT_URL; `make e2e` brings one.
package e2e

import (
	"flag"
	"net/http"
	"strings"
	"testing"
	"time"
)

// wide is for `make e2e`: half a minute of traffic, and many deployments.
var wide = flag.Bool("wide", false, "also publish under traffic, lose a table, and remove each right in turn, so that something has to fail")

func TestEndToEnd(t *testing.T) {
	d := deploy(t)
	// Users have separate counters, also from those of earlier runs on the same
	// emulator.
	alice, bob := "alice"+d.run, "bob"+d.run
	t.Run("an allowed request reaches the backend with its decision", func(t *testing.T) { d.allowed(t, alice) })
	t.Run("the request over the limit is answered 429", func(t *testing.T) { d.denied(t, alice) })
	t.Run("the counter holds what was charged", func(t *testing.T) { d.counted(t, alice, 3) })
	t.Run("another key is untouched", func(t *testing.T) { d.untouched(t, alice, bob) })
	t.Run("a preflight is neither limited nor counted", func(t *testing.T) { d.preflight(t, alice) })
	t.Run("the backend of a REST API settles and refunds", func(t *testing.T) { d.settles(t, d.url, "frank"+d.run) })
	t.Run("the backend of an HTTP API settles and refunds", func(t *testing.T) { d.settles(t, d.http, "grace"+d.run) })
	t.Run("an HTTP API is limited, and its backend answers as the rule says", func(t *testing.T) { d.httpAPI(t, "carol"+d.run) })
	t.Run("a TOKEN authorizer is limited", func(t *testing.T) { d.tokenAPI(t, "dave"+d.run) })
	t.Run("an API by an OpenAPI definition is limited", func(t *testing.T) { d.specAPI(t, "heidi"+d.run) })
	t.Run("connections of a WebSocket API are limited", func(t *testing.T) { d.webSocketAPI(t, "erin"+d.run) })
	t.Run("callers are verified on every kind of API", func(t *testing.T) {
		t.Parallel() // it waits most of the time
		d.verified(t)
	})
	t.Run("after the window it is allowed again", func(t *testing.T) { d.recovers(t, alice) })
	if *wide {
		t.Run("rules are published while traffic flows", func(t *testing.T) { d.publishesUnderTraffic(t, "ivan"+d.run) })
		t.Run("a table is lost and created again", func(t *testing.T) { d.losesTable(t, "judy"+d.run) })
		t.Run("metrics reach the log", func(t *testing.T) { d.writesMetrics(t, "mallory"+d.run) })
		t.Run("Lambdas and people need each of their rights", func(t *testing.T) { d.rights(t) })
	}
}

func (d *deployment) allowed(t *testing.T, user string) {
	got := d.request(t, http.MethodGet, "/v1/items/1", user)
	if got.status != http.StatusOK || got.echo.Method != http.MethodGet || got.echo.Path != "/v1/items/1" {
		t.Fatalf("answer is %d %+v, want 200 and an echo of GET /v1/items/1", got.status, got.echo)
	}
	for name, want := range map[string]string{
		"allowed": "true", "degraded": "false", "rule": "per-user", "limit": "3", "remaining": "2",
		"rateLimitPolicy": `"per-user";q=3;w=60`,
	} {
		if got.echo.Authorizer[name] != want {
			t.Errorf("the context's %s is %v, want %s", name, got.echo.Authorizer[name], want)
		}
	}
	for name, want := range map[string]string{
		"RateLimit": `"per-user";r=2;t=`, "RateLimit-Policy": `"per-user";q=3;w=60`, "X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "2",
	} {
		if value := got.header.Get(name); !strings.HasPrefix(value, want) {
			t.Errorf("%s is %q, want %s", name, value, want)
		}
	}
}

// denied takes two more units with other ids in the path. The gateway has one
// route for them, so they share a counter. It does not check the fields that
// API Gateway maps from the context, because emulators do not map them; see the
// README.
func (d *deployment) denied(t *testing.T, user string) {
	for _, path := range []string{"/v1/items/2", "/v1/items/3"} {
		if got := d.request(t, http.MethodGet, path, user); got.status != http.StatusOK {
			t.Fatalf("%s is answered %d, want 200", path, got.status)
		}
	}
	for range 3 {
		got := d.request(t, http.MethodPost, "/v1/items/4", user)
		if got.status != http.StatusTooManyRequests {
			t.Fatalf("the request over the limit is answered %d, want 429", got.status)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/problem+json", "Access-Control-Allow-Origin": "*",
		} {
			if value := got.header.Get(name); value != want {
				t.Errorf("%s is %q, want %s", name, value, want)
			}
		}
		if expose := got.header.Get("Access-Control-Expose-Headers"); !strings.Contains(expose, "Retry-After") {
			t.Errorf("Access-Control-Expose-Headers is %q, want Retry-After in it", expose)
		}
	}
}

// counted reads the item as docs/protocol.md describes it.
func (d *deployment) counted(t *testing.T, user string, charged int64) {
	c := d.counter(t, "per-user|user:"+user+"|")
	if c == nil {
		t.Fatal("there is no counter")
	}
	if c.charged != charged || c.inSlots != charged {
		t.Errorf("the counter has %d units, %d in its slots, want %d", c.charged, c.inSlots, charged)
	}
	if now := time.Now().Unix(); c.ttl <= now+3600 || c.ttl > now+3600+120 {
		t.Errorf("ttl is %d s from now, want an hour after the end of the window", c.ttl-now)
	}
}

func (d *deployment) untouched(t *testing.T, user, other string) {
	if c := d.counter(t, "per-user|user:"+other+"|"); c != nil {
		t.Fatalf("%s was charged %d units before the first request", other, c.charged)
	}
	if got := d.request(t, http.MethodGet, "/v1/items/1", other); got.status != http.StatusOK {
		t.Fatalf("the other key is answered %d, want 200", got.status)
	}
	d.counted(t, other, 1)
	d.counted(t, user, 3)
}

func (d *deployment) preflight(t *testing.T, user string) {
	got := d.request(t, http.MethodOptions, "/v1/items/1", user)
	if got.status/100 != 2 || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the preflight is answered %d with Access-Control-Allow-Origin %q",
			got.status, got.header.Get("Access-Control-Allow-Origin"))
	}
	d.counted(t, user, 3)
}

// recovers takes the one unit of a short window, is denied, and repeats the
// request until it is allowed. Both admissions are between the measured times,
// so the window has passed even on a slow machine.
func (d *deployment) recovers(t *testing.T, user string) {
	const window, maxWait = 2 * time.Second, 30 * time.Second
	var first time.Time
	denied := false
	for stop := time.Now().Add(maxWait); time.Now().Before(stop); time.Sleep(50 * time.Millisecond) {
		sent := time.Now()
		got := d.request(t, http.MethodGet, "/short", user)
		switch {
		case got.status == http.StatusTooManyRequests:
			denied = true
			continue
		case got.status != http.StatusOK:
			t.Fatalf("answer is %d, want 200 or 429", got.status)
		case !first.IsZero() && time.Since(first) < window:
			t.Fatalf("two requests were allowed within %v, want 1 in %v", time.Since(first), window)
		case denied:
			return
		}
		first = sent // the first grant, or one so slow that no denial came between
	}
	t.Fatalf("not allowed again within %v (denied at all: %v)", maxWait, denied)
}
