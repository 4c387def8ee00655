// Package redistest starts a real Redis server on 127.0.0.1 for one test, and
// stops it when the test ends.
package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const howTo = `there is no redis-server to test against: install one (apt install redis-server, brew install redis), or run
localstack/redis.sh, which puts one into .cache/`

// startTime is how long a server may take until it takes connections.
const startTime = 20 * time.Second

// Server is a redis-server.
type Server struct {
	// Address is its host and port.
	Address string
	// Client is for looking behind a store's back. It has all rights, unless
	// the configuration says otherwise.
	Client *goredis.Client
}

// Start starts a server with further lines for its configuration, such as
// "maxmemory 2mb". It fails the test where there is none to start, saying how
// to get one.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	path, err := find()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // another process may take the free port first
		port := freePort(t)
		if err = run(t, path, append([]string{
			"bind 127.0.0.1", "port " + strconv.Itoa(port), "dir " + t.TempDir(), `save ""`, "appendonly no",
		}, config...)); err == nil {
			return connect(t, port)
		}
	}
	t.Fatal(err)
	return nil
}

// URL returns the server's address for --store.
func (s *Server) URL() string { return "redis://" + s.Address + "/0" }

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
func freePort(t testing.TB) int {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port <= 55_535 {
			return port
		}
	}
	t.Fatal("there is no free port below 55,536")
	return 0
}

// untilClosed runs a command until its standard input is closed, and then stops
// it by its process id. The input is closed also where the test's process dies,
// so that no server is left behind.
const untilClosed = `"$@" & cat >/dev/null; kill $!; wait`

// run starts a server and waits until it takes connections.
func run(t testing.TB, path string, config []string) error {
	file := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", untilClosed, "sh", path, file)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	log := bufio.NewReader(stdout)
	late := time.AfterFunc(startTime, func() { stdin.Close() }) // ends the server, and so its log
	err = ready(log)
	if !late.Stop() && err == nil {
		err = fmt.Errorf("it took more than %v to start", startTime)
	}
	if err != nil {
		stdin.Close()
		_ = cmd.Wait()
		return fmt.Errorf("%s: %w", path, err)
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, log)
		close(drained)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-drained
		_ = cmd.Wait() // its error is the signal that stopped it
	})
	return nil
}

// ready reads the server's log until it says so.
func ready(log *bufio.Reader) error {
	var said strings.Builder
	for {
		line, err := log.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			return fmt.Errorf("it did not start: %s", said.String())
		}
		if strings.Contains(line, "Ready to accept connections") {
			return nil
		}
	}
}

func connect(t testing.TB, port int) *Server {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	client := goredis.NewClient(&goredis.Options{Addr: address, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	return &Server{Address: address, Client: client}
}
