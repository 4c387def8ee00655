package rules

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestBanned(t *testing.T) {
	for _, tt := range []struct {
		deny string
		req  request.Request
		want bool
	}{
		{"{cidrs: [198.51.100.0/24]}", request.Request{IP: netip.MustParseAddr("198.51.100.7")}, true},
		{"{cidrs: [198.51.100.0/24]}", request.Request{IP: netip.MustParseAddr("::ffff:198.51.100.7")}, true}, // the same host
		{"{cidrs: [198.51.100.0/24]}", request.Request{}, false},
		{"{cidrs: 0.0.0.0/0}", request.Request{IP: netip.MustParseAddr("2001:db8::1")}, false},
		{"{cidrs: ['::/0']}", request.Request{IP: netip.MustParseAddr("203.0.113.9")}, false},
		{"{cidrs: ['fe80::/10']}", request.Request{IP: netip.MustParseAddr("fe80::1%eth0")}, true},
		{"{cidrs: [10.0.0.0/8, '2001:db8::/32']}", request.Request{IP: netip.MustParseAddr("2001:db8:1::1")}, true},
		{"{cidrs: [10.0.0.0/8], path: /admin/**}", request.Request{IP: netip.MustParseAddr("10.1.1.1"), Path: "/Admin/../ADMIN/x"}, true}, // ignores case
		{"{cidrs: [10.0.0.0/8], path: /admin/**}", request.Request{IP: netip.MustParseAddr("10.1.1.1"), Path: "/"}, false},
		{"{methods: [TRACE]}", request.Request{Method: "trace"}, true},
		{"{methods: [TRACE]}, {path: /x}", request.Request{Path: "/x"}, true}, // any entry
	} {
		s := parse(t, "rules: []\ndeny: ["+tt.deny+"]")
		if got := s.Banned(&tt.req); got != tt.want {
			t.Errorf("deny %s: %v %s %q: %t, want %t", tt.deny, tt.req.IP, tt.req.Method, tt.req.Path, got, tt.want)
		}
	}
}

// An entry of skip matches only exactly; in doubt, the request is limited.
func TestSkipped(t *testing.T) {
	for _, tt := range []struct {
		skip string
		req  request.Request
		want bool
	}{
		{"{methods: [GET], route: /health}", request.Request{Method: "GET", Path: "/health"}, true},
		{"{methods: [GET], route: /health}", request.Request{Method: "get", Path: "/health"}, false},
		{"{path: /health}", request.Request{Path: "/Health"}, false},
		{"{path: /health}", request.Request{Path: "/health/"}, false},
		{"{path: /health}", request.Request{Path: "/healt%68"}, false},
		{"{path: /health}", request.Request{Path: "/x/../health"}, false},
		{"{path: /static/**}", request.Request{Path: "/static/a/b.css"}, true},
		{"{path: /static/**}", request.Request{Path: "/static/../admin"}, false},
		{"{path: /static/**}", request.Request{Path: "/static/%252e%252e/admin"}, false},
		{"{route: /health}", request.Request{Path: "/health", Route: "GET /health"}, true},
		{"{route: /health}", request.Request{Path: "/%68ealth", Route: "GET /health"}, false},
		{"{route: $connect}", request.Request{Route: "$connect"}, true},                     // no path was sent, so none was hidden
		{"{methods: [OPTIONS]}", request.Request{Method: "OPTIONS", Path: "/a/../b"}, true}, // does not look at the path
		{"{cidrs: [10.0.0.0/8], path: /x}", request.Request{IP: netip.MustParseAddr("11.0.0.1"), Path: "/x"}, false},
	} {
		s := parse(t, "rules: []\nskip: ["+tt.skip+"]")
		if got := s.Skipped(&tt.req); got != tt.want {
			t.Errorf("skip %s: %s %q on route %q: %t, want %t", tt.skip, tt.req.Method, tt.req.Path, tt.req.Route, got, tt.want)
		}
	}
}

func TestParseCIDR(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"10.0.0.0/8", ""},
		{"10.0.0.1", `"10.0.0.1" is an address: write the network 10.0.0.1/32`},
		{"2001:db8::1", `"2001:db8::1" is an address: write the network 2001:db8::1/128`},
		{"64:ff9b::c000:200/120", `"64:ff9b::c000:200/120" is not how a network is written: write 192.0.2.0/24`},
		{"64:ff9b::/96", `"64:ff9b::/96" has no clients: its addresses count as the IPv4 addresses that they carry: remove it`},
		{"10.0.0.1/8", `"10.0.0.1/8" is not how a network is written: write 10.0.0.0/8`},
		{"::ffff:10.0.0.0/104", `"::ffff:10.0.0.0/104" is not how a network is written: write 10.0.0.0/8`},
		{"10.0.0.0/33", `"10.0.0.0/33" is no network: write one such as 198.51.100.0/24 or 2001:db8::/32`},
	} {
		if _, got := parseCIDR(tt.text); got.Reason() != tt.want {
			t.Errorf("parseCIDR(%q): %s, want %s", tt.text, got.Reason(), tt.want)
		}
	}
}

// Of a thousand rules, the index finds those of a request without an allocation,
// but for a path that must be cleaned.
func TestAllocations(t *testing.T) {
	var document strings.Builder
	document.WriteString("rules:\n")
	for i := range 1000 {
		when := fmt.Sprintf([]string{"methods: [GET, POST], route: '/v1/items%d/**'", "match: {jwt.scope: s%d}"}[i%2], i)
		fmt.Fprintf(&document, "- {name: r%d, when: {%s}, key: '{ip}|{header.x-user}', limits: [{capacity: 1, window: 1s}]}\n", i, when)
	}
	s := parse(t, document.String())
	rules, key := make([]*Rule, 0, 8), make([]byte, 0, key.MaxLen)
	for path, most := range map[string]float64{"/v1/items8/x": 0, "/v1//items%38/x": 5} {
		sent := requestTo(path)
		sent.Claims = map[string]any{"scope": "openid s7 s9"}
		if n := testing.AllocsPerRun(100, func() {
			req := sent
			if rules = s.Match(rules[:0], &req); len(rules) != 3 || s.Banned(&req) || s.Skipped(&req) {
				t.Fatalf("%d matches, want 3", len(rules))
			}
			key = rules[0].AppendKey(key[:0], &req)
		}); n > most {
			t.Errorf("%s allocates %v times, want %v at most", path, n, most)
		}
	}
}

// requestTo returns a new request, because a request keeps what derives from it.
func requestTo(path string) request.Request {
	return request.Request{Method: "GET", Path: path, IP: netip.MustParseAddr("2001:db8::9"), Headers: map[string][]string{"X-User": {"241531"}, "Accept": {"*/*"}}}
}

// Some backends drop path parameters, or read a backslash as a slash. Such paths
// neither evade limits and bans nor match what lifts limits.
func TestPathParameters(t *testing.T) {
	s := parse(t, `
deny: [{path: /banned/**}]
skip: [{path: /v1/hooks/**}]
rules:
- {name: admin, when: {path: /admin/**}, unless: {route: /admin/open/**}, key: all, limits: [{capacity: 1, window: 60s}]}`)
	for _, tt := range []struct {
		path                     string
		banned, skipped, limited bool
	}{
		{"/v1/hooks/a", false, true, false},
		{"/v1/hooks/a;x=1", false, false, false},
		{"/v1/hooks/..;/..;/admin", false, false, true},
		{"/v1/hooks/..%3b/..%3B/admin", false, false, true},
		{`/v1/hooks/..\..\admin`, false, false, true},
		{"/v1/hooks/..%5C..%5C../admin", false, false, true},
		{"/admin;x=1/a", false, false, true},
		{"/ADMIN%3Bx/a", false, false, true},
		{"/banned;x/a", true, false, false},
		{`/banned\a`, true, false, false},
		{"/admin/open/a", false, false, false},
		{"/admin/open/a;x", false, false, true},
		{`/admin/open/..\a`, false, false, true},
	} {
		req := requestTo(tt.path)
		if banned, skipped, limited := s.Banned(&req), s.Skipped(&req), len(s.Match(nil, &req)) == 1; banned != tt.banned || skipped != tt.skipped || limited != tt.limited {
			t.Errorf("%s: banned %t, skipped %t, limited %t; want %t, %t, %t", tt.path, banned, skipped, limited, tt.banned, tt.skipped, tt.limited)
		}
	}
}
