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
