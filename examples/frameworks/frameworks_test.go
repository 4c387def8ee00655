package frameworks

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"

	"github.com/slidegate/slidegate"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(m.Run())
}

// TestFrameworks sends the same requests to each framework.
func TestFrameworks(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, all, login *slidegate.Limiter) (address string){
		"chi":   func(t *testing.T, all, login *slidegate.Limiter) string { return serve(t, chiRouter(all, login)) },
		"gin":   func(t *testing.T, all, login *slidegate.Limiter) string { return serve(t, ginEngine(all, login)) },
		"echo":  func(t *testing.T, all, login *slidegate.Limiter) string { return serve(t, echoServer(all, login)) },
		"fiber": func(t *testing.T, all, login *slidegate.Limiter) string { return serveFiber(t, fiberApp(all, login)) },
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			all := limiter(t, slidegate.SlidingWindow(4, time.Hour), slidegate.WithName("all"), slidegate.WithObserver(func(_ context.Context, e slidegate.Event) {
				keys = append(keys, e.Key)
			}))
			address := start(t, all, limiter(t, slidegate.SlidingWindow(1, time.Hour), slidegate.WithName("login")))
			refunded := 1
			if name == "fiber" { // whose adaptor does not show the answer
				refunded = 0
			}
			for i, step := range []struct {
				line   string
				status int
				policy string
				left   int64 // of all
			}{
				{"GET /hello", 200, `"all";q=4;w=3600`, 3},
				{"GET /none", 404, `"all";q=4;w=3600`, int64(2 + refunded)},
				{"POST /login", 204, `"login";q=1;w=3600`, int64(1 + refunded)},
				{"POST /login", 429, `"login";q=1;w=3600`, int64(0 + refunded)},
			} {
				r, body := do(t, address, step.line)
				if r.StatusCode != step.status || last(r.Header.Values("RateLimit-Policy")) != step.policy || step.line == "GET /hello" && body != "hello" {
					t.Errorf("request %d: status %d, fields %v, body %s", i, r.StatusCode, r.Header, body)
				}
				denied := strings.Contains(body, "quota-exceeded") && r.Header.Get("Content-Type") == "application/problem+json" && r.Header.Get("Retry-After") != ""
				if denied != (step.status == 429) {
					t.Errorf("request %d: fields %v, body %s", i, r.Header, body)
				}
				if left := left(t, all); left != step.left {
					t.Errorf("after request %d, %d are left, want %d", i, left, step.left)
				}
			}
			for range refunded + 1 {
				do(t, address, "GET /hello")
			}
			if r, body := do(t, address, "GET /hello"); r.StatusCode != 429 || strings.Contains(body, "hello") {
				t.Errorf("status %d, body %s after the limit", r.StatusCode, body)
			}
			for _, key := range keys {
				if key != "ip:127.0.0.1" {
					t.Errorf("counts by %s", key)
				}
			}
		})
	}
}

// last returns the last value: Fiber adds the fields of an inner limiter to those
// of the outer one.
func last(values []string) string { return strings.Join(values[max(0, len(values)-1):], "") }

func limiter(t *testing.T, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

func left(t *testing.T, lim *slidegate.Limiter) int64 {
	t.Helper()
	r, err := lim.Peek(t.Context(), "ip:127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	return r.Remaining
}

func serve(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func serveFiber(t *testing.T, app *fiber.App) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- app.Listener(l, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := app.ShutdownWithTimeout(time.Second); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return "http://" + l.Addr().String()
}

func do(t *testing.T, address, line string) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// TestDocs: the page shows the code that is tested.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/library-frameworks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chi.go", "gin.go", "echo.go", "fiber.go"} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(file), "\n)\n\n") // after the imports
		if !strings.Contains(string(page), "```go\n"+code+"```\n") {
			t.Errorf("docs/library-frameworks.md does not show %s:\n%s", name, code)
		}
	}
}
