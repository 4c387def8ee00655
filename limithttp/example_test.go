package limithttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

// A server allows two requests a minute from each address.
func ExampleMiddleware() {
	lim, err := slidegate.New(slidegate.SlidingWindow(2, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	limited := limithttp.Middleware(lim, limithttp.ByIP())(hello)
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
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.PerMonth(100_000, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	limited := limithttp.Middleware(lim,
		limithttp.ByKey(func(r *http.Request) string { return r.URL.Query().Get("tenant") }),
		limithttp.SkipIf(func(r *http.Request) bool { return r.URL.Path == "/health" }),
		limithttp.RefundOn("404"),
		limithttp.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *gate.Decision) {
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
func ExampleGateMiddleware() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{
			Name: "login", When: gate.Match{Methods: []string{"POST"}, Paths: []string{"/login"}},
			Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
		},
		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	limited := limithttp.GateMiddleware(g)(hello)
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
func ExampleWithRequest() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{{
		Name: "user", When: gate.Match{Callers: []string{"known"}},
		Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingWindow(1, time.Minute)},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	type userKey struct{} // where authentication leaves the claims that it has verified
	limited := limithttp.GateMiddleware(g, limithttp.WithRequest(func(r *http.Request, d *gate.Request) {
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

// A backend behind the authorizer reports what a request has cost. The authorizer
// charges it before, in the same table, and signs the receipt by the same secret.
func ExampleSettleMiddleware() {
	store := slidegate.NewMemory(0) // dynamostore.New(client, os.Getenv("SLIDEGATE_COUNTERS"))
	settle := limithttp.SettleMiddleware(store, "the value of SLIDEGATE_RECEIPT_SECRET")
	chat := settle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Slidegate-Cost", "chat.tokens=512")
		fmt.Fprint(w, "an answer of 512 tokens")
	}))
	w := httptest.NewRecorder()
	chat.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat", nil)) // with the field Slidegate-Receipt
	fmt.Printf("%s; cost shown to the client: %q", w.Body, w.Header().Get("Slidegate-Cost"))
	// Output: an answer of 512 tokens; cost shown to the client: ""
}

// A handler that calls the limiter itself answers as the middleware does.
func ExampleDeny() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	search := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := lim.AllowN(r.Context(), "user:7", 60) // what this search costs
		switch {
		case err != nil:
			http.Error(w, "try again", http.StatusServiceUnavailable)
		case !result.Allowed:
			limithttp.Deny(w, lim, result)
		default:
			limithttp.SetFields(w.Header(), lim, result)
			fmt.Fprintln(w, "found")
		}
	})
	for range 2 {
		w := httptest.NewRecorder()
		search.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "default";r=40;t=61 ""
	// 429 "default";r=40;t=61 "61"
}

// A client sends ten requests a second at most, and waits as long as the server
// asks.
func ExampleTransport() {
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy {
			busy = false
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()

	lim, err := slidegate.New(slidegate.LeakyBucket(10, time.Second, 10))
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: &limithttp.Transport{Limiter: lim, Retries: 3}, Timeout: 10 * time.Second}
	response, err := client.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output: 200 OK
}
