// Package docs tests the Go code of the pages.
package docs

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
)

// TestPages: the Go code of the pages is quoted from files that tests compile and
// run.
func TestPages(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*_test.go", "../*_test.go", "../gate/*_test.go", "../gate/*/*_test.go", "../limithttp/*_test.go", "../store/*/*_test.go", "../limitlambda/*_test.go", "../limitotel/*_test.go", "../limittest/*_test.go", "../tools/bench/*_test.go", "../infra/ratelimit/example_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			sources = append(sources, "\n"+read(t, file))
		}
	}
	for _, page := range []string{"../README.md", "library.md", "spend.md", "migrating.md", "start/library.md", "start/cdk-go.md"} {
		blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no Go code", page)
		}
		for _, block := range blocks {
			if !quoted(block[1], sources) {
				t.Errorf("%s: no test has this code:\n%s", page, block[1])
			}
		}
	}
}

// TestConstructPages: the code of start/cdk.md is in apps that the check of a release
// compiles and runs, and in the README of the packages.
func TestConstructPages(t *testing.T) {
	indent := regexp.MustCompile("(?m)^[ \t]+")
	for language, app := range map[string]string{"ts": "typescript/page.ts", "python": "python/page.py"} {
		code := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(read(t, "start/cdk.md"))
		if code == nil {
			t.Fatalf("start/cdk.md has no code in %s", language)
		}
		source := "\n" + indent.ReplaceAllString(read(t, "../tools/release/testdata/constructs/"+app), "")
		for _, part := range strings.Split(code[1], "\n\n") {
			if !strings.Contains(source, "\n"+indent.ReplaceAllString(strings.TrimSpace(part), "")+"\n") {
				t.Errorf("%s has not this code of start/cdk.md:\n%s", app, part)
			}
		}
		if !strings.Contains(read(t, "../infra/constructs/README.md"), code[1]) {
			t.Errorf("infra/constructs/README.md has not this code of start/cdk.md:\n%s", code[1])
		}
	}
}

// quoted reports whether a source has these lines, indented by up to three tabs.
func quoted(lines string, sources []string) bool {
	for range 4 {
		for _, source := range sources {
			if strings.Contains(source, "\n"+lines) {
				return true
			}
		}
		lines = regexp.MustCompile("(?m)^(.)").ReplaceAllString(lines, "\t$1")
	}
	return false
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

	hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
)

// The examples of docs/library.md.

func Example_handler() {
	mux := http.NewServeMux()

	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/", limithttp.Middleware(lim, limithttp.ByIP())(hello))

	for range 100 {
		get(mux)
	}
	w := get(mux)
	fmt.Println(w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	// Output: 429 "default";r=0;t=61 61
}

func get(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w
}

func Example_result() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := lim.AllowAt(ctx, noon.Add(10*time.Second), "user:7", 97); err != nil {
		log.Fatal(err)
	}

	r, err := lim.AllowAt(ctx, noon.Add(30*time.Second), "user:7", 4) // 97 units were taken at 12:00:10
	if err != nil {
		log.Fatal(err) // no decision
	}
	fmt.Println(r.Allowed, r.Limit, r.Remaining, r.ResetAfter, r.RetryAfter)
	// Output: false 100 3 41s 41s
}

func Example_severalLimits() {
	lim, err := slidegate.New(
		slidegate.SlidingWindow(5, time.Second).WithName("burst"),
		slidegate.PerMonth(100_000, time.UTC).WithName("tokens"),
	)
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.AllowCosts(ctx, "user:7", 1, 4096) // one request, and 4096 tokens
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range r.Limits {
		fmt.Println(l.Name, l.Allowed, l.Remaining)
	}
	// Output:
	// burst true 4
	// tokens true 95904
}

func TestWaitOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, start, jobs := t.Context(), time.Now(), []string{"a", "b", "c"}
		send := func(string) {}
		err := func() error {
			lim, err := slidegate.New(slidegate.LeakyBucket(10, time.Second, 50)) // one every 100 ms
			if err != nil {
				return err
			}
			for _, job := range jobs {
				if err := lim.Wait(ctx, "api.example.com"); err != nil {
					return err
				}
				send(job)
			}
			return nil
		}()
		if took := time.Since(start); err != nil || took != 200*time.Millisecond {
			t.Errorf("%v, %v", took, err)
		}
	})
}

func Example_reserve() {
	complete := func(string) (string, int64) { return "an answer", 512 }
	lim, err := slidegate.New(slidegate.SlidingWindow(10_000, time.Minute))
	if err != nil {
		log.Fatal(err)
	}

	r, err := lim.Reserve(ctx, "user:7", 4096) // the most that the answer may cost
	if err != nil || !r.Allowed {
		log.Fatal("denied, or no decision: ", err)
	}
	answer, used := complete("a question")
	if err := r.Settle(ctx, used); err != nil {
		log.Print(err) // the 4096 units may stay charged
	}

	left, err := lim.Peek(ctx, "user:7")
	fmt.Println(answer, left.Remaining, err)
	// Output: an answer 9488 <nil>
}

func Example_places() {
	workers, err := slidegate.New(slidegate.InFlight(20, 90*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	place, err := workers.Acquire(ctx, "tenant:7")
	if err != nil {
		log.Fatal(err)
	}
	defer place.Cancel(ctx) // gives the place back

	fmt.Println(place.Allowed, place.Remaining)
	// Output: true 19
}

func Example_settle() {
	complete := func(string) (string, int64) { return "an answer", 512 }
	os.Setenv("SLIDEGATE_RECEIPT_SECRET", "0123456789abcdef0123456789abcdef")
	defer os.Unsetenv("SLIDEGATE_RECEIPT_SECRET")
	store := slidegate.NewMemory(0)

	settle := limithttp.SettleMiddleware(store, os.Getenv("SLIDEGATE_RECEIPT_SECRET"))
	chat := settle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, used := complete("a question")
		w.Header().Set("Slidegate-Cost", fmt.Sprintf("chat.tokens=%d", used)) // clients do not see it
		fmt.Fprint(w, answer)
	}))

	w := get(chat)
	fmt.Println(w.Body, w.Header().Get("Slidegate-Cost") == "")
	// Output: an answer true
}

func Example_errorPolicy() {
	store := slidegate.NewMemory(0)
	lim, err := slidegate.New(
		slidegate.SlidingWindow(100, time.Minute),
		slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailLocal(4), // four processes share the load
		slidegate.WithDeadline(100*time.Millisecond),
	)
	if err != nil {
		log.Fatal(err)
	}
	r, err := lim.Allow(ctx, "user:7")
	fmt.Println(r.Allowed, r.Degraded, err)
	// Output: true false <nil>
}

func Example_gate() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{
			Name: "login", When: gate.Match{Methods: []string{"POST"}, Paths: []string{"/login"}},
			Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Minute)},
		},
		{Name: "per-ip", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.SlidingWindow(100, time.Minute)}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	handler := limithttp.GateMiddleware(g)(hello)

	for range 6 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", nil))
		fmt.Print(w.Code, " ")
	}
	// Output: 200 200 200 200 200 429
}

func Example_options() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	limit := limithttp.Middleware(lim,
		limithttp.ByKey(func(r *http.Request) string { return "user:" + userOf(r) }),
		limithttp.WithCost(func(r *http.Request) int64 { return 1 + r.ContentLength/1000 }),
		limithttp.SkipIf(func(r *http.Request) bool { return r.URL.Path == "/health" }),
		limithttp.RefundOn("5xx"),
		limithttp.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *gate.Decision) {
			http.Error(w, "too many requests by "+d.Key, http.StatusTooManyRequests) // Retry-After is set
		}),
	)
	w := httptest.NewRecorder()
	limit(hello).ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 5000))))
	fmt.Println(w.Code, w.Header().Get("RateLimit"))
	// Output: 200 "default";r=94;t=61
}

func userOf(*http.Request) string { return "7" }

func Example_observer() {
	var denied, failed int
	count := func(_ context.Context, e slidegate.Event) {
		switch {
		case e.Err != nil:
			failed++ // e.Action says what the failure led to
		case !e.Result.Allowed:
			denied++
		}
	}
	lim, err := slidegate.New(slidegate.FixedWindow(1, time.Hour), slidegate.WithObserver(count))
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := lim.Allow(ctx, "user:7"); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(denied, failed)
	// Output: 2 0
}
