// Package servers has what tests run beside themselves: a real Redis server and
// the binary of a Lambda function, each on 127.0.0.1 and for one test, and a
// proxy with faults before a server.
package servers

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const howTo = `there is no redis-server to test against: install one (apt install redis-server, brew install redis), or run
localstack/redis.sh, which puts one into .cache/`

// startTime is how long a server or a Cluster may take to start.
const startTime = 20 * time.Second

// Redis is a redis-server.
type Redis struct {
	// Address is its host and port.
	Address string
	// Client is for tests that read or change what a store has stored. It has
	// all rights, unless the configuration restricts them.
	Client *goredis.Client

	dir  string // of its files
	stop func()
}

// StartRedis starts a server with further lines for its configuration, such as
// "maxmemory 2mb". If there is no server to start, it fails the test and says
// how to get one.
func StartRedis(t testing.TB, config ...string) *Redis {
	t.Helper()
	s, err := &Redis{dir: t.TempDir()}, error(nil)
	for range 3 { // another process may take the free port first
		if err = s.configure(config); err != nil {
			break
		}
		if err = s.run(); err == nil {
			s.Client = goredis.NewClient(&goredis.Options{Addr: s.Address, DisableIdentity: true})
			t.Cleanup(func() {
				s.Client.Close()
				s.stop()
			})
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// configure writes the configuration, for a free port.
func (s *Redis) configure(config []string) error {
	port, err := freePort()
	s.Address = net.JoinHostPort("127.0.0.1", port)
	lines := append([]string{
		"bind 127.0.0.1", "port " + port, `save ""`, "appendonly no", "dir " + s.dir, "logfile " + s.file("log"),
	}, config...)
	return errors.Join(err, os.WriteFile(s.file("conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *Redis) file(kind string) string { return filepath.Join(s.dir, "redis."+kind) }

// StartCluster starts a Redis Cluster of one server, and waits until it serves
// all 16,384 hash slots.
func StartCluster(t testing.TB) *Redis {
	t.Helper()
	s := StartRedis(t, "cluster-enabled yes")
	if err := s.Client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(s.Client.ClusterInfo(t.Context()).Val(), "cluster_state:ok") {
			return s
		}
	}
	t.Fatalf("the cluster did not start within %v", startTime)
	return nil
}

// Kill ends the server at once, as a crash does: by SIGKILL.
func (s *Redis) Kill(t testing.TB) {
	t.Helper()
	info, err := s.Client.InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a killed server again, with what its files have kept.
func (s *Redis) Restart(t testing.TB) {
	t.Helper()
	s.stop()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

// URL returns the server's address for --store.
func (s *Redis) URL() string { return "redis://" + s.Address + "/0" }

// find returns the server on PATH, or the one that localstack/redis.sh has put
// into .cache/.
func find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".cache", "redis", "redis-server")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New(howTo)
}

// freePort returns a free port. It is low enough for the second port of a
// Cluster, which is 10,000 higher.
func freePort() (string, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port <= 55_535 {
			return strconv.Itoa(port), nil
		}
	}
}

// untilClosed runs a command until its standard input is closed, and then stops
// it by its process id. The input is also closed if this process dies, so no
// server is left behind.
const untilClosed = `"$@" & cat >/dev/null; kill $! 2>/dev/null; wait`

// run starts the server and waits until it takes connections.
func (s *Redis) run() error {
	path, err := find()
	if err != nil {
		return err
	}
	_ = os.Remove(s.file("log")) // of an earlier run
	cmd := exec.Command("sh", "-c", untilClosed, "sh", path, s.file("conf"))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		return err
	}
	s.stop = func() {
		stdin.Close()
		_ = cmd.Wait() // its error is the signal that stopped it
	}
	var log []byte
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if log, _ = os.ReadFile(s.file("log")); strings.Contains(string(log), "Ready to accept connections") {
			return nil
		}
	}
	s.stop()
	return fmt.Errorf("%s did not start within %v: %s", path, startTime, log)
}

// Encrypt puts a TLS proxy before the server, because the server may lack TLS.
// It returns the proxy's address, and the certificate that clients have to
// trust: httptest's, which is for 127.0.0.1 and not for localhost.
func (s *Redis) Encrypt(t testing.TB) (address string, certificate []byte) {
	t.Helper()
	known := httptest.NewTLSServer(nil)
	known.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: known.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go join(client, s.Address)
		}
	}()
	return l.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})
}

// join copies data between a client and a server until one of them closes.
func join(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
