// Package examples_test runs the example programs.
package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestPrograms runs the programs that end by themselves.
func TestPrograms(t *testing.T) {
	for name, want := range map[string]string{
		"worker":   "30 jobs of 2 customers took at least 400 ms: true\n",
		"outbound": "answers by status: map[200:10]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := exec.Command(build(t, name)).CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("%v, printed %q, want %q", err, got, want)
			}
		})
	}
}

// TestServers sends each server requests: the last one is denied.
func TestServers(t *testing.T) {
	for name, test := range map[string]struct{ body, statuses string }{
		"http": {"", "200 200 200 200 200 429"},
		// 60 tokens are reserved each time, and 20 taken.
		"llm": {strings.Repeat("word ", 20), "200 200 200 429"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, name)
			var statuses []string
			for range strings.Fields(test.statuses) {
				status, _ := exchange(t, http.MethodPost, url, test.body, "Content-Type", "text/plain")
				statuses = append(statuses, strconv.Itoa(status))
			}
			if got := strings.Join(statuses, " "); got != test.statuses {
				t.Errorf("answered %s, want %s", got, test.statuses)
			}
		})
	}
}

// TestLength: an example is short enough to read at a glance.
func TestLength(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) != 5 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	for _, name := range programs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 43 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// build returns the path of a program, which is in a directory of this name.
func build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if output, err := exec.Command("go", "build", "-o", path, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return path
}

// serve starts a server, waits until it answers, and stops it after the test.
func serve(t *testing.T, name string) (url string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	server := exec.Command(build(t, name))
	server.Env = append(os.Environ(), "LISTEN="+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address
		}
	}
	t.Fatalf("%s does not listen at %s", name, address)
	return ""
}

// TestLambda starts the function as Lambda does, twice, before one table: a local
// Lambda Runtime API gives both instances events in turn.
func TestLambda(t *testing.T) {
	binary, counters := build(t, "lambda"), dynamotest.Counters(t, dynamotest.Connect(t))
	one, two := startLambda(t, binary, counters), startLambda(t, binary, counters)
	for i, test := range []struct {
		instance *servers.Lambda
		user     string
		want     string
	}{
		{one, "7", `200 "per-user";r=2 hello`}, {two, "7", `200 "per-user";r=1 hello`}, {one, "7", `200 "per-user";r=0 hello`},
		{two, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{one, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{two, "8", `200 "per-user";r=2 hello`},
	} {
		if got := send(t, test.instance, test.user); !strings.HasPrefix(got, test.want) {
			t.Errorf("event %d: %s, want %s", i, got, test.want)
		}
	}
}

func startLambda(t *testing.T, binary, counters string) *servers.Lambda {
	t.Helper()
	command := exec.Command(binary)
	command.Env, command.Stderr = append(os.Environ(), "COUNTERS="+counters), os.Stderr
	function, err := servers.StartLambda(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(function.Stop)
	return function
}

// send sends a user's request, and returns the status, the RateLimit field without
// its time, and the body of the answer.
func send(t *testing.T, function *servers.Lambda, user string) string {
	t.Helper()
	event := fmt.Sprintf(`{"version": "2.0", "routeKey": "GET /", "rawPath": "/", "requestContext": {"stage": "$default",
		"authorizer": {"jwt": {"claims": {"sub": %q}}}, "http": {"method": "GET", "path": "/", "sourceIp": "203.0.113.9"}}}`, user)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := function.Invoke(ctx, []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	left, _, _ := strings.Cut(answer.Headers["RateLimit"], ";t=")
	return fmt.Sprint(answer.StatusCode, " ", left, " ", answer.Body)
}
