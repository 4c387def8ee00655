package oplog_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const shadowed = `
rules:
  - {name: api, key: "ip:{ip}", limits: [{name: low, capacity: 4, window: 60s, candidate: 2}, {name: high, capacity: 4, window: 50s, candidate: 8}]}
  - {name: strict, mode: shadow, key: "ip:{ip}", limits: [{capacity: 3, window: 60s}], refund_on: [5xx]}
`

// TestShadowResults: shadow rules and candidates are reported every ten seconds
// in which a request comes.
func TestShadowResults(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(shadowed))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	text := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	observer := oplog.NewObserver(slog.New(text))
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: observer})
	start := time.Unix(1_700_000_040, 0)
	lines := func() string {
		defer log.Reset()
		return log.String()
	}
	decide := func(after time.Duration) {
		t.Helper()
		req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")}
		if _, err := e.Decide(context.Background(), start.Add(after), req); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		decide(0)
	}
	if got := lines(); got != "" {
		t.Errorf("at once, logged %q", got)
	}
	decide(10 * time.Second)
	want := `level=INFO msg="shadow results" what="api.high candidate" requests=6 would_deny=0 would_allow=2 key=ip:203.0.113.9
level=INFO msg="shadow results" what="api.low candidate" requests=6 would_deny=2 would_allow=0 key=ip:203.0.113.9
level=INFO msg="shadow results" what=strict requests=4 would_deny=1 would_allow=0 key=ip:203.0.113.9
`
	if got := lines(); got != want {
		t.Errorf("logged\n%swant\n%s", got, want)
	}
	decide(11 * time.Second)
	decide(10*time.Second - time.Millisecond) // a request that runs side by side
	if got := lines(); got != "" {
		t.Errorf("a second later, logged %q", got)
	}
	observer.Flush(context.Background())
	if got := lines(); !strings.Contains(got, "requests=2") {
		t.Errorf("at the end, logged %q", got)
	}
	decide(-time.Hour) // the clock was set back
	if got := lines(); !strings.Contains(got, "requests=1") {
		t.Errorf("an hour earlier, logged %q", got)
	}
}

// TestUnreadableAddress: a proxy's entry that is no address is logged once in ten
// seconds, with the address that counts for all of that proxy's clients.
func TestUnreadableAddress(t *testing.T) {
	for _, tt := range []struct{ clientIP, header, sent, want string }{
		{"{trusted_hops: 1}", "X-Forwarded-For", "203.0.113.9:50001", ""},
		{"{trusted_hops: 2}", "X-Forwarded-For", "unknown", ""}, // came around a proxy, such as a health check
		{"{trusted_hops: 1}", "X-Forwarded-For", "203.0.113.9, unknown", `entry="x-forwarded-for: unknown" counts=192.0.2.1`},
		{"{trusted_hops: 1, header: forwarded}", "Forwarded", "for=_hidden;by=10.0.0.1", `entry="forwarded: for=_hidden;by=10.0.0.1" counts=192.0.2.1`},
		{"{header: x-real-ip, secret: {header: x-origin, env: E}}", "X-Real-IP", "unix:", `entry="x-real-ip: unix:" counts=192.0.2.1`},
		{"{trusted_hops: 1}", "X-Forwarded-For", strings.Repeat("x", 1<<16), `...`},
	} {
		set, err := rulefile.Parse("rules.yaml", []byte("client_ip: "+tt.clientIP+"\nrules: [{name: r, key: '{ip}', limit: 5/minute}]"))
		if err != nil {
			t.Fatal(err)
		}
		if err := set.LoadSecrets(func(string) (string, bool) { return "s3cret", true }); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: oplog.NewObserver(slog.New(slog.NewTextHandler(&log, nil)))})
		for range 3 {
			req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("192.0.2.1"),
				Headers: map[string][]string{tt.header: {tt.sent}, "X-Origin": {"s3cret"}}}
			if _, err := e.Decide(t.Context(), time.Now(), req); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Count(log.String(), "a proxy's entry for its client is no address, so the address of the proxy counts")
		if want := min(len(tt.want), 1); lines != want || !strings.Contains(log.String(), tt.want) || log.Len() > 500 {
			t.Errorf("%s, %.40s: logged %d lines, %.500s", tt.clientIP, tt.sent, lines, &log)
		}
	}
}
