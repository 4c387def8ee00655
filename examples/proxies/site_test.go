package proxies_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
	address string
	stop    func() // slidegate
}

// start starts everything. change changes the rules and the configuration; nil for
// no change.
func start(t *testing.T, p proxy, change func(string) string) *site {
	t.Helper()
	if change == nil {
		change = func(text string) string { return text }
	}
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
		return change(text) + "deny: [{cidrs: [127.0.0.66/32]}]\nauthentication: {jwt: [{issuer: 'http://127.0.0.1:1', audience: api}]}\n"
	})
	s.stop, decides = serve(t, rules)
	for _, name := range []string{"nginx.conf", "Caddyfile", "traefik.yaml", "traefik-routes.yaml", "envoy.yaml"} {
		copyFile(t, name, filepath.Join(dir, name), func(text string) string {
			return moved(change(text), map[string]string{"8080": decides, "3000": backend.Listener.Addr().String(), "8000": s.address})
		})
	}
	run(t, func(command *exec.Cmd) {
		command.Dir, command.Env = dir, append(os.Environ(), "HOME="+dir)
		command.Stdout, command.Stderr = t.Output(), t.Output()
	}, append([]string{path}, p.command[1:]...)...)
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
func serve(t *testing.T, rules string) (stop func(), address string) {
	t.Helper()
	var output io.Reader
	stop = run(t, func(command *exec.Cmd) { output, _ = command.StderrPipe() }, // no error: it is not set yet
		program, "serve", "--decide", "--rules", rules, "--listen", "127.0.0.1:0", "--json")
	lines := bufio.NewReader(output)
	for {
		text, err := lines.ReadString('\n')
		var line struct{ Msg, URL string }
		if err != nil || json.Unmarshal([]byte(text), &line) != nil {
			t.Fatalf("slidegate says %q, %v", text, err)
		}
		if line.Msg == "listening" {
			go io.Copy(io.Discard, lines)
			return stop, strings.TrimPrefix(line.URL, "http://")
		}
	}
}

// untilClosed runs a command until its standard input is closed, and then stops
// it by its process id. The input is also closed if the test's process dies, so
// no server is left behind.
const untilClosed = `"$@" & cat >/dev/null; kill $!; wait`

// run starts a command. stop ends it, also after the test.
func run(t *testing.T, set func(*exec.Cmd), command ...string) (stop func()) {
	t.Helper()
	shell := exec.Command("sh", append([]string{"-c", untilClosed, "sh"}, command...)...)
	set(shell)
	stdin, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		stdin.Close()
		_ = shell.Wait() // its error is the signal that ended the command
	})
	t.Cleanup(stop)
	return stop
}

// freeAddress returns an address that a proxy can listen on. Its port is below
// those that Linux gives to connections and to listeners that name none. Such a
// port might be in use again before the proxy starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("none of 100 ports is free")
	return ""
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
