package rulefile_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/graphql"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// batch is a number of equal requests at once.
type batch struct {
	after   time.Duration // since the start
	times   int
	method  string
	path    string
	ip      string
	headers string // "name: value", "graphql: query" or nothing
	allowed int
	by      string // the policy that denies the others, or the reason if that is no limit
}

// The recipes of docs/cookbook.md, and what they decide.
var cookbook = map[string][]batch{
	"Per API key, with a burst": {
		{0, 60, "GET", "/v1/items", "203.0.113.9", "x-api-key: a", 50, "api-keys"},
		{0, 60, "GET", "/v1/items", "203.0.113.8", "x-api-key: b", 50, "api-keys"},
		{time.Second, 20, "GET", "/v1/items", "203.0.113.9", "x-api-key: a", 10, "api-keys"},
	},
	"Login by address and user name": {
		{0, 7, "POST", "/login", "203.0.113.9", "x-login-name: ann", 5, "login-address.per-minute"},
		{0, 7, "POST", "/login", "203.0.113.8", "x-login-name: ann", 5, "login-address.per-minute"},
		{0, 1, "POST", "/login", "203.0.113.7", "x-login-name: ann", 0, "login-name"},
		{0, 5, "GET", "/login", "203.0.113.9", "", 5, ""},
	},
	"Header or address": {
		{0, 70, "GET", "/v1/items", "203.0.113.9", "x-user: ann", 60, "callers"},
		{0, 70, "GET", "/v1/items", "203.0.113.9", "x-user: bob", 60, "callers"},
		{0, 70, "GET", "/v1/items", "203.0.113.9", "", 60, "callers"},
		{0, 70, "GET", "/v1/items", "203.0.113.8", "", 60, "callers"},
	},
	"Cost from a header": {
		{0, 4, "POST", "/v1/batch", "203.0.113.9", "x-batch-size: 50", 4, ""},
		{0, 10, "POST", "/v1/batch", "203.0.113.9", "", 8, "batches"},
		{0, 10, "POST", "/v1/batch", "203.0.113.8", "x-batch-size: 1000000", 10, ""},
	},
	"A slow backend behind a leaky bucket": {
		{0, 30, "POST", "/mail/send", "203.0.113.9", "", 20, "mailer"},
		{time.Second, 30, "POST", "/mail/send", "203.0.113.8", "", 5, "mailer"},
	},
	"Monthly quota in a time zone": { // the start is 23:30 on the last of January in Berlin
		{0, 100, "POST", "/v1/exports", "203.0.113.9", "x-tenant: acme", 100, ""},
		{29 * time.Minute, 1, "POST", "/v1/exports", "203.0.113.9", "x-tenant: acme", 0, "exports"},
		{29 * time.Minute, 90, "GET", "/v1/items", "203.0.113.9", "x-tenant: acme", 90, ""},
		{31 * time.Minute, 101, "POST", "/v1/exports", "203.0.113.9", "x-tenant: acme", 100, "addresses"},
	},
	"A spent month and a caller who is too fast": {
		{0, 12, "GET", "/", "203.0.113.9", "x-user: ann", 10, "seconds"},
		{2 * time.Second, 9, "GET", "/", "203.0.113.9", "x-user: ann", 9, ""},
		{4 * time.Second, 1, "GET", "/", "203.0.113.9", "x-user: bob", 1, ""},
	},
	"The office network": {
		{0, 70, "GET", "/", "203.0.113.9", "", 60, "addresses"},
		{0, 500, "GET", "/", "198.51.100.7", "", 500, ""},
		{0, 500, "GET", "/", "2001:db8:7:1::9", "", 500, ""},
	},
	"Networks of IPv6": {
		{0, 61, "GET", "/", "2001:db8:7:1::1", "", 60, "addresses"},
		{0, 1, "GET", "/", "2001:db8:7:1::2", "", 0, "addresses"},
		{0, 600, "GET", "/", "2001:db8:7:2::1", "", 60, "addresses"},
		{0, 61, "GET", "/", "203.0.113.9", "", 60, "addresses"},
	},
	"Bans": {
		{0, 1, "GET", "/", "198.51.100.7", "", 0, "banned"},
		{0, 1, "GET", "/", "2001:db8:bad:1::1", "", 0, "banned"},
		{0, 1, "GET", "/", "203.0.113.9", "", 0, "addresses"},
		{0, 101, "GET", "/", "203.0.113.8", "", 100, "addresses"},
	},
	"Tokens of a language model": {
		{0, 6, "POST", "/v1/chat", "203.0.113.9", "x-user: ann", 5, "chat.tokens"},
		{0, 30, "POST", "/v1/chat", "203.0.113.9", "x-user: bob", 5, "chat.tokens"},
	},
	"GraphQL by operation": {
		{0, 7, "POST", "/graphql", "203.0.113.9", "graphql: mutation Items { createOrder { id } }", 5, "orders"},
		{0, 3, "POST", "/graphql", "203.0.113.8", "graphql: mutation { items: createOrder { id } b: createOrder { id } }", 2, "orders"},
		{0, 3, "POST", "/graphql", "203.0.113.7", "graphql: mutation { a b c d e payOrder }", 0, "orders"},
		{0, 70, "POST", "/graphql", "203.0.113.7", "graphql: { createOrders orders }", 60, "fields"},
		{0, 1, "POST", "/graphql", "203.0.113.6", "graphql: { orders", 0, "ambiguous"},
	},
}

func (b *batch) request() *request.Request {
	r := &request.Request{Method: b.method, Path: b.path, IP: netip.MustParseAddr(b.ip), Headers: map[string][]string{}}
	if name, value, ok := strings.Cut(b.headers, ": "); name == "graphql" {
		r.Operation = graphql.Read(value, "")
	} else if ok {
		r.Headers[name] = []string{value}
	}
	return r
}

func TestCookbook(t *testing.T) {
	text, err := os.ReadFile("../../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, recipe := range strings.Split(string(text), "\n## ")[1:] {
		seen++
		title, _, _ := strings.Cut(recipe, "\n")
		t.Run(title, func(t *testing.T) {
			set, err := rulefile.Parse(title, []byte(block.FindStringSubmatch(recipe)[1]))
			if err != nil {
				t.Fatal(err)
			}
			if len(cookbook[title]) == 0 {
				t.Fatal("no requests try this recipe")
			}
			decide(t, set, cookbook[title])
		})
	}
	if seen != len(cookbook) {
		t.Errorf("docs/cookbook.md has %d of %d recipes", seen, len(cookbook))
	}
}

// decide sends batches of requests, and compares how many are allowed.
func decide(t *testing.T, set *rules.Set, batches []batch) {
	t.Helper()
	start := time.Date(2026, 1, 31, 22, 30, 0, 0, time.UTC)
	store := memory.New(1000)
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: store})
	for _, b := range batches {
		allowed, by := 0, ""
		for range b.times {
			d, err := e.Decide(t.Context(), start.Add(b.after), b.request())
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				allowed++
			} else {
				by = d.Reason.String()
				if v, i := d.Tightest(); v != nil {
					by = v.PolicyName(i)
				}
			}
		}
		if allowed != b.allowed || by != b.by {
			t.Errorf("%+v: %d allowed, the others denied by %q", b, allowed, by)
		}
	}
}
