package slidegate_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/slidegate/slidegate"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

// A server allows two requests a minute from each address.
func ExampleMiddleware() {
	lim, err := slidegate.New(slidegate.SlidingWindow(2, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	limited := slidegate.Middleware(lim, slidegate.ByIP())(hello)
	for range 3 {
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// 200 1
	// 200 0
	// 429 0
}

// Each tenant has its own limit, health checks are free, and requests that find
// nothing are not counted.
func ExampleMiddleware_options() {
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.PerMonth(100_000, "UTC"))
	if err != nil {
		log.Fatal(err)
	}
	limited := slidegate.Middleware(lim,
		slidegate.KeyBy(func(r *http.Request) string { return r.URL.Query().Get("tenant") }),
		slidegate.SkipIf(func(r *http.Request) bool { return r.URL.Path == "/health" }),
		slidegate.RefundOn("404"),
		slidegate.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *slidegate.Decision) {
			http.Error(w, "come back later", http.StatusTooManyRequests)
		}),
	)(hello)
	for _, target := range []string{"/?tenant=a", "/?tenant=a", "/?tenant=b", "/health"} {
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		fmt.Print(target, " ", w.Code, " ", w.Body)
	}
	// Output:
	// /?tenant=a 200 hello
	// /?tenant=a 429 come back later
	// /?tenant=b 200 hello
	// /health 200 hello
}

// Logins have a tight limit besides the one that all requests have.
func ExampleGate_Middleware() {
	gate, err := slidegate.NewGate(slidegate.Rules{Rules: []slidegate.Rule{
		{
			Name: "login", When: slidegate.Match{Methods: []string{"POST"}, Paths: []string{"/login"}},
			Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
		},
		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	limited := gate.Middleware()(hello)
	for _, method := range []string{"POST", "POST", "GET"} {
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, httptest.NewRequest(method, "/login", nil))
		fmt.Println(method, w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// POST 200 "login";q=1;w=60, "per-ip";q=100;w=60
	// POST 429 "login";q=1;w=60
	// GET 200 "per-ip";q=100;w=60
}

// The program verifies tokens, and tells the gate whose they are.
func ExampleDescribeBy() {
	gate, err := slidegate.NewGate(slidegate.Rules{Rules: []slidegate.Rule{{
		Name: "user", When: slidegate.Match{Callers: []string{"known"}},
		Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	type userKey struct{} // where authentication leaves the claims that it has verified
	limited := gate.Middleware(slidegate.DescribeBy(func(r *http.Request, d *slidegate.Request) {
		d.Claims, _ = r.Context().Value(userKey{}).(map[string]any)
	}))(hello)
	for _, user := range []string{"ada", "ada", "bob"} {
		ctx := context.WithValue(context.Background(), userKey{}, map[string]any{"sub": user})
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		fmt.Println(user, w.Code)
	}
	// Output:
	// ada 200
	// ada 429
	// bob 200
}

// A program without an http.Handler decides, answers, and says how it answered.
func ExampleGate_Decide() {
	gate, err := slidegate.NewGate(slidegate.Rules{Rules: []slidegate.Rule{{
		Name: "jobs", Key: "ip:{ip}", RefundOn: []string{"5xx"}, Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, status := range []int{500, 200, 200} {
		d, err := gate.Decide(ctx, &slidegate.Request{Method: "POST", Path: "/jobs", IP: netip.MustParseAddr("192.0.2.1")})
		if err != nil {
			log.Fatal(err) // there is no decision
		}
		fmt.Println(d.Allowed, d.Rule, d.Key, d.Remaining)
		if d.Allowed {
			gate.Finish(ctx, d, slidegate.Outcome{Status: status})
		}
	}
	// Output:
	// true jobs ip:192.0.2.1 0
	// true jobs ip:192.0.2.1 0
	// false jobs ip:192.0.2.1 0
}

// A backend behind the authorizer reports what a request has cost. The authorizer
// charges it before, in the same table, and signs the receipt by the same secret.
func ExampleSettleMiddleware() {
	store := slidegate.NewMemory(0) // dynamostore.New(client, os.Getenv("SLIDEGATE_COUNTERS"))
	settle := slidegate.SettleMiddleware(store, "the value of SLIDEGATE_RECEIPT_SECRET")
	chat := settle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Slidegate-Cost", "chat.tokens=512")
		fmt.Fprint(w, "an answer of 512 tokens")
	}))
	w := httptest.NewRecorder()
	chat.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat", nil)) // with the field Slidegate-Receipt
	fmt.Printf("%s; cost shown to the client: %q", w.Body, w.Header().Get("Slidegate-Cost"))
	// Output: an answer of 512 tokens; cost shown to the client: ""
}
