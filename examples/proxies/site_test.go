package proxies_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the path of slidegate, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "slidegate-proxies")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "slidegate")
	code := 1
	if output, err := exec.Command("go", "build", "-o", program, "../../cmd/slidegate").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, output)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// site is a proxy with slidegate and a backend.
type site struct {
	proxy
	address   string
	slidegate *exec.Cmd
}

// start starts everything. change changes the configuration; nil for no change.
func start(t *testing.T, p proxy, change func(string) string) *site {
	t.Helper()
	programs, err := filepath.Abs("../../.cache/proxies")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(programs, p.command[0])
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no %s to test: run localstack/proxies.sh, which puts it into .cache/ (%v)", p.command[0], err)
	}
	backend := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(backend.Close)
	s := &site{proxy: p, address: freeAddress(t)}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	var decides string
	copyFile(t, "rules.yaml", rules, func(text string) string {
		return text + "authentication: {jwt: [{issuer: 'http://127.0.0.1:1', audience: api}]}\n"
	})
	s.slidegate, decides = serve(t, rules)
	for _, name := range []string{"nginx.conf", "Caddyfile", "traefik.yaml", "traefik-routes.yaml", "envoy.yaml"} {
		copyFile(t, name, filepath.Join(dir, name), func(text string) string {
			if change != nil {
				text = change(text)
			}
			return moved(text, map[string]string{"8080": decides, "3000": backend.Listener.Addr().String(), "8000": s.address})
		})
	}
	run(t, path, p.command[1:], func(command *exec.Cmd) {
		command.Dir, command.Env = dir, append(os.Environ(), "HOME="+dir)
		command.Stdout, command.Stderr = t.Output(), t.Output()
	})
	s.wait(t)
	return s
}

// moved replaces the ports of a configuration.
func moved(text string, addresses map[string]string) string {
	for port, address := range addresses {
		_, to, _ := net.SplitHostPort(address)
		text = regexp.MustCompile(`:( ?)`+port+`\b`).ReplaceAllString(text, ":${1}"+to)
	}
	return text
}

func copyFile(t *testing.T, from, to string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts slidegate, and returns its address.
func serve(t *testing.T, rules string) (*exec.Cmd, string) {
	t.Helper()
	var output io.Reader
	command := run(t, program, []string{"serve", "--decide", "--rules", rules, "--listen", "127.0.0.1:0", "--json"}, func(command *exec.Cmd) {
		output, _ = command.StderrPipe() // no error: it is not set yet
	})
	lines := bufio.NewReader(output)
	for {
		text, err := lines.ReadString('\n')
		var line struct{ Msg, URL string }
		if err != nil || json.Unmarshal([]byte(text), &line) != nil {
			t.Fatalf("slidegate says %q, %v", text, err)
		}
		if line.Msg == "listening" {
			go io.Copy(io.Discard, lines)
			return command, strings.TrimPrefix(line.URL, "http://")
		}
	}
}

// run starts a command, and ends it after the test. nginx ends its worker by
// itself if it gets the time.
func run(t *testing.T, name string, args []string, set func(*exec.Cmd)) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, name, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 5 * time.Second
	set(command)
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // its error is the signal, or that it was awaited before
	})
	return command
}

// stop ends slidegate.
func (s *site) stop(t *testing.T) {
	t.Helper()
	if err := s.slidegate.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.slidegate.Wait() // its error is the signal
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// wait waits until a proxy has its routes: until a preflight, which is not
// counted, reaches the backend.
func (s *site) wait(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if answer, err := s.try(t, "127.0.0.1", "OPTIONS", "/", preflight); err == nil && answer.StatusCode == 200 {
			return
		}
	}
	t.Fatalf("the proxy does not answer at %s", s.address)
}

var preflight = http.Header{"Origin": {"https://example.com"}, "Access-Control-Request-Method": {"POST"}}

// echoed is what the backend got.
type echoed struct {
	Target, Body string
	Header       http.Header
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_ = json.NewEncoder(w).Encode(echoed{r.RequestURI, string(body), r.Header})
}

type answer struct {
	*http.Response
	body    []byte
	backend echoed // of an allowed request
}

// send sends a request from an address of this machine.
func (s *site) send(t *testing.T, from, method, target string, fields http.Header) *answer {
	t.Helper()
	a, err := s.try(t, from, method, target, fields)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode == http.StatusOK {
		if err := json.Unmarshal(a.body, &a.backend); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
	}
	return a
}

// try is send for a proxy that may not answer yet.
func (s *site) try(t *testing.T, from, method, target string, fields http.Header) (*answer, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", s.address)
	}}}
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("a body")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range fields {
		request.Header[name] = values
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{Response: response}
	a.body, err = io.ReadAll(response.Body)
	return a, err
}
