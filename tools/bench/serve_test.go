package bench

import (
	"context"
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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate"
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

// memoryKeys is how many keys the memory of a key is measured with.
const memoryKeys = 200_000

var inMemory = []subject{
	{bare, counting},
	{ours, func(b *testing.B, quota int64) *opened { return bySlidegate(b, quota, slidegate.SlidingWindow) }},
	{"go-limiter", func(b *testing.B, quota int64) *opened {
		store, err := memorystore.New(&memorystore.Config{Tokens: uint64(quota), Interval: window})
		check(b, err)
		b.Cleanup(func() { _ = store.Close(context.Background()) })
		return &opened{decide: func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok, err
		}}
	}},
	{"throttled", func(b *testing.B, quota int64) *opened {
		store, err := memstore.NewCtx(memoryKeys)
		check(b, err)
		return byThrottled(b, store, quota)
	}},
	{"ulule", func(_ *testing.B, quota int64) *opened { return byUlule(memory.NewStore(), quota) }},
	// httprate decides only with a request and a response, which here has no
	// header fields.
	{"httprate", func(_ *testing.B, quota int64) *opened {
		lim := httprate.NewRateLimiter(int(quota), window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
		w, r := &discard{}, httptest.NewRequest(http.MethodGet, "/", nil)
		return &opened{decide: func(_ context.Context, key string) (bool, error) { return !lim.OnLimit(w, r, key), nil }}
	}},
	// x/time/rate leaves the map of keys to its users.
	{"x-time-rate", func(_ *testing.B, quota int64) *opened {
		var mu sync.Mutex
		limiters := map[string]*rate.Limiter{}
		return &opened{decide: func(_ context.Context, key string) (bool, error) {
			mu.Lock()
			lim := limiters[key]
			if lim == nil {
				lim = rate.NewLimiter(rate.Limit(float64(quota)/60), int(quota))
				limiters[key] = lim
			}
			mu.Unlock()
			return lim.Allow(), nil
		}}
	}},
}

// counting is the bare operation: the least that a limiter does. It reads the
// clock, and counts in a map behind a mutex.
func counting(*testing.B, int64) *opened {
	var mu sync.Mutex
	counts, start := map[string]int64{}, time.Now()
	return &opened{decide: func(_ context.Context, key string) (bool, error) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		counts[key]++
		return !now.Before(start), nil
	}}
}

// byThrottled allows the whole quota at once, as the others do.
func byThrottled(b *testing.B, store throttled.GCRAStoreCtx, quota int64) *opened {
	lim, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(quota), window), MaxBurst: int(quota) - 1,
	})
	check(b, err)
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		limited, _, err := lim.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}}
}

func byUlule(store ulule.Store, quota int64) *opened {
	lim := ulule.New(store, ulule.Rate{Period: window, Limit: quota})
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		c, err := lim.Get(ctx, key)
		return err == nil && !c.Reached, err
	}}
}

func BenchmarkMemory(b *testing.B) {
	load{name: "one-key", clients: 1, quota: unlimited}.run(b, inMemory)
	load{name: "all-denied", clients: 1, quota: 100}.run(b, inMemory)
	load{name: "100k-keys", clients: 1, quota: unlimited, keys: 100_000}.run(b, inMemory)
	load{name: "16-clients", clients: 16, quota: unlimited, keys: 100_000}.run(b, inMemory)
	for _, lim := range inMemory {
		b.Run("load=memory/limiter="+lim.name, func(b *testing.B) { bytesOfKey(b, lim) })
	}
}

// bytesOfKey measures the memory of a key that has sent one request, at 100 a
// minute. The text of the keys does not count, unless a limiter copies it.
func bytesOfKey(b *testing.B, lim subject) {
	names := make([]string, memoryKeys)
	for i := range names {
		names[i] = "user:" + strconv.Itoa(i)
	}
	for b.Loop() {
		before := heap()
		l := lim.open(b, 100)
		for _, name := range names {
			_, err := l.decide(b.Context(), name)
			check(b, err)
		}
		b.ReportMetric(float64(heap()-before)/memoryKeys, "B/key")
		runtime.KeepAlive(l)
	}
	b.ReportMetric(0, "ns/op") // reports no time
	runtime.KeepAlive(names)
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first may have to finish what an earlier one began
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// discard is a response without a reader.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
