// Package browser_test has pages in a real browser ask a limiter of another
// origin: what scripts may read is the browser's decision, not the answer's.
package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
