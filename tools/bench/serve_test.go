package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// proxied names the backend of the bare server, which is this program again.
const proxied = "BENCH_BACKEND"

func TestMain(m *testing.M) {
	if backend, err := url.Parse(os.Getenv(proxied)); err == nil && backend.Host != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], bareServer(backend)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// bareServer does the least of each load: it passes a request on, answers a body of
// JSON with another one, or answers 200. It decides nothing.
func bareServer(backend *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(backend) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/forward-auth":
		case "/v1/decisions":
			var asked struct {
				Method, Path, IP string
				Headers          map[string]string
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(struct { // the members of a decision
				Allowed    bool              `json:"allowed"`
				Reason     string            `json:"reason"`
				Degraded   bool              `json:"degraded"`
				Rule       string            `json:"rule"`
				Capacity   int64             `json:"capacity"`
				Remaining  int64             `json:"remaining"`
				Reset      int64             `json:"reset_s"`
				RetryAfter int64             `json:"retry_after_s"`
				Delay      float64           `json:"delay_s"`
				Headers    map[string]string `json:"headers"`
			}{true, "limited", false, asked.IP, unlimited, unlimited, 60, 0, 0, map[string]string{
				"RateLimit": `"per-ip";r=3999999999;t=60`, "RateLimit-Policy": `"per-ip";q=4000000000;w=60`,
			}})
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// serverLoad is the request that servers get.
type serverLoad struct {
	name    string
	servers []string // beside the bare one
	target
}

type target struct {
	method, path string
	header       map[string]string
	body         string
}

var serverLoads = []serverLoad{
	{"gateway", []string{ours, "traefik"}, target{method: http.MethodGet, path: "/"}},
	{"decisions", []string{oursDecide, rareGC}, target{
		method: http.MethodPost, path: "/v1/decisions", header: map[string]string{"Content-Type": "application/json"},
		body: `{"method": "GET", "path": "/v1/items?page=2", "ip": "203.0.113.9", "headers": {"user-agent": "curl/8.5.0", "accept": "*/*"}}`,
	}},
	{"forward-auth", []string{oursDecide, rareGC}, forwardAuth},
}

var forwardAuth = target{method: http.MethodGet, path: "/v1/forward-auth", header: map[string]string{
	"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/v1/items?page=2", "X-Forwarded-Host": "api.example",
	"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Accept": "*/*",
}}

// oursDecide is `slidegate serve --decide`, in the column of ours. rareGC is the same
// with a heap that may grow to five times of what is live.
const (
	oursDecide = ours + " --decide"
	rareGC     = "GOGC=400"
)

// serverKeys is how many keys the memory of a server is measured with.
const serverKeys = 1_000_000

// BenchmarkServe measures servers that have one core, and one rule in memory: Go's
// own, `slidegate serve`, and Traefik with its rateLimit. It reports the CPU time of
// a request and the requests that the core carries, while 16 clients send as fast as
// the answers come. At half of what the slowest server carries it reports the times
// of answers to requests that come at a constant rate. Last comes the memory of a
// million clients. This program sends, is the backend, and has the other cores.
func BenchmarkServe(b *testing.B) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	b.Cleanup(backend.Close)
	last := runtime.NumCPU() - 1
	pin(b, os.Getpid(), fmt.Sprintf("%d-%d", min(1, last), last))
	b.Cleanup(func() { pin(b, os.Getpid(), fmt.Sprintf("0-%d", last)) })
	slidegate := build(b, "../..", "./cmd/slidegate")
	for _, load := range append(serverLoads, serverLoad{name: "1M-keys", servers: []string{oursDecide}}) {
		servers := map[string]*server{} // which no other load has left busy
		for _, name := range append([]string{bare}, load.servers...) {
			servers[name] = startServer(b, name, slidegate, backend.URL)
			pin(b, servers[name].pid, "0")
		}
		each := func(of string, measure func(b *testing.B, s *server)) {
			for _, name := range append([]string{bare}, load.servers...) {
				column, _, _ := strings.Cut(name, " ")
				b.Run("load="+load.name+of+"/limiter="+column, func(b *testing.B) {
					for b.Loop() {
						measure(b, servers[name])
					}
					b.ReportMetric(0, "ns/op") // reports no time
				})
			}
		}
		if load.path == "" {
			each("", func(b *testing.B, s *server) { s.memory(b, s != servers[bare]) })
			continue
		}
		took := map[*server][]float64{} // CPU time of a request in nanoseconds
		for range turns() {
			for _, s := range servers {
				took[s] = append(took[s], s.busy(b, &load.target))
			}
		}
		slowest := 0.0
		for _, times := range took {
			slices.Sort(times)
			slowest = max(slowest, times[len(times)/2])
		}
		each("", func(b *testing.B, s *server) {
			median := took[s][len(took[s])/2]
			b.ReportMetric(1e9/median, "requests/s/core")
			b.ReportMetric(median, "cpu-ns/op")
		})
		each("-at-half-load", func(b *testing.B, s *server) { s.attack(b, &load.target, int64(1e9/slowest/2)) })
	}
}

// memory reports how much of a server's memory is resident after a request of each
// of a million clients. One that does not limit gets fewer, because it keeps none.
func (s *server) memory(b *testing.B, limits bool) {
	before, keys := s.resident(b), int64(serverKeys)
	if once() {
		keys /= 1000
	}
	if !limits {
		keys /= 20
	}
	s.send(b, &forwardAuth, func(n int64, r *fasthttp.Request) bool {
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
		return n <= keys
	}, nil)
	if limits {
		b.ReportMetric(float64(s.resident(b)-before)/float64(keys), "B/key")
	}
	b.ReportMetric(float64(s.resident(b))/1e6, "MB")
}

// once reports whether benchmarks only show that they run.
func once() bool { return flag.Lookup("test.benchtime").Value.String() == "1x" }

// turns is how often each server is measured. They take turns, so that other work on
// the machine slows all of them.
func turns() int {
	if once() {
		return 1
	}
	return 10
}

// server is a server that runs.
type server struct {
	address string
	pid     int
}

// startServer starts a server until the benchmark ends. It has one thread for Go
// code, as Go programs on one core have.
func startServer(b *testing.B, name, slidegate, backend string) *server {
	const rules = "rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 4000000000, window: 1h}]}]\n"
	file, text, command := "rules.yaml", rules, ""
	switch name {
	case bare:
		self, err := os.Executable()
		check(b, err)
		command = self + " ADDRESS"
	case ours:
		command = slidegate + " serve --rules rules.yaml --listen ADDRESS --backend BACKEND"
	case oursDecide, rareGC:
		command = slidegate + " serve --rules rules.yaml --listen ADDRESS --decide --max-keys 1100000"
	case "traefik":
		traefik, err := filepath.Abs("../../.cache/proxies/traefik")
		check(b, err)
		file, text = "routes.yaml", `http:
  middlewares: {limit: {rateLimit: {average: 4000000000, burst: 4000000000, period: 60s}}}
  routers: {all: {rule: "PathPrefix('/')", middlewares: [limit], service: backend}}
  services: {backend: {loadBalancer: {servers: [{url: "BACKEND"}]}}}
`
		command = traefik + " --entryPoints.web.address=ADDRESS --providers.file.filename=routes.yaml"
	}
	dir, s := b.TempDir(), &server{address: free(b)}
	replace := strings.NewReplacer("ADDRESS", s.address, "BACKEND", backend, "'/'", "`/`")
	check(b, os.WriteFile(filepath.Join(dir, file), []byte(replace.Replace(text)), 0o600))
	words := strings.Fields(replace.Replace(command))
	process := exec.Command(words[0], words[1:]...)
	process.Dir, process.Stderr = dir, os.Stderr
	process.Env = append(os.Environ(), "HOME="+dir, "GOMAXPROCS=1", proxied+"="+backend)
	if name == rareGC {
		process.Env = append(process.Env, rareGC)
	}
	check(b, process.Start())
	b.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	s.pid = process.Process.Pid
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get("http://" + s.address)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK || name == oursDecide || name == rareGC { // whose path is another one
			return s
		}
	}
	b.Fatalf("%s does not answer: localstack/proxies.sh installs Traefik", name)
	return nil
}

// busy returns the CPU time of a request, in nanoseconds, while the server is never
// idle.
func (s *server) busy(b *testing.B, t *target) float64 {
	before, end := s.cpu(b), time.Now().Add(100*time.Millisecond)
	sent := s.send(b, t, func(int64, *fasthttp.Request) bool { return time.Now().Before(end) }, nil)
	return float64(s.cpu(b)-before) / float64(sent)
}

// send sends requests of 16 clients, each as soon as its last answer has come. next
// prepares a request by its number, from 1, or ends its client; answered gets the
// number again, unless it is nil. send returns the number of requests.
func (s *server) send(b *testing.B, t *target, next func(n int64, r *fasthttp.Request) bool, answered func(n int64)) int64 {
	const clients = 16
	client := &fasthttp.HostClient{Addr: s.address, MaxConns: clients}
	defer client.CloseIdleConnections()
	var sent atomic.Int64
	var ended sync.WaitGroup
	for range clients {
		ended.Go(func() {
			var request fasthttp.Request
			var answer fasthttp.Response
			request.SetRequestURI("http://" + s.address + t.path)
			request.Header.SetMethod(t.method)
			for name, value := range t.header {
				request.Header.Set(name, value)
			}
			request.SetBodyString(t.body)
			for n := sent.Add(1); next(n, &request); n = sent.Add(1) {
				if err := client.Do(&request, &answer); err != nil || answer.StatusCode() != http.StatusOK {
					b.Errorf("%s %s: status %d, %v", t.method, t.path, answer.StatusCode(), err)
					return
				}
				if answered != nil {
					answered(n)
				}
			}
		})
	}
	ended.Wait()
	return sent.Load() - clients
}

// attack sends requests at a rate a second, and reports the times of their answers.
// A time begins when the request is due: if 16 answers are late, it includes the
// wait for one of them.
func (s *server) attack(b *testing.B, t *target, rate int64) {
	took := make([]time.Duration, rate*int64(turns())/5) // a fifth of a second each turn
	start := time.Now()
	due := func(n int64) time.Time { return start.Add(time.Duration(n) * time.Second / time.Duration(rate)) }
	s.send(b, t, func(n int64, _ *fasthttp.Request) bool {
		if n > int64(len(took)) {
			return false
		}
		time.Sleep(time.Until(due(n)))
		return true
	}, func(n int64) { took[n-1] = time.Since(due(n)) })
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns/op")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns/op")
}

func free(b *testing.B) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	defer listener.Close()
	return listener.Addr().String()
}

// pin has all threads of a process run on some cores alone.
func pin(b *testing.B, pid int, cores string) {
	out, err := exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", cores, strconv.Itoa(pid)).CombinedOutput()
	if err != nil {
		b.Fatalf("taskset, a part of util-linux: %v\n%s", err, out)
	}
}

// cpu returns the CPU time of the server's threads. Go programs end none.
func (s *server) cpu(b *testing.B) (all time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.pid))
	check(b, err)
	for _, thread := range threads {
		var one time.Duration
		text, err := os.ReadFile(thread)
		check(b, err)
		_, err = fmt.Sscan(string(text), &one)
		check(b, err)
		all += one
	}
	return all
}

// resident returns the bytes of a server's memory that are resident.
func (s *server) resident(b *testing.B) (bytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	check(b, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, err = fmt.Sscan(rest, &bytes)
	check(b, err)
	return bytes << 10
}
