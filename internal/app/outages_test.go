package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
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
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/netfault"
	"github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
)

var measure = flag.Bool("measure", false, "write the table of docs/failures.md from what the outages measure")

const (
	capacity  = 150
	instances = 4
	// margin is how much longer than the deadline a request may take on a busy
	// machine. TestDeadlineBoundsTheDecision has the exact bound.
	margin = time.Second
	hot    = 2 // keys of each policy that several requests share
)

// outageRules have one rule for each policy.
const outageRules = `
defaults: {instances: 4}
rules:
  - {name: on-local, when: {path: /local}, key: "{header.key}", on_error: local, limits: [{capacity: 150, window: 60s}]}
  - {name: on-allow, when: {path: /allow}, key: "{header.key}", on_error: allow, limits: [{capacity: 150, window: 60s}]}
  - {name: on-deny, when: {path: /deny}, key: "{header.key}", on_error: deny, limits: [{capacity: 150, window: 60s}]}
`

var policies = []string{"local", "allow", "deny"}

// outage is a DynamoDB engine behind a proxy, and one way to make it fail.
type outage struct {
	name  string
	start func(t *testing.T, r *rig)
	end   func(t *testing.T, r *rig)
}

func fault(name string, f netfault.Fault) outage {
	set := func(f netfault.Fault) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			if err := r.proxy.Set(f); err != nil {
				t.Error(err)
			}
		}
	}
	return outage{name, set(f), set(netfault.Fault{})}
}

var outages = []outage{
	fault("cut", netfault.Fault{Refuse: true}),
	fault("delay of 400 ms", netfault.Fault{Delay: 400 * time.Millisecond}),
	fault("reset", netfault.Fault{Reset: true}),
	fault("1,000 bytes a second", netfault.Fault{BytesPerSecond: 1000}),
	fault("blackhole", netfault.Fault{Blackhole: true}),
	{
		"throttle",
		func(_ *testing.T, r *rig) { r.throttled.Store(true) },
		func(_ *testing.T, r *rig) { r.throttled.Store(false) },
	},
	{
		"engine restarted",
		func(_ *testing.T, r *rig) { r.engine.stop() },
		func(t *testing.T, r *rig) { r.engine.start(t) },
	},
}

// rig is what an outage strikes.
type rig struct {
	engine    *ministack
	proxy     *netfault.Proxy
	throttled atomic.Bool
}

// newRig starts an engine of its own behind a proxy, and a gateway between them
// that throttles on request.
func newRig(t *testing.T) *rig {
	r := &rig{engine: newMinistack(t)}
	target := &url.URL{Scheme: "http", Host: r.engine.address}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	forward.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.throttled.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`))
			return
		}
		forward.ServeHTTP(w, q)
	}))
	t.Cleanup(gateway.Close)
	r.proxy = netfault.New(t, gateway.Listener.Addr().String())
	t.Setenv("AWS_ENDPOINT_URL", "http://"+r.proxy.Address)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	return r
}

// ministack is an emulator of its own, which keeps its tables over a restart.
type ministack struct {
	path, address, dir string
	stdin              func() error
	cmd                *exec.Cmd
}

func newMinistack(t *testing.T) *ministack {
	path, err := filepath.Abs("../../.cache/ministack/bin/ministack")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal("there is no MiniStack to test against: localstack/with.sh puts one into .cache/")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	m := &ministack{path: path, address: l.Addr().String(), dir: t.TempDir()}
	m.start(t)
	t.Cleanup(func() { m.stop() })
	return m
}

// start starts the emulator and waits until it answers. The shell stops it if
// this process dies.
func (m *ministack) start(t *testing.T) {
	_, port, _ := net.SplitHostPort(m.address)
	m.cmd = exec.Command("sh", "-c", `"$@" & cat >/dev/null; kill $!; wait`, "sh", m.path)
	m.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "TMPDIR=" + m.dir, "BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + port,
		"IOT_MTLS_ENABLED=0", "PERSIST_STATE=1", "STATE_DIR=" + filepath.Join(m.dir, "state"),
	}
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.stdin = stdin.Close
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + m.address + "/_localstack/health")
		if err == nil {
			answer.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Error("MiniStack does not answer within 30 s")
			return
		}
	}
}

func (m *ministack) stop() {
	if m.cmd != nil {
		_ = m.stdin()
		_ = m.cmd.Wait() // its error is the signal that stopped it
		m.cmd = nil
	}
}

// tally is what the requests of one policy met.
type tally struct {
	mu                                 sync.Mutex
	longest                            time.Duration
	decided, failed                    int
	allowed, degraded, degradedAllowed int
	byKey                              map[string]*struct{ counted, degraded int }
	ended                              time.Time // when the outage was over
	recovered                          time.Time // the first decision of the store since
	slow                               int       // requests of over 100 ms in the outage
}

// outcome is a run's result.
type outcome struct {
	tallies map[string]*tally
	lines   map[string]int // of the log, by rule; "" for the breaker's
}

// strike sends requests of all policies, has the engine fail under this load,
// and goes on until it has recovered.
func strike(t *testing.T, r *rig, o outage) outcome {
	client := dynamotest.Connect(t)
	table := dynamotest.Counters(t, client)
	set, err := rulefile.Parse("rules.yaml", []byte(outageRules))
	if err != nil {
		t.Fatal(err)
	}
	var lines lockedBuffer
	log := slog.New(slog.NewJSONHandler(&lines, nil))
	client = client.Guarded(breaker.New(time.Now, breaker.LogChanges(log)))
	record := recorder.New(log)
	e := app.NewEngine(engine.Options{
		Rules: engine.Fixed{Set: set}, Store: app.NewDynamoStore(client, table, client.Clock.Now), Recorder: record, Deadline: engine.DefaultDeadline,
	})
	result := outcome{map[string]*tally{}, map[string]int{}}
	load, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	for _, policy := range policies {
		s := &tally{byKey: map[string]*struct{ counted, degraded int }{}}
		result.tallies[policy] = s
		for n := range hot + 1 {
			workers.Go(func() {
				for i := 0; load.Err() == nil; i++ {
					key := fmt.Sprint("hot-", n)
					if n == hot {
						key = fmt.Sprint("new-", i)
					}
					started := time.Now()
					d, err := e.Decide(context.Background(), client.Clock.Now(), &request.Request{
						Method: "GET", Path: "/" + policy, Headers: map[string][]string{"key": {key}},
					})
					s.count(key, d, err, started, time.Since(started))
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	time.Sleep(400 * time.Millisecond)
	o.start(t, r)
	time.Sleep(1500 * time.Millisecond)
	o.end(t, r)
	for _, s := range result.tallies {
		s.over()
	}
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline) && !result.recovered(); {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(time.Second)
	stop()
	workers.Wait()
	record.Flush(context.Background())
	for scan := bufio.NewScanner(&lines.Buffer); scan.Scan(); {
		var line struct{ Rule string }
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		result.lines[line.Rule]++
	}
	return result
}

func (s *tally) count(key string, d *engine.Decision, err error, started time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided++
	s.longest = max(s.longest, took)
	if err != nil {
		s.failed++
		return
	}
	k := s.byKey[key]
	if k == nil {
		k = &struct{ counted, degraded int }{}
		s.byKey[key] = k
	}
	if took > 100*time.Millisecond {
		s.slow++
	}
	switch {
	case d.Degraded:
		s.degraded++
		if d.Allowed {
			s.degradedAllowed++
			k.degraded++
		}
	case d.Allowed:
		s.allowed++
		k.counted++
		if !s.ended.IsZero() && s.recovered.IsZero() && started.After(s.ended) {
			s.recovered = time.Now()
		}
	}
}

func (s *tally) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
}

func (o *outcome) recovered() bool {
	for _, s := range o.tallies {
		s.mu.Lock()
		recovered := !s.recovered.IsZero()
		s.mu.Unlock()
		if !recovered {
			return false
		}
	}
	return true
}

// lockedBuffer is a buffer that a log may write to from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(line)
}

// TestOutages strikes a real engine under load in several ways. No request
// waits longer than the deadline and a margin, none fails, and the limits hold
// as each policy promises. With -measure it writes docs/failures.md's table.
func TestOutages(t *testing.T) {
	r := newRig(t)
	var rows strings.Builder
	rows.WriteString("| Failure | `on_error` | Decisions | Degraded, of them allowed | Over 100 ms | Longest | Log lines | Store decides again after |\n" +
		"|---|---|--:|--:|--:|--:|--:|--:|\n")
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			result := strike(t, r, o)
			for _, policy := range policies {
				s := result.tallies[policy]
				back := s.recovered.Sub(s.ended)
				fmt.Fprintf(&rows, "| %s | `%s` | %d | %d, %d | %d | %d ms | %d + %d | %.1f s |\n", o.name, policy, s.decided, s.degraded, s.degradedAllowed,
					s.slow, s.longest.Milliseconds(), result.lines["on-"+policy], result.lines[""], back.Seconds())
				checkOutage(t, policy, s, result.lines)
			}
		})
	}
	if *measure && !t.Failed() {
		writeTable(t, rows.String())
	}
}

func checkOutage(t *testing.T, policy string, s *tally, lines map[string]int) {
	switch {
	case s.failed > 0:
		t.Errorf("%s: %d of %d requests got no decision", policy, s.failed, s.decided)
	case s.longest > engine.DefaultDeadline+margin:
		t.Errorf("%s: a request took %v, and the deadline is %v", policy, s.longest, engine.DefaultDeadline)
	case s.degraded == 0:
		t.Errorf("%s: no decision was degraded", policy)
	case s.recovered.IsZero():
		t.Errorf("%s: the store did not decide again", policy)
	case lines["on-"+policy] == 0 || lines["on-"+policy] > 10 || lines[""] > 6:
		t.Errorf("%s: %v lines in the log", policy, lines)
	}
	for key, k := range s.byKey {
		if k.counted > capacity {
			t.Errorf("%s: %s: the store admitted %d, and the capacity is %d", policy, key, k.counted, capacity)
		}
		if most := map[string]int{"local": capacity / instances, "allow": s.decided, "deny": 0}[policy]; k.degraded > most {
			t.Errorf("%s: %s: degraded decisions admitted %d, want at most %d", policy, key, k.degraded, most)
		}
	}
}

// writeTable replaces the table between the markers of docs/failures.md.
func writeTable(t *testing.T, table string) {
	const file, from, to = "../../docs/failures.md", "<!-- measured -->\n", "<!-- end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), from)
	_, after, found := strings.Cut(rest, to)
	if !ok || !found {
		t.Fatalf("%s lacks the markers", file)
	}
	if err := os.WriteFile(file, []byte(before+from+table+to+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
