package limithttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limittest"
)

// moment is half a second into a slot.
var moment = time.Unix(1_700_000_040, 500_000_000)

func mustNew(t testing.TB, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(append([]slidegate.Option{slidegate.WithClock(func() time.Time { return moment })}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

func mustGate(t testing.TB, rules gate.RuleSource, options ...gate.Option) *gate.Gate {
	t.Helper()
	g, err := gate.New(rules, append([]gate.Option{slidegate.WithClock(func() time.Time { return moment })}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// okay answers "ok".
var okay = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })

// sendTo sends a request with these fields, "Name: value", to a handler.
func sendTo(h http.Handler, method, target string, fields ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// textOf writes an answer with its fields in order, but without Content-Length
// and Date.
func textOf(r *http.Response) string {
	text := fmt.Sprintln(r.StatusCode)
	h := r.Header.Clone()
	h.Del("Content-Length")
	h.Del("Date")
	var out strings.Builder
	_ = h.Write(&out) // in order
	body, _ := io.ReadAll(r.Body)
	return text + strings.ReplaceAll(out.String(), "\r", "") + "\n" + string(body)
}

const deniedFields = `Access-Control-Allow-Origin: *
Access-Control-Expose-Headers: RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After
Content-Type: application/problem+json
`

const quotaExceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
	`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["%s"]}` + "\n"

// TestAnswers: all fields and the body of the first and of the denied request.
func TestAnswers(t *testing.T) {
	single := mustNew(t, slidegate.SlidingWindow(2, 10*time.Second), slidegate.WithName("api"))
	several := mustNew(t, slidegate.PerDay(1000, time.UTC), slidegate.SlidingWindow(2, 10*time.Second).WithName("burst"))
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{
		{Name: "login", When: gate.Match{Paths: []string{"/login"}}, Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(2, 10*time.Second)}},
		{Name: "hidden", Key: "ip:{ip}", Quiet: true, Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Hour)}},
		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
	}})
	for name, test := range map[string]struct {
		middleware    func(http.Handler) http.Handler
		allowed       string
		denied, limit string
	}{
		"a limiter with one limit": {
			limithttp.Middleware(single),
			"Ratelimit: \"api\";r=1;t=11\nRatelimit-Policy: \"api\";q=2;w=10\nX-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 1\n",
			"Ratelimit: \"api\";r=0;t=11\nRatelimit-Policy: \"api\";q=2;w=10\nRetry-After: 11\nX-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Retry-After: 11\n",
			"api",
		},
		"with several": {
			limithttp.Middleware(several),
			"Ratelimit: \"default.burst\";r=1;t=11, \"default.per-day\";r=999;t=6360\nRatelimit-Policy: \"default.burst\";q=2;w=10, \"default.per-day\";q=1000;w=86400\n" +
				"X-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 1\n",
			"Ratelimit: \"default.burst\";r=0;t=11, \"default.per-day\";r=998;t=6360\nRatelimit-Policy: \"default.burst\";q=2;w=10, \"default.per-day\";q=1000;w=86400\n" +
				"Retry-After: 11\nX-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Retry-After: 11\n",
			"default.burst",
		},
		"a gate": {
			limithttp.GateMiddleware(g),
			"Ratelimit: \"login\";r=1;t=11, \"per-ip\";r=99;t=61\nRatelimit-Policy: \"login\";q=2;w=10, \"per-ip\";q=100;w=60\nX-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 1\n",
			"Ratelimit: \"login\";r=0;t=11\nRatelimit-Policy: \"login\";q=2;w=10\nRetry-After: 11\nX-Ratelimit-Limit: 2\nX-Ratelimit-Remaining: 0\nX-Ratelimit-Retry-After: 11\n",
			"login",
		},
	} {
		h := test.middleware(okay)
		if got, want := textOf(sendTo(h, "GET", "/login")), "200\nContent-Type: text/plain; charset=utf-8\n"+test.allowed+"\nok"; got != want {
			t.Errorf("%s answers the first request with\n%s\nwant\n%s", name, got, want)
		}
		sendTo(h, "GET", "/login")
		want := "429\n" + deniedFields + test.denied + "\n" + fmt.Sprintf(quotaExceeded, test.limit)
		if got := textOf(sendTo(h, "GET", "/login")); got != want {
			t.Errorf("%s answers the third request with\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestFieldsOfHandlers: a handler reads the fields of limits, replaces them, and adds
// to them.
func TestFieldsOfHandlers(t *testing.T) {
	h := limithttp.Middleware(mustNew(t, slidegate.SlidingWindow(9, time.Minute)))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Policy", w.Header().Get("RateLimit")+" read")
		w.Header().Add("RateLimit", "more")
	}))
	fields := sendTo(h, "GET", "/").Header
	if got := fmt.Sprint(fields["Ratelimit-Policy"], fields["Ratelimit"]); got != `["default";r=8;t=61 read] ["default";r=8;t=61 more]` {
		t.Errorf("the client gets %s", got)
	}
}

// TestCORS: preflights are free, scripts read the limiter's own answers, and
// read the fields of a handler's answer if it lets their origin read the answer.
func TestCORS(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(1, time.Minute))
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "all", Key: "all", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)}}}})
	const origin, method = "Origin: https://app.example", "Access-Control-Request-Method: PUT"
	const exposed = "RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After"
	for name, middleware := range map[string]func(http.Handler) http.Handler{"limiter": limithttp.Middleware(lim), "gate": limithttp.GateMiddleware(g)} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o := r.Header.Get("Origin"); o != "" {
				w.Header().Set("Access-Control-Allow-Origin", o)
				w.Header().Set("Access-Control-Expose-Headers", "X-Page")
			}
		})
		inner := middleware(handler)
		outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as CORS middleware does
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			inner.ServeHTTP(w, r)
		})
		for i, test := range []struct {
			h               http.Handler
			method          string
			fields          []string
			status          int
			allowed, expose string
		}{
			{inner, "OPTIONS", []string{origin, method}, 200, "https://app.example", "X-Page; " + exposed},
			{inner, "GET", []string{origin}, 200, "https://app.example", "X-Page; " + exposed},
			{inner, "OPTIONS", []string{origin, method}, 200, "https://app.example", "X-Page; " + exposed},
			{inner, "OPTIONS", []string{origin}, 429, "*", exposed},
			{inner, "GET", []string{origin}, 429, "*", exposed},
			{outer, "GET", []string{origin}, 429, "https://app.example", exposed},
		} {
			r := sendTo(test.h, test.method, "/", test.fields...)
			allowed, expose := r.Header.Get("Access-Control-Allow-Origin"), strings.Join(r.Header.Values("Access-Control-Expose-Headers"), "; ")
			if r.StatusCode != test.status || allowed != test.allowed || expose != test.expose {
				t.Errorf("%s, request %d: status %d, allows %q, exposes %q; want %d, %q, %q", name, i, r.StatusCode, allowed, expose, test.status, test.allowed, test.expose)
			}
		}
	}
	h := limithttp.Middleware(mustNew(t, slidegate.SlidingWindow(9, time.Minute)))(okay)
	if r := sendTo(h, "GET", "/"); r.Header.Get("Access-Control-Expose-Headers") != "" {
		t.Errorf("an intranet's answer has the fields %v", r.Header)
	}
}

// TestMiddlewareKeys: what requests are counted by.
func TestMiddlewareKeys(t *testing.T) {
	bySession := limithttp.ByKey(func(r *http.Request) string {
		c, err := r.Cookie("session")
		if err != nil {
			return "none"
		}
		return c.Value
	})
	for _, test := range []struct {
		option     limithttp.Option
		connection string
		fields     []string
		want       string
	}{
		{limithttp.ByIP(), "192.0.2.1:1234", nil, "ip:192.0.2.1"},
		{limithttp.ByIP(), "192.0.2.1:1234", []string{"X-Forwarded-For: 198.51.100.7"}, "ip:192.0.2.1"},
		{limithttp.ByIP(), "[2001:db8:1:2:3:4:5:6]:1234", nil, "ip:2001:db8:1:2::/64"},
		{limithttp.ByIP(), "192.0.2.1", nil, "ip:192.0.2.1"}, // as chi's RealIP leaves it
		{limithttp.ByIP(), "@", nil, "ip:"},                  // a Unix socket

		{limithttp.ByForwardedIP(1), "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.7"}, "ip:198.51.100.7"},
		{limithttp.ByForwardedIP(1), "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.9, 198.51.100.7"}, "ip:198.51.100.7"}, // a client that lies
		{limithttp.ByForwardedIP(1), "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 198.51.100.7"}, "ip:198.51.100.7"},
		{limithttp.ByForwardedIP(1), "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.7, 10.0.0.1"}, "ip:10.0.0.1"}, // a client of that address
		{limithttp.ByForwardedIP(2), "10.0.0.1:1", []string{"X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.0.0.2"}, "ip:198.51.100.7"},
		{limithttp.ByForwardedIP(2), "10.0.0.1:1", []string{"X-Forwarded-For: 10.0.0.2"}, "ip:10.0.0.1"},
		{limithttp.ByForwardedIP(1), "10.0.0.1:1", nil, "ip:10.0.0.1"},
		{limithttp.ByForwardedIP(1), "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.7", "Connection: X-Forwarded-For"}, "ip:198.51.100.7"},

		{limithttp.ByHeader("x-tenant"), "192.0.2.1:1", []string{"X-Tenant: acme"}, "x-tenant:acme"},
		{limithttp.ByHeader("X-Tenant"), "192.0.2.1:1", nil, "x-tenant:"},
		{limithttp.ByHeader("Host"), "192.0.2.1:1", nil, "host:example.com"},
		{bySession, "192.0.2.1:1", []string{"Cookie: session=7"}, "7"},
		{bySession, "192.0.2.1:1", nil, "none"},
	} {
		var keys []string
		lim := mustNew(t, slidegate.SlidingWindow(9, time.Minute), slidegate.WithObserver(func(_ context.Context, e slidegate.Event) { keys = append(keys, e.Key) }))
		h := limithttp.Middleware(lim, test.option)(okay)
		sendTo(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.RemoteAddr = test.connection
			h.ServeHTTP(w, r)
		}), "GET", "/", test.fields...)
		if len(keys) != 1 || keys[0] != test.want {
			t.Errorf("a request from %s with %q counts by %q, want %q", test.connection, test.fields, keys, test.want)
		}
	}
}

// TestUnreadableForwarded: an entry that is no address is logged once in ten
// seconds, because all clients of that proxy share its counter.
func TestUnreadableForwarded(t *testing.T) {
	var log strings.Builder
	lim := mustNew(t, slidegate.SlidingWindow(9, time.Minute), slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	h := limithttp.Middleware(lim, limithttp.ByForwardedIP(1))(okay)
	for range 3 {
		sendTo(h, "GET", "/", "X-Forwarded-For: unknown")
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "entry=\"x-forwarded-for: unknown\" counts=192.0.2.1\n") {
		t.Errorf("logged %s", got)
	}
}

// TestPanics: a middleware whose options contradict each other, or lack something,
// panics when it is made.
func TestPanics(t *testing.T) {
	window, bucket := mustNew(t, slidegate.SlidingWindow(1, time.Minute)), mustNew(t, slidegate.TokenBucket(1, time.Minute, 1))
	for want, setUp := range map[string]func(){
		"limithttp: a middleware takes one of ByIP, ByForwardedIP, ByHeader and ByKey: return several things as one text from ByKey": func() {
			limithttp.Middleware(window, limithttp.ByIP(), limithttp.ByHeader("X-Tenant"))
		},
		"limithttp: ByForwardedIP needs the number of proxies, from 1; ByIP is for none": func() { limithttp.ByForwardedIP(0) },
		`limithttp: RefundOn[0]: "4x" is no status: write a number such as 404, or a class such as 5xx`: func() {
			limithttp.Middleware(window, limithttp.RefundOn("4x"))
		},
		"limithttp: RefundOn: TokenBucket(1, 1m, 1) cannot refund: remove RefundOn, or use SlidingWindow": func() {
			limithttp.Middleware(bucket, limithttp.RefundOn("404"))
		},
		`limithttp: ByHeader("X-User|ip"): want the name of one header, such as X-Tenant`: func() { limithttp.ByHeader("X-User|ip") },
		"limithttp: ByKey: the function is nil":                                           func() { limithttp.ByKey(nil) },
		"limithttp: WithCost: the function is nil":                                        func() { limithttp.WithCost(nil) },
		"limithttp: SkipIf: the function is nil":                                          func() { limithttp.SkipIf(nil) },
		"limithttp: OnDenied: the function is nil":                                        func() { limithttp.OnDenied(nil) },
		"limithttp: WithRequest: the function is nil":                                     func() { limithttp.WithRequest(nil) },
		`limithttp: UsagePath("/usage/*"): `:                                              func() { limithttp.UsagePath("/usage/*") },
		"limithttp: SettleMiddleware: the store is nil":                                   func() { limithttp.SettleMiddleware(nil, receiptSecret) },
		"limithttp: SettleMiddleware: a secret for receipts has 5":                        func() { limithttp.SettleMiddleware(slidegate.NewMemory(0), "short") },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("panicked with\n%v\nwant\n%s", got, want)
				}
			}()
			setUp()
		}()
	}
}

func TestWithCost(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(10, time.Minute), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
	h := limithttp.Middleware(lim, limithttp.WithCost(func(r *http.Request) int64 { return int64(len(r.URL.Path)) - 1 }))(okay)
	for i, test := range []struct {
		path      string
		status    int
		remaining string
	}{
		{"/123", 200, "7"},
		{"/", 200, "7"},
		{"/12345678", 429, "7"},
		{"/1234567", 200, "0"},
		{"/12345678901", 429, "0"},
	} {
		r := sendTo(h, "GET", test.path)
		never := test.path == "/12345678901"
		if r.StatusCode != test.status || r.Header.Get("X-RateLimit-Remaining") != test.remaining || never && r.Header.Get("Retry-After") != "" {
			t.Errorf("request %d: status %d, fields %v; want %d and %s left", i, r.StatusCode, r.Header, test.status, test.remaining)
		}
	}
	negative := limithttp.Middleware(lim, limithttp.WithCost(func(*http.Request) int64 { return -1 }))(okay)
	if r := sendTo(negative, "GET", "/"); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d for a negative cost", r.StatusCode)
	}
}

func TestSkipIf(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(1, time.Minute))
	path := func(path string) limithttp.SharedOption {
		return limithttp.SkipIf(func(r *http.Request) bool { return r.URL.Path == path })
	}
	h := limithttp.Middleware(lim, path("/health"), path("/ready"))(okay)
	for i, test := range []struct {
		path    string
		status  int
		limited bool
	}{{"/health", 200, false}, {"/ready", 200, false}, {"/", 200, true}, {"/", 429, true}, {"/health", 200, false}} {
		if r := sendTo(h, "GET", test.path); r.StatusCode != test.status || (r.Header.Get("RateLimit") != "") != test.limited {
			t.Errorf("request %d: status %d, fields %v", i, r.StatusCode, r.Header)
		}
	}
}

// TestOnDenied: the own answer gets the decision, and the fields are set.
func TestOnDenied(t *testing.T) {
	own := limithttp.OnDenied(func(w http.ResponseWriter, r *http.Request, d *gate.Decision) {
		w.Header().Set("X-Policy", w.Header().Get("RateLimit-Policy"))
		w.Header().Del("RateLimit-Policy")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "%s: %s %q %q %d %d %v %v", r.URL.Path, d.Reason, d.Rule, d.Key, d.Limit, d.Remaining, d.RetryAfter, d.Delay)
	})
	g := mustGate(t, gate.Rules{
		Deny:  []gate.Match{{Paths: []string{"/banned"}}},
		Rules: []gate.Rule{{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, 10*time.Second)}}},
	})
	leaky := mustNew(t, slidegate.LeakyBucket(1, time.Minute, 5))
	for i, test := range []struct {
		h    http.Handler
		path string
		want string
	}{
		{limithttp.Middleware(mustNew(t, slidegate.SlidingWindow(1, 10*time.Second)), own)(okay), "/", `/: limited "default" "ip:192.0.2.1" 1 0 10.1s 0s`},
		{limithttp.GateMiddleware(g, own)(okay), "/", `/: limited "per-ip" "ip:192.0.2.1" 1 0 10.1s 0s`},
		{limithttp.GateMiddleware(g, own)(okay), "/banned", `/banned: banned "" "" 0 0 0s 0s`},
		{limithttp.Middleware(leaky, own, limithttp.MaxDelay(time.Second))(okay), "/", `/: limited "default" "ip:192.0.2.1" 1 3 1m0s 0s`},
	} {
		sendTo(test.h, "GET", "/")
		r := sendTo(test.h, "GET", test.path)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusForbidden || string(body) != test.want || r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("RateLimit-Policy") != "" {
			t.Errorf("case %d: status %d, fields %v, body\n%s\nwant\n%s", i, r.StatusCode, r.Header, body, test.want)
		}
	}
}

// TestMaxDelay: requests of a leaky bucket leave one by one. A delay that is too
// long is a denial, and stays charged.
func TestMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := slidegate.New(slidegate.LeakyBucket(1, time.Second, 5))
		if err != nil {
			t.Fatal(err)
		}
		h := limithttp.Middleware(lim, limithttp.MaxDelay(2*time.Second))(okay)
		var clients sync.WaitGroup
		for i, test := range []struct {
			status int
			retry  string
		}{{200, ""}, {200, ""}, {200, ""}, {429, "3"}, {429, "4"}, {429, "1"}} {
			clients.Go(func() {
				start := time.Now()
				r := sendTo(h, "GET", "/")
				took := time.Since(start)
				want := time.Duration(i) * time.Second
				if test.status != 200 {
					want = 0
				}
				if r.StatusCode != test.status || took != want || r.Header.Get("Retry-After") != test.retry {
					t.Errorf("request %d: status %d after %v, fields %v; want %d after %v", i, r.StatusCode, took, r.Header, test.status, want)
				}
			})
			synctest.Wait()
		}
		clients.Wait()
	})
}

// TestHangUp: clients that hang up while their requests wait for their turns do
// not reach the handler. Their turns pass unused: a flood of them is soon denied,
// and writes nothing more.
func TestHangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := slidegate.New(slidegate.LeakyBucket(1, time.Second, 5), slidegate.WithLogger(failOnLog(t)))
		if err != nil {
			t.Fatal(err)
		}
		var served []time.Duration
		start := time.Now()
		h := limithttp.Middleware(lim)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = append(served, time.Since(start)) }))
		sendTo(h, "GET", "/")
		ctx, hangUp := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		go h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		synctest.Wait()
		hangUp()
		synctest.Wait()
		sendTo(h, "GET", "/")
		if fmt.Sprint(served) != "[0s 3s]" || w.Code != http.StatusServiceUnavailable {
			t.Errorf("served after %v, and answered the client that hung up with %d", served, w.Code)
		}
	})
}

// failOnLog returns a logger that must not be used.
func failOnLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(writer(func(line []byte) { t.Errorf("logged %s", line) }), nil))
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// TestStoreFailure: what each error policy makes of a store that does not answer.
func TestStoreFailure(t *testing.T) {
	const reduced = "temporary-reduced-capacity"
	for name, test := range map[string]struct {
		policy   slidegate.Option
		statuses string
		rate     string // of the first answer
		retry    string // of the last
		problem  string // of the last
	}{
		"FailOpen":     {slidegate.FailOpen(), "200 200 200", "", "", ""},
		"FailClosed":   {slidegate.FailClosed(), "429 429 429", "", "1", reduced},
		"FailLocal(1)": {slidegate.FailLocal(1), "200 200 429", `"api";r=1;t=61`, "61", reduced},
		"FailLocal(2)": {slidegate.FailLocal(2), "200 429 429", `"api";r=0;t=61`, "61", reduced},
		"FailError":    {slidegate.FailError(), "503 503 503", "", "1", reduced},
	} {
		var logged strings.Builder
		store := slidegate.WithStore(limittest.NewStore(limittest.Fail(errors.New("the store is away"))))
		log := slidegate.WithLogger(slog.New(slog.NewTextHandler(&logged, nil)))
		window := slidegate.SlidingWindow(2, time.Minute)
		handlers := []http.Handler{limithttp.Middleware(mustNew(t, window, slidegate.WithName("api"), store, log, test.policy))(okay)}
		if policy, ok := test.policy.(slidegate.ErrorPolicy); ok {
			g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "api", Key: "all", Limits: []slidegate.Limit{window}}}}, store, log, policy)
			handlers = append(handlers, limithttp.GateMiddleware(g)(okay))
		}
		for _, h := range handlers {
			first, second, third := sendTo(h, "GET", "/"), sendTo(h, "GET", "/"), sendTo(h, "GET", "/")
			statuses := fmt.Sprint(first.StatusCode, second.StatusCode, third.StatusCode)
			rate, last := first.Header.Get("RateLimit"), textOf(third)
			if statuses != test.statuses || rate != test.rate || third.Header.Get("Retry-After") != test.retry || !strings.Contains(last, test.problem) {
				t.Errorf("%s: statuses %s, first RateLimit %s, last answer %s", name, statuses, rate, last)
			}
			if !strings.Contains(logged.String(), "the store is away") {
				t.Errorf("%s logs %q", name, &logged)
			}
		}
	}
}

// TestNested: an inner limiter leaves what an outer gate needs.
func TestNested(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(9, time.Minute))
	h := limithttp.Middleware(lim)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Slidegate-Cost", "chat.tokens=5")
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	fields := sendTo(limithttp.Middleware(lim)(h), "GET", "/").Header
	if fields.Get("Slidegate-Cost") != "chat.tokens=5" || len(fields.Values("RateLimit")) != 1 || len(fields.Values("Access-Control-Expose-Headers")) != 1 {
		t.Errorf("fields %v", fields)
	}
}

// TestWithRequest: the gate sees claims that the program has verified.
func TestWithRequest(t *testing.T) {
	onePerMinute := []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)}
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{
		{Name: "user", When: gate.Match{Callers: []string{"known"}}, Key: "user:{jwt.sub}|{route}", Limits: onePerMinute},
		{Name: "rest", When: gate.Match{Callers: []string{"anonymous"}}, Key: "ip:{ip}", Limits: onePerMinute},
	}})
	describe := limithttp.WithRequest(func(r *http.Request, d *gate.Request) {
		d.Route = r.Pattern
		if user := r.Header.Get("Authorization"); user != "" { // as authentication middleware leaves it
			d.Claims = map[string]any{"sub": user}
		}
	})
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", limithttp.GateMiddleware(g, describe)(okay))
	for i, test := range []struct {
		path, user string
		status     int
		policy     string
	}{
		{"/items/1", "ada", 200, `"user";q=1;w=60`},
		{"/items/2", "ada", 429, `"user";q=1;w=60`},
		{"/items/1", "", 200, `"rest";q=1;w=60`},
		{"/items/2", "", 429, `"rest";q=1;w=60`},
	} {
		if r := sendTo(mux, "GET", test.path, "Authorization: "+test.user); r.StatusCode != test.status || r.Header.Get("RateLimit-Policy") != test.policy {
			t.Errorf("request %d: status %d, fields %v", i, r.StatusCode, r.Header)
		}
	}
}

// TestMounted: rules name the path that clients send, wherever the middleware
// stands, as they do for a gateway.
func TestMounted(t *testing.T) {
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{{
		Name: "login", When: gate.Match{Paths: []string{"/api/login", "/api/a b"}}, Key: "all", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
	}}})
	inner := limithttp.GateMiddleware(g)(okay)
	for i, test := range []struct {
		h      http.Handler
		target string
		status int
	}{
		{http.StripPrefix("/api", inner), "/api/login", 200},
		{http.StripPrefix("/api/login", inner), "/api/login", 429},
		{http.StripPrefix("/api", inner), "/api/a%20b", 429},
		{http.StripPrefix("/api", inner), "/api/other", 200},
		{http.StripPrefix("/other", inner), "/other/login", 200},
		{http.StripPrefix("/other", inner), "/other/api/login", 200},
		{inner, "/api/login", 429},
	} {
		if r := sendTo(test.h, "GET", test.target); r.StatusCode != test.status {
			t.Errorf("request %d, %s: status %d, want %d", i, test.target, r.StatusCode, test.status)
		}
	}
}

// TestUsageOfGate: callers see numbers by what the program has verified, and none by
// a header.
func TestUsageOfGate(t *testing.T) {
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{
		{Name: "per-user", Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Minute)}},
		{Name: "by-header", Key: "user:{header.x-user}", Limits: []slidegate.Limit{slidegate.SlidingWindow(9, time.Minute)}},
	}})
	verified := "ann"
	h := limithttp.GateMiddleware(g, limithttp.UsagePath("/usage"), limithttp.WithRequest(func(_ *http.Request, r *gate.Request) {
		r.Claims, r.Rejected = map[string]any{"sub": verified}, verified == ""
	}))(okay)
	sendTo(h, "GET", "/", "X-User: ann")
	for _, step := range []struct{ verified, header, want string }{
		{"ann", "bob", `{"rules":[{"rule":"per-user","key":"user:{jwt.sub}","limits":[{"capacity":5,"window_s":60,"used":1,`},
		{"bob", "ann", `{"rules":[{"rule":"per-user","key":"user:{jwt.sub}","limits":[{"capacity":5,"window_s":60,"used":0,`},
		{"bob", "ann", `{"rule":"by-header","key":"user:{header.x-user}","limits":[{"capacity":9,"window_s":60}],"withheld":"the key has {header.x-user}, which does not`},
		{"", "ann", "\nok"}, // invalid credentials: the handler answers, as always
	} {
		verified = step.verified
		if got := textOf(sendTo(h, "GET", "/usage", "X-User: "+step.header)); !strings.HasPrefix(got, "200\n") || !strings.Contains(got, step.want) {
			t.Errorf("%q with X-User %s: %s", step.verified, step.header, got)
		}
	}
}

// TestSetFieldsAllocates: SetFields must not compile the limits again for each
// answer, which makes hundreds of allocations.
func TestSetFieldsAllocates(t *testing.T) {
	lim, h := mustNew(t, slidegate.SlidingWindow(100, time.Minute)), http.Header{}
	r, err := lim.Allow(t.Context(), "user:7")
	const most = 30
	if n := testing.AllocsPerRun(100, func() { limithttp.SetFields(h, lim, r) }); n > most || err != nil {
		t.Errorf("SetFields makes %v allocations, want at most %d; %v", n, most, err)
	}
}
