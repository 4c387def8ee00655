package subject

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// RedisServer is a redis-server that this process has started.
type RedisServer struct {
	Redis
	PID    int
	client *goredis.Client
	stop   func()
}

// untilClosed runs a command until its standard input is closed, and then stops
// it by its process id. The input is also closed if this process dies, so no
// server is left behind.
const untilClosed = `"$@" & cat >/dev/null; kill $! 2>/dev/null; wait`

// StartRedis starts a server on a free port of 127.0.0.1, without persistence.
func StartRedis(ctx context.Context, path string) (*RedisServer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-redis")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", untilClosed, "sh", path, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &RedisServer{Redis: Redis{net.JoinHostPort("127.0.0.1", port)}}
	s.client = goredis.NewClient(&goredis.Options{Addr: s.Address, DisableIdentity: true, DialerRetries: 1})
	s.stop = func() {
		_, _ = s.client.Close(), stdin.Close()
		_ = cmd.Wait() // its error is the signal that stopped it
		_ = os.RemoveAll(dir)
	}
	for deadline := time.Now().Add(20 * time.Second); s.PID == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", s.Address); err != nil {
			continue // the client would log it
		} else {
			_ = conn.Close()
		}
		info, _ := s.client.InfoMap(ctx, "server").Result()
		s.PID, _ = strconv.Atoi(info["Server"]["process_id"])
	}
	if s.PID == 0 {
		s.stop()
		return nil, fmt.Errorf("%s does not answer on port %s", path, port)
	}
	return s, nil
}

// Close stops the server.
func (s *RedisServer) Close() { s.stop() }

var scripts = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// Scripts returns the time that the server's one thread has spent in scripts.
func (s *RedisServer) Scripts() time.Duration {
	stats, _ := s.client.Info(context.Background(), "commandstats").Result()
	match := scripts.FindStringSubmatch(stats)
	if match == nil {
		return 0
	}
	µs, _ := strconv.ParseInt(match[1], 10, 64)
	return time.Duration(µs) * time.Microsecond
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// ticks is how many units of CPU time Linux counts in a second.
const ticks = 100

// ProcessTime returns a function for the CPU time that a process has used so
// far. It returns nil where the system does not say.
func ProcessTime(pid int) func() time.Duration {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	if _, err := processTime(path); err != nil {
		return nil
	}
	return func() time.Duration {
		used, _ := processTime(path)
		return used
	}
}

func processTime(path string) (time.Duration, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The name of the process, in parentheses, may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var sum int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// CPU returns the name of this machine's processor, or "" where the system does
// not say.
func CPU() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
