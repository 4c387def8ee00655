// Package browser_test has pages in a real browser ask a limiter of another
// origin: what scripts may read is the browser's decision, not the answer's.
package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
