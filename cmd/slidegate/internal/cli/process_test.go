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
	p := start(t, "replay", "-", "--format", "csv", "--rules", "testdata/rules.yaml", "--decisions", out)
	if _, err := io.WriteString(p.stdin, "time,method,path,size\n1431857100,GET,/,1\n"); err != nil {
		t.Fatal(err)
	}
	if line := p.line(); line != "slidegate: warning: standard input: columns not used: size\n" { // so it reads its input
		t.Fatalf("%q", line)
	}
	if rest, want := p.end(os.Interrupt, 1), "slidegate: interrupted: the totals are of what was replayed so far\n"; rest != want {
		t.Errorf("stderr %q, want %q", rest, want)
	}
	if report := p.stdout.String(); !strings.HasPrefix(report, "requests  ") {
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
	p := startServe(t, "--rules", "testdata/rules.yaml", "--backend", "http://"+backend.Addr().String())
	send(t, "GET", p.URL, "")
	p.wantLine("Unsolicited response")
	p.interrupt()
}

// A running gateway takes up changed rules, with the counters as they are, and
// keeps its rules if the new ones are bad.
func TestServeReloads(t *testing.T) {
	rules := file(t, "rules.yaml", "")
	limit := func(capacity string) {
		t.Helper()
		write(t, rules+"~", "rules: [{name: api, key: 'ip:{ip}', limits: [{capacity: "+capacity+", window: 1h}]}]\n")
		if err := os.Rename(rules+"~", rules); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	p := startServe(t, "--rules", rules)
	if p.Store != "memory" {
		t.Fatalf("logged %+v", p.logLine)
	}
	want := func(statuses ...int) {
		t.Helper()
		for i, want := range statuses {
			if status, _ := send(t, "GET", p.URL, ""); status != want {
				t.Errorf("request %d: status %d, want %d", i, status, want)
			}
		}
	}
	want(200, 429)
	limit("3") // without a signal
	p.wantLine("rules reloaded")
	want(200, 200, 429)
	limit("0")
	p.signal(syscall.SIGHUP)
	if line := p.wantLine("rules not reloaded, those in force stay"); !strings.Contains(line.Error, "capacity: 0 is out of range") {
		t.Fatalf("logged %+v", line)
	}
	want(429)
	limit("4")
	p.signal(syscall.SIGHUP)
	p.wantLine("rules reloaded")
	want(200, 429)
	p.interrupt()
}

// Before its rules file can be read, serve says what it waits for, and ends when
// it is told to.
func TestServeWaitsForRules(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := syscall.Mkfifo(rules, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "serve", "--rules", rules, "--listen", "127.0.0.1:0")
	if line := p.line(); !strings.Contains(line, "waiting for the rules file") || !strings.Contains(line, rules) {
		t.Errorf("stderr %q", line)
	}
	if rest := p.end(syscall.SIGTERM, 1); !strings.Contains(rest, "nothing was read: terminated") {
		t.Errorf("stderr %q", rest)
	}
}

// TestServeDrains: from SIGTERM on, /readyz says so while requests are still
// answered, and the log has both ends of that time. A second signal ends it.
func TestServeDrains(t *testing.T) {
	rules := file(t, "rules.yaml", `rules: [{name: api, key: "ip:{ip}", limit: 100/hour}]`)
	for drain, twice := range map[string]bool{"500ms": false, "1h": true} {
		p := startServe(t, "--rules", rules, "--admin", "127.0.0.1:0", "--drain", drain)
		status := func(url string) int {
			got, _ := send(t, http.MethodGet, url, "")
			return got
		}
		before := status(p.Admin + "/readyz")
		p.signal(syscall.SIGTERM)
		p.wantLine("draining")
		if draining, request := status(p.Admin+"/readyz"), status(p.URL); before != 200 || draining != 503 || request != 200 {
			t.Errorf("/readyz %d, then %d; a request meanwhile %d", before, draining, request)
		}
		if twice {
			p.end(syscall.SIGTERM, -1) // by the signal
			continue
		}
		p.wantLine("drained")
		p.ended(0)
	}
}

// With --decide, serve answers programs that ask for decisions, if they send the
// token of the environment.
func TestServeDecide(t *testing.T) {
	const token = "0123456789abcdef"
	t.Setenv("SLIDEGATE_DECIDE_TOKEN", token)
	p := startServe(t, "--decide", "--rules", "testdata/rules.yaml")
	mustRun(t, "health "+strings.TrimPrefix(p.URL, "http://")) // without the token
	ask := func(token string) (status int, body string) {
		return send(t, "POST", p.URL+"/v1/decisions", `{"method": "GET", "path": "/", "ip": "203.0.113.9"}`, "Authorization", "Bearer "+token)
	}
	status, _ := ask("another-token-of-them")
	if logged := p.line(); status != 401 || !strings.Contains(logged, "token of this server is missing or wrong") || strings.Contains(logged, token) {
		t.Errorf("with another token: status %d, logged %s", status, logged)
	}
	for i, want := range []bool{true, true, false} {
		status, body := ask(token)
		var decision struct{ Allowed bool }
		if err := json.Unmarshal([]byte(body), &decision); err != nil || status != 200 || decision.Allowed != want {
			t.Errorf("request %d: status %d, %s, %v", i, status, body, err)
		}
	}
	p.interrupt()
}

// process is slidegate as a process of its own.
type process struct {
	logLine // of a gateway that listens
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.Writer
	stdout  strings.Builder
	stderr  *bufio.Reader
	logged  strings.Builder // what line has read
}

// logLine is what the tests read of a line that serve logs.
type logLine struct{ Msg, URL, Admin, Store, Error string }

// start starts a process. It ends with the test, if the test has not ended it.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: program(t, args...)}
	stdin, inErr := p.cmd.StdinPipe()
	stderr, errErr := p.cmd.StderrPipe()
	p.cmd.Stdout, p.stdin, p.stderr = &p.stdout, stdin, bufio.NewReader(stderr)
	if err := errors.Join(inErr, errErr, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test failed before it waited
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

// startServe starts a gateway, and returns when it listens.
func startServe(t *testing.T, args ...string) *process {
	t.Helper()
	p := start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)
	for p.URL == "" { // warnings come first
		if err := json.Unmarshal([]byte(p.line()), &p.logLine); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// line reads a line of standard error.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.stderr.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q, then %v", line, err)
	}
	p.logged.WriteString(line)
	return line
}

// wantLine reads a line of a log in JSON, whose message has to begin so.
func (p *process) wantLine(begin string) (line logLine) {
	p.t.Helper()
	if text := p.line(); json.Unmarshal([]byte(text), &line) != nil || !strings.HasPrefix(line.Msg, begin) {
		p.t.Fatalf("logged %q, want %s", text, begin)
	}
	return line
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end ends the process, which must exit with a code, and returns what it still
// printed to standard error.
func (p *process) end(s os.Signal, code int) (rest string) {
	p.t.Helper()
	p.signal(s)
	return p.ended(code)
}

// ended waits for the end of the process, as end does.
func (p *process) ended(code int) (rest string) {
	p.t.Helper()
	text, _ := io.ReadAll(p.stderr)
	_ = p.cmd.Wait() // its exit code is below
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit %d, want %d", got, code)
	}
	return string(text)
}

// interrupt ends a gateway, which must print nothing more than its last denials.
func (p *process) interrupt() {
	p.t.Helper()
	for line := range strings.Lines(p.end(os.Interrupt, 0)) {
		if !strings.Contains(line, "denials") {
			p.t.Errorf("stderr %q", line)
		}
	}
}

// send sends a request, with JSON if it has a body. fields are names and values of
// header fields.
func send(t *testing.T, method, url, body string, fields ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}
