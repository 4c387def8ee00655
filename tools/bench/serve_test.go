package bench

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// proxied names the backend of the bare proxy, which is this program again.
const proxied = "BENCH_BACKEND"

func TestMain(m *testing.M) {
	if backend, err := url.Parse(os.Getenv(proxied)); err == nil && backend.Host != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(backend) },
			Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		}))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// BenchmarkServe sends requests of 16 clients that keep their connections through
// a proxy in front of a backend: Go's own, `slidegate serve` under one rule in
// memory, and Traefik with its rateLimit. It reports the proxy's CPU time, which
// the load generator and the backend have no part in.
func BenchmarkServe(b *testing.B) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	b.Cleanup(backend.Close)
	self, err := os.Executable()
	check(b, err)
	traefik, err := filepath.Abs("../../.cache/proxies/traefik")
	check(b, err)
	for _, p := range []struct {
		name, file, text string
		command          []string
	}{
		{name: bare, command: []string{self, "ADDRESS"}},
		{
			ours, "rules.yaml", "rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 4000000000, window: 60s}]}]\n",
			[]string{build(b, "../..", "./cmd/slidegate"), "serve", "--rules", "rules.yaml", "--listen", "ADDRESS", "--backend", "BACKEND"},
		},
		{"traefik", "routes.yaml", `http:
  middlewares: {limit: {rateLimit: {average: 4000000000, burst: 4000000000, period: 60s}}}
  routers: {all: {rule: "PathPrefix('/')", middlewares: [limit], service: backend}}
  services: {backend: {loadBalancer: {servers: [{url: "BACKEND"}]}}}
`, []string{traefik, "--entryPoints.web.address=ADDRESS", "--providers.file.filename=routes.yaml"}},
	} {
		dir, address := b.TempDir(), free(b)
		replace := strings.NewReplacer("ADDRESS", address, "BACKEND", backend.URL, "'/'", "`/`")
		if p.file != "" {
			check(b, os.WriteFile(filepath.Join(dir, p.file), []byte(replace.Replace(p.text)), 0o600))
		}
		command := exec.Command(p.command[0])
		for _, argument := range p.command[1:] {
			command.Args = append(command.Args, replace.Replace(argument))
		}
		command.Dir, command.Stderr, command.Env = dir, os.Stderr, append(os.Environ(), "HOME="+dir, proxied+"="+backend.URL)
		check(b, command.Start())
		stop := sync.OnceFunc(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		b.Cleanup(stop)
		answers(b, "http://"+address)
		b.Run("load=16-clients/limiter="+p.name, func(b *testing.B) {
			before := cpuOf(b, command.Process.Pid)
			b.ResetTimer()
			p99 := attack(b, "http://"+address)
			b.StopTimer()
			b.ReportMetric(float64(cpuOf(b, command.Process.Pid)-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(p99), "p99-ns/op")
		})
		stop()
	}
}

// attack sends b.N requests, and returns the time within which 99% are answered.
func attack(b *testing.B, address string) time.Duration {
	var sent atomic.Int64
	next := func(t *vegeta.Target) error {
		if sent.Add(1) > int64(b.N) {
			return vegeta.ErrNoTargets
		}
		t.Method, t.URL = http.MethodGet, address
		return nil
	}
	var metrics vegeta.Metrics
	attacker := vegeta.NewAttacker(vegeta.Workers(16), vegeta.MaxWorkers(16), vegeta.Connections(16), vegeta.KeepAlive(true))
	for answer := range attacker.Attack(next, vegeta.Rate{}, 0, "") {
		if answer.Error != vegeta.ErrNoTargets.Error() {
			metrics.Add(answer)
		}
	}
	metrics.Close()
	if metrics.Success < 1 {
		b.Fatalf("%.2f%% of the requests had another status than 200: %v %v", 100*(1-metrics.Success), metrics.StatusCodes, metrics.Errors)
	}
	return metrics.Latencies.P99
}

// answers waits until a proxy answers from its backend.
func answers(b *testing.B, address string) {
	b.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get(address)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	b.Fatal("the proxy does not answer: localstack/proxies.sh installs Traefik")
}

func free(b *testing.B) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	defer listener.Close()
	return listener.Addr().String()
}

// cpuOf returns the CPU time of a process, of which Linux keeps hundredths of a
// second.
func cpuOf(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(b, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	var user, system time.Duration
	fields := strings.Fields(rest)
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	check(b, err)
	return (user + system) * time.Second / 100
}
