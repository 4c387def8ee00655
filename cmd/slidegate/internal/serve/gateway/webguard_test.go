package gateway_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// TestPageRefusal: a person's browser gets the page that it was told to open, and
// the page's own requests. No page of another site gets anything, neither at this
// server's address nor at a name of its own, by DNS rebinding.
func TestPageRefusal(t *testing.T) {
	const loopback, elsewhere = "127.0.0.1:9090", "192.0.2.1:9090"
	for _, test := range []struct {
		listener, host, fields string
		page, other, proxy     int // refusals by PageRefusal, and by Refusal of programs and of proxies
	}{
		{loopback, "127.0.0.1:9090", "", 0, 0, 0},
		{"[::1]:9090", "[::1]", "", 0, 0, 0},
		{loopback, "LOCALHOST:9090", "", 0, 0, 0},
		{loopback, "localhost:7070", "Sec-Fetch-Site: none", 0, 403, 0},                                       // a forwarded port
		{loopback, "127.0.0.1:9090", "Sec-Fetch-Site: same-origin, Origin: https://proxy.example", 0, 403, 0}, // a proxy changed Host
		{loopback, "127.0.0.1:9090", "Sec-Fetch-Site: same-site", 403, 403, 0},                                // another port of this machine
		{loopback, "127.0.0.1:9090", "Sec-Fetch-Site: cross-site, Origin: http://127.0.0.1:9090", 403, 403, 0},
		{loopback, "127.0.0.1:9090", "Sec-Fetch-Site: same-origin, Sec-Fetch-Site: cross-site", 403, 403, 0},
		{loopback, "127.0.0.1:9090", "Sec-Fetch-Site: ", 403, 403, 0},
		{loopback, "127.0.0.1:9090", "Origin: http://127.0.0.1:9090", 0, 0, 0},
		{loopback, "127.0.0.1:9090", "Origin: http://127.0.0.1:3000", 403, 0, 0},
		{loopback, "127.0.0.1:9090", "Origin: ://", 403, 0, 0},

		{loopback, "evil.example:9090", "Sec-Fetch-Site: same-origin, Origin: http://evil.example:9090", 421, 421, 421},
		{"[::1]:9090", "127.0.0.1.evil.example:09090", "", 421, 421, 421},
		{loopback, "[fe80::1%evil.example]:9090", "", 421, 421, 421},
		{"127.0.0.9:80", "evil.example", "", 421, 421, 421},
		{loopback, "evil.example:x", "", 421, 421, 421},
		{loopback, "", "", 421, 421, 0},
		{loopback, "shop.example:8000", "", 421, 421, 0}, // of a proxy's client

		// Over HTTP to another machine, browsers send no Sec-Fetch-Site.
		{elsewhere, "limiter.example:9090", "", 0, 0, 0},
		{elsewhere, "limiter.example:9090", "Origin: http://LIMITER.example:9090", 0, 0, 0},
		{elsewhere, "limiter.example:9090", "Origin: http://evil.example", 403, 0, 0},
		{elsewhere, "limiter.example:9090", "Sec-Fetch-Site: cross-site", 403, 0, 0},
	} {
		local, err := net.ResolveTCPAddr("tcp", test.listener)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(local)), "POST", "/live/try", nil)
		r.Host = test.host
		for field := range strings.SplitSeq(test.fields, ", ") {
			if name, value, ok := strings.Cut(field, ": "); ok {
				r.Header.Add(name, value)
			}
		}
		page, _ := gateway.PageRefusal(r)
		other, _ := gateway.WebRefusal(r, false)
		proxy, _ := gateway.WebRefusal(r, true)
		if page != test.page || other != test.other || proxy != test.proxy {
			t.Errorf("at %s, Host %s, %s: the page, programs and proxies are refused with %d, %d and %d; want %+v", test.listener, test.host, test.fields, page, other, proxy, test)
		}
	}
}
