// Package browser_test has pages in a real browser ask a limiter of another
// origin: what scripts may read is the browser's decision, not the answer's.
package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

var (
	browse  context.Context // of one browser for all tests
	command string          // the path of slidegate
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	command = filepath.Join(dir, "slidegate")
	build := exec.Command("go", "build", "-o", command, "./cmd/slidegate")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s\n", err, out)
		return 1
	}
	install := exec.Command("../../../localstack/browser.sh")
	install.Stderr = os.Stderr
	path, err := install.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser: no browser to test with: put google-chrome or chromium on PATH, or mend localstack/browser.sh:", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Its pages are the tests' own, so they need no sandbox, which root and
	// containers do not have.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(strings.TrimSpace(string(path))),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("no-proxy-server", true))
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	browse, stop = chromedp.NewContext(ctx)
	defer stop()
	if err := chromedp.Do(browse, chromedp.Navigate("about:blank")); err != nil {
		fmt.Fprintf(os.Stderr, "browser: %s does not start: put another google-chrome or chromium on PATH: %v\n", path, err)
		return 1
	}
	return m.Run()
}

// page is an empty page of an origin of its own.
type page struct {
	origin string
	ctx    context.Context
}

func openPage(t *testing.T) page {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	t.Cleanup(server.Close)
	ctx, cancel := chromedp.NewContext(browse)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	return page{server.URL, ctx}
}

// answer is what a script could read.
type answer struct {
	Status int
	Fields map[string]string // with lower-case names
	Body   string
	Error  string // of a request whose answer the browser withholds
}

// fetch has a script of the page send a request.
func (p page) fetch(t *testing.T, url, init string) (a answer) {
	t.Helper()
	a, err := chromedp.Run(p.ctx, chromedp.Evaluate[answer](fmt.Sprintf(`(async () => {
		try {
			const r = await fetch(%q, %s)
			return {status: r.status, fields: Object.fromEntries(r.headers), body: await r.text()}
		} catch (e) {
			return {error: String(e)}
		}
	})()`, url, init), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// doors start the programs that pages ask, and return their address. Each lets a
// number of requests an hour through to a backend.
var doors = map[string]func(t *testing.T, capacity int64, backend http.Handler) string{
	"slidegate serve": serve,
	"Middleware":      serveLimiter,
}

var printed = regexp.MustCompile(`"(url|admin)":"(http://[^"]+)"`)

// serve starts `slidegate serve` before a backend.
func serve(t *testing.T, capacity int64, backend http.Handler) string {
	t.Helper()
	behind := httptest.NewServer(backend)
	t.Cleanup(behind.Close)
	addresses, _ := start(t, fmt.Sprintf("rules: [{name: default, key: 'ip:{ip}', limit: %d/hour}]", capacity), "--backend", behind.URL)
	return addresses["url"]
}

// start starts `slidegate serve`, and returns the addresses that it prints. stop
// ends it.
func start(t *testing.T, document string, flags ...string) (addresses map[string]string, stop func()) {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command, append([]string{"serve", "--json", "--rules", rules, "--listen", "127.0.0.1:0"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addresses = map[string]string{}
	for _, match := range printed.FindAllStringSubmatch(line, -1) {
		addresses[match[1]] = match[2]
	}
	if addresses["url"] == "" {
		t.Fatalf("slidegate serve prints %q", line)
	}
	return addresses, stop
}

// serveLimiter runs a Go program whose handler is limited.
func serveLimiter(t *testing.T, capacity int64, backend http.Handler) string {
	t.Helper()
	server := httptest.NewServer(limit(t, capacity, backend))
	t.Cleanup(server.Close)
	return server.URL
}

func limit(t *testing.T, capacity int64, h http.Handler) http.Handler {
	t.Helper()
	limiter, err := slidegate.New(slidegate.SlidingWindow(capacity, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return limithttp.Middleware(limiter)(h)
}

// backend answers preflights, and scripts of one origin.
type backend struct {
	origin      string // which may read its answers; "" for none
	credentials bool   // whether requests may carry credentials
	preflights  atomic.Int64
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if b.origin != "" {
		h.Set("Access-Control-Allow-Origin", b.origin)
	}
	if b.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method == http.MethodOptions {
		b.preflights.Add(1)
		h.Set("Access-Control-Allow-Methods", "PUT")
		h.Set("Access-Control-Allow-Headers", "X-Tenant")
		h.Set("Access-Control-Max-Age", "0") // or the browser would remember it for 5 s
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == "/session" {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
	}
	_, _ = io.WriteString(w, "backend "+r.Header.Get("Cookie"))
}

// TestScriptsReadDenials: a script of another origin reads the whole answer to a
// denied request, and the fields of limits of allowed ones.
func TestScriptsReadDenials(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			url := start(t, 1, &backend{origin: p.origin})
			a := p.fetch(t, url, "{}")
			if a.Status != http.StatusOK || a.Body != "backend " {
				t.Fatalf("the script reads %+v", a)
			}
			a.wantFields(t, map[string]string{
				"ratelimit": `"default";r=0;t=`, "ratelimit-policy": `"default";q=1;w=3600`, "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0",
			})
			a = p.fetch(t, url, "{}")
			var problem struct {
				Type, Title string
				Status      int
				Violated    []string `json:"violated-policies"`
			}
			if err := json.Unmarshal([]byte(a.Body), &problem); err != nil || a.Status != http.StatusTooManyRequests {
				t.Fatalf("the script reads %+v: %v", a, err)
			}
			if problem.Status != http.StatusTooManyRequests || !strings.HasSuffix(problem.Type, "#quota-exceeded") || problem.Title == "" || len(problem.Violated) != 1 {
				t.Errorf("the script reads the problem %+v", problem)
			}
			a.wantFields(t, map[string]string{
				"content-type": "application/problem+json", "retry-after": "36",
				"ratelimit": `"default";r=0;t=36`, "ratelimit-policy": `"default";q=1;w=3600`,
				"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-retry-after": "36",
			})
		})
	}
}

// wantFields checks the beginnings of fields that a script could read.
func (a answer) wantFields(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if !strings.HasPrefix(a.Fields[name], value) {
			t.Errorf("the script reads %s: %q, want %q and more", name, a.Fields[name], value)
		}
	}
}

// TestPreflightsAreNotCounted: the browser sends one before each of these
// requests, also once the limit is reached: else a script could not learn that.
func TestPreflightsAreNotCounted(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			b := &backend{origin: p.origin}
			url := start(t, 2, b)
			for i, want := range []struct {
				status    int
				remaining string
			}{{200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
				a := p.fetch(t, url, `{method: "PUT", headers: {"X-Tenant": "acme"}}`)
				if a.Status != want.status || a.Fields["x-ratelimit-remaining"] != want.remaining {
					t.Errorf("request %d: the script reads %+v", i, a)
				}
				if n := b.preflights.Load(); n != int64(i)+1 {
					t.Errorf("the browser sent %d preflights before request %d", n, i)
				}
			}
		})
	}
}

// TestOriginsAreTheBackends: scripts of an origin that the backend has not
// allowed read nothing of its answers. The limiter's own answers are for all.
func TestOriginsAreTheBackends(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p, stranger := openPage(t), openPage(t)
			url := start(t, 3, &backend{origin: p.origin})
			if a := stranger.fetch(t, url, "{}"); a.Error == "" {
				t.Errorf("a script of another origin reads %+v", a)
			}
			if a := stranger.fetch(t, url, `{method: "PUT", headers: {"X-Tenant": "acme"}}`); a.Error == "" {
				t.Errorf("a script of another origin reads %+v after a preflight", a)
			}
			// The refused preflight kept the second request from being sent.
			if a := p.fetch(t, url, "{}"); a.Status != http.StatusOK || a.Fields["x-ratelimit-remaining"] != "1" {
				t.Errorf("the allowed script reads %+v", a)
			}
			p.fetch(t, url, "{}")
			for _, p := range []page{p, stranger} {
				if a := p.fetch(t, url, "{}"); a.Status != http.StatusTooManyRequests {
					t.Errorf("a script of %s reads %+v of a denial", p.origin, a)
				}
			}
		})
	}
}

// TestCredentials: a script that sends cookies reads an answer only if it names
// the script's origin. So it reads answers of such a backend with their fields,
// and a denial if the program around the middleware names the origin.
func TestCredentials(t *testing.T) {
	const include = `{credentials: "include"}`
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			url := start(t, 2, &backend{origin: p.origin, credentials: true})
			p.fetch(t, url+"/session", include)
			a := p.fetch(t, url, include)
			if a.Status != http.StatusOK || a.Fields["x-ratelimit-remaining"] != "0" || a.Body != "backend session=1" {
				t.Errorf("the script reads %+v", a)
			}
			if a := p.fetch(t, url, include); a.Error == "" {
				t.Errorf("the script reads %+v of a denial for every origin", a)
			}
			if a := p.fetch(t, url, "{}"); a.Status != http.StatusTooManyRequests {
				t.Errorf("without cookies, the script reads %+v", a)
			}
		})
	}
	t.Run("a program that names the origin", func(t *testing.T) {
		p := openPage(t)
		limited := limit(t, 1, http.NotFoundHandler())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", p.origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			limited.ServeHTTP(w, r)
		}))
		defer server.Close()
		for _, want := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
			if a := p.fetch(t, server.URL, include); a.Status != want || a.Fields["x-ratelimit-remaining"] != "0" {
				t.Errorf("the script reads %+v, want status %d", a, want)
			}
		}
	})
}
