package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A replay that waits for its input ends on SIGINT, and prints its totals so far.
func TestReplayInterrupted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "decisions.tsv")
	cmd := program(t, "replay", "-", "--format", "csv", "--rules", "testdata/rules.yaml", "--decisions", out)
	stdin, stdout, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "time,method,path,size\n1431857100,GET,/,1\n"); err != nil {
		t.Fatal(err)
	}
	if line := readLine(t, stderr); line != "slidegate: warning: standard input: columns not used: size\n" { // so it reads its input
		t.Fatalf("%q", line)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	report, _ := io.ReadAll(stdout)
	rest, _ := io.ReadAll(stderr)
	wantExit(t, cmd.Wait(), 1)
	if want := "slidegate: interrupted: the totals are of what was replayed so far\n"; string(rest) != want {
		t.Errorf("stderr %q, want %q", rest, want)
	}
	if !strings.HasPrefix(string(report), "requests  ") {
		t.Errorf("printed %q", report)
	}
	wantEmpty(t, filepath.Dir(out))
}

// net/http logs by itself what a backend sends without a request. With --json
// such a line is JSON too.
func TestServeLogsOnlyJSON(t *testing.T) {
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	go func() {
		conn, err := backend.Accept()
		if err != nil {
			return
		}
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
	}()
	cmd := program(t, "serve", "--rules", "testdata/rules.yaml", "--listen", "127.0.0.1:0", "--backend", "http://"+backend.Addr().String(), "--json")
	_, _, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"listening", "Unsolicited response"} {
		var line struct{ Msg, URL string }
		if text := readLine(t, stderr); json.Unmarshal([]byte(text), &line) != nil || !strings.HasPrefix(line.Msg, want) {
			t.Fatalf("logged %q, want %s", text, want)
		}
		if line.URL != "" {
			response, err := http.Get(line.URL)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
	}
	interrupt(t, cmd, stderr)
}

// A running gateway takes up changed rules, with the counters as they are, and
// keeps its rules if the new ones are bad.
func TestServeReloads(t *testing.T) {
	rules := file(t, "rules.yaml", "")
	write := func(capacity string) {
		t.Helper()
		text := "rules: [{name: api, key: 'ip:{ip}', limits: [{capacity: " + capacity + ", window: 1h}]}]\n"
		if err := os.WriteFile(rules+"~", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(rules+"~", rules); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	cmd := program(t, "serve", "--rules", rules, "--listen", "127.0.0.1:0", "--json")
	_, _, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logged := func() (line struct{ Msg, URL, Error, Store string }) {
		t.Helper()
		if err := json.Unmarshal([]byte(readLine(t, stderr)), &line); err != nil {
			t.Fatal(err)
		}
		return line
	}
	start := logged()
	if start.Msg != "listening" || start.Store != "memory" {
		t.Fatalf("logged %+v", start)
	}
	want := func(statuses ...int) {
		t.Helper()
		for i, want := range statuses {
			response, err := http.Get(start.URL)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("request %d: status %d, want %d", i, response.StatusCode, want)
			}
		}
	}
	want(200, 429)
	write("3") // without a signal
	if line := logged(); line.Msg != "rules reloaded" {
		t.Fatalf("logged %+v", line)
	}
	want(200, 200, 429)
	write("0")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := logged(); line.Msg != "rules not reloaded, those in force stay" || !strings.Contains(line.Error, "capacity: 0 is out of range") {
		t.Fatalf("logged %+v", line)
	}
	want(429)
	write("4")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := logged(); line.Msg != "rules reloaded" {
		t.Fatalf("logged %+v", line)
	}
	want(200, 429)
	interrupt(t, cmd, stderr)
}

// Before its rules file can be read, serve says what it waits for, and ends when
// it is told to.
func TestServeWaitsForRules(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := syscall.Mkfifo(rules, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "serve", "--rules", rules, "--listen", "127.0.0.1:0")
	_, _, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line := readLine(t, stderr); !strings.Contains(line, "waiting for the rules file") || !strings.Contains(line, rules) {
		t.Errorf("stderr %q", line)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if line := readLine(t, stderr); !strings.Contains(line, "nothing was read: terminated") {
		t.Errorf("stderr %q", line)
	}
	wantExit(t, cmd.Wait(), 1)
}

// TestServeDrains: from SIGTERM on, /readyz says so while requests are still
// answered, and the log has both ends of that time. A second signal ends it.
func TestServeDrains(t *testing.T) {
	rules := file(t, "rules.yaml", `rules: [{name: api, key: "ip:{ip}", limit: 100/hour}]`)
	for drain, twice := range map[string]bool{"500ms": false, "1h": true} {
		cmd := program(t, "serve", "--rules", rules, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--json", "--drain", drain)
		_, _, stderr := pipes(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var listening struct{ URL, Admin string }
		if err := json.Unmarshal([]byte(readLine(t, stderr)), &listening); err != nil {
			t.Fatal(err)
		}
		status := func(url string) int {
			answer, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode
		}
		before := status(listening.Admin + "/readyz")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if line := readLine(t, stderr); !strings.Contains(line, `"msg":"draining`) {
			t.Errorf("logged %s", line)
		}
		if draining, request := status(listening.Admin+"/readyz"), status(listening.URL); before != 200 || draining != 503 || request != 200 {
			t.Errorf("/readyz %d, then %d; a request meanwhile %d", before, draining, request)
		}
		if twice {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err == nil || err.Error() != "signal: terminated" {
				t.Errorf("ended with %v", err)
			}
			continue
		}
		if line := readLine(t, stderr); !strings.Contains(line, `"msg":"drained`) {
			t.Errorf("logged %s", line)
		}
		wantExit(t, cmd.Wait(), 0)
	}
}

// With --decide, serve answers programs that ask for decisions, if they send the
// token of the environment.
func TestServeDecide(t *testing.T) {
	const token = "0123456789abcdef"
	t.Setenv("SLIDEGATE_DECIDE_TOKEN", token)
	cmd := program(t, "serve", "--decide", "--rules", "testdata/rules.yaml", "--listen", "127.0.0.1:0", "--json")
	_, _, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line struct{ URL string }
	if err := json.Unmarshal([]byte(readLine(t, stderr)), &line); err != nil {
		t.Fatal(err)
	}
	ask := func(authorization string) *http.Response {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", line.URL+"/v1/decisions", strings.NewReader(`{"method": "GET", "path": "/", "ip": "203.0.113.9"}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {authorization}}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	refused := ask("Bearer another-token-of-them")
	refused.Body.Close()
	if logged := readLine(t, stderr); refused.StatusCode != 401 || !strings.Contains(logged, "token of this server is missing or wrong") || strings.Contains(logged, token) {
		t.Errorf("with another token: status %d, logged %s", refused.StatusCode, logged)
	}
	for i, want := range []bool{true, true, false} {
		response := ask("Bearer " + token)
		var decision struct{ Allowed bool }
		err := json.NewDecoder(response.Body).Decode(&decision)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 || decision.Allowed != want {
			t.Errorf("request %d: status %d, %+v, %v", i, response.StatusCode, decision, err)
		}
	}
	interrupt(t, cmd, stderr)
}

// A warning says that other machines may reach the address.
func TestExposed(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": false, "127.0.0.9": false, "::1": false, "0.0.0.0": true, "::": true, "192.0.2.1": true} {
		if got := exposed(&net.TCPAddr{IP: net.ParseIP(address), Port: 8080}); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}

// interrupt ends a gateway, which must print nothing more than its last denials.
func interrupt(t *testing.T, cmd *exec.Cmd, stderr io.Reader) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	rest, _ := io.ReadAll(stderr)
	wantExit(t, cmd.Wait(), 0)
	for line := range strings.Lines(string(rest)) {
		if !strings.Contains(line, "denials") {
			t.Errorf("stderr %q", line)
		}
	}
}

func pipes(t *testing.T, cmd *exec.Cmd) (stdin io.WriteCloser, stdout, stderr *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	messages, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil && cmd.Process != nil { // the test failed before it waited
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return in, bufio.NewReader(out), bufio.NewReader(messages)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, then %v", line, err)
	}
	return line
}

func wantExit(t *testing.T, err error, code int) {
	t.Helper()
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	if got != code {
		t.Errorf("exit %d, want %d", got, code)
	}
}
