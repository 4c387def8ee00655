package outage_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// rig is what an outage strikes: a store behind a proxy.
type rig struct {
	proxy *servers.Proxy
	redis *servers.Redis // nil for DynamoDB
	// open returns the store as a new process sees it, with a breaker that writes
	// to a log, and the clock of its decisions.
	open func(t *testing.T, log *slog.Logger) (limit.Store, func() time.Time)
}

// redisRig starts a Redis server. It writes every change to a file before it
// answers, or keeps nothing.
func redisRig(t *testing.T, keeps bool) *rig {
	var config []string
	if keeps {
		config = []string{"appendonly yes", "appendfsync always"}
	}
	server := servers.StartRedis(t, config...)
	r := &rig{redis: server, proxy: servers.NewProxy(t, server.Address)}
	r.open = func(t *testing.T, log *slog.Logger) (limit.Store, func() time.Time) {
		address, err := redis.ParseAddress("redis://"+r.proxy.Address+"/0", "")
		if err != nil {
			t.Fatal(err)
		}
		connection, err := redis.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		guard := breaker.New(time.Now, breaker.LogChanges(log, "store"))
		return redis.New(connection, redis.Options{Breaker: guard}), time.Now
	}
	return r
}

// dynamoRig starts a DynamoDB engine of its own behind a proxy, and a gateway
// between them that throttles on request.
func dynamoRig(t *testing.T) (*rig, *ministack) {
	m := newMinistack(t)
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: m.address})
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	forward.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if m.throttled.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`))
			return
		}
		forward.ServeHTTP(w, q)
	}))
	t.Cleanup(gateway.Close)
	r := &rig{proxy: servers.NewProxy(t, gateway.Listener.Addr().String())}
	t.Setenv("AWS_ENDPOINT_URL", "http://"+r.proxy.Address)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	r.open = func(t *testing.T, log *slog.Logger) (limit.Store, func() time.Time) {
		client := dynamotest.Connect(t)
		m.table = dynamo.CountersTable(dynamotest.Counters(t, client))
		m.table.TTL = ""
		client = client.Guarded(breaker.New(time.Now, breaker.LogChanges(log, "store")), 0)
		return app.NewDynamoStore(client, m.table.Name, client.Clock.Now), client.Clock.Now
	}
	return r, m
}

// ministack is an emulator of its own, which keeps its tables over a restart.
type ministack struct {
	path, address, dir string
	stdin              func() error
	cmd                *exec.Cmd
	throttled          atomic.Bool  // by the gateway before it
	table              dynamo.Table // of the latest counters
}

func newMinistack(t *testing.T) *ministack {
	path, err := filepath.Abs("../../../.cache/ministack/bin/ministack")
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
	t.Cleanup(m.stop)
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

// kill ends the emulator as a crash does, with all that it has not saved.
func (m *ministack) kill() {
	_ = syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL) // the shell too
	m.stop()
}

// restore makes the tables again that the emulator has lost.
func (m *ministack) restore(t *testing.T) {
	client, err := awsconfig.Connect(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), m.table); err != nil {
		t.Fatal(err)
	}
}
