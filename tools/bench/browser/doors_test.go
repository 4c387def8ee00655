package browser_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// doors start the programs that pages ask, and return their address. Each lets a
// number of requests an hour through to a backend.
var doors = map[string]func(t *testing.T, capacity int64, backend http.Handler) string{
	"slidegate serve": serve,
	"Middleware":      serveLimiter,
}

var listening = regexp.MustCompile(`"url":"(http://[^"]+)"`)

// serve starts `slidegate serve`.
func serve(t *testing.T, capacity int64, backend http.Handler) string {
	t.Helper()
	behind := httptest.NewServer(backend)
	t.Cleanup(behind.Close)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	document := fmt.Appendf(nil, "rules: [{name: default, key: 'ip:{ip}', limit: %d/hour}]", capacity)
	if err := os.WriteFile(rules, document, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command, "serve", "--json", "--rules", rules, "--listen", "127.0.0.1:0", "--backend", behind.URL)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	match := listening.FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("slidegate serve prints %q", line)
	}
	return match[1]
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
