// Package proxies_test runs each proxy with its configuration of this directory,
// between a client and a backend, with slidegate beside it.
package proxies_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// proxy is how to start a proxy, and how it differs from the others.
type proxy struct {
	command []string // of which the first is in .cache/proxies
	// fieldsToBackend says that the backend gets the fields of an allowed
	// request, and the client does not.
	fieldsToBackend bool
	down            int // the status while slidegate does not answer
}

var proxies = map[string]proxy{
	"nginx":   {[]string{"nginx", "-p", ".", "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off; pid nginx.pid;"}, false, 500},
	"caddy":   {[]string{"caddy", "run", "--config", "Caddyfile"}, false, 502},
	"traefik": {[]string{"traefik", "--configFile=traefik.yaml"}, true, 500},
	"envoy":   {[]string{"envoy", "-c", "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id", "-l", "error"}, false, 503},
}

func TestProxies(t *testing.T) {
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, p, nil)
			t.Run("counts by the client's address, whatever the client says", s.limited)
			t.Run("tells method and path", s.described)
			t.Run("passes preflights", s.preflights)
			t.Run("denies a path that servers read differently", s.ambiguous)
			t.Run("refuses a forged token", s.unauthorized)
			t.Run("refuses a banned client", s.banned)
			t.Run("takes large fields", s.large)
			s.stop()
			if answer := s.send(t, "127.0.0.9", "GET", "/", nil); answer.StatusCode != p.down {
				t.Errorf("without slidegate: status %d, want %d", answer.StatusCode, p.down)
			}
		})
	}
}

// The lines in nginx.conf that are commented out let requests through while
// slidegate does not answer.
func TestNginxOpen(t *testing.T) {
	t.Parallel()
	s := start(t, proxies["nginx"], func(file string) string {
		return strings.NewReplacer("# error_page 502", "error_page 502", "# location @open", "location @open").Replace(file)
	})
	s.stop()
	for range 5 {
		if answer := s.send(t, "127.0.0.9", "GET", "/", nil); answer.StatusCode != 200 {
			t.Errorf("status %d, want 200", answer.StatusCode)
		}
	}
}

// Proxies send the token by the lines of docs/http-api.md, also if a client has sent
// another one.
func TestToken(t *testing.T) {
	const token = "0123456789abcdef"
	t.Setenv("SLIDEGATE_DECIDE_TOKEN", token)
	lines := strings.NewReplacer(
		"proxy_set_header X-Forwarded-Method", "proxy_set_header Slidegate-Token "+token+"; proxy_set_header X-Forwarded-Method",
		"header_up X-Forwarded-Method", "header_up Slidegate-Token "+token+"\n\t\t\theader_up X-Forwarded-Method",
		`X-Forwarded-Uri: ""}`, `X-Forwarded-Uri: "", Slidegate-Token: `+token+`}
    forgotten: {headers: {customRequestHeaders: {Slidegate-Token: ""}}}`,
		"[nothing-claimed, slidegate]", "[nothing-claimed, slidegate, forgotten]",
		"path_prefix:", "authorization_request: {headers_to_add: [{key: slidegate-token, value: "+token+"}]}\n                        path_prefix:",
	)
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			s := start(t, p, lines.Replace)
			for i, want := range []int{200, 200, 200, 429} {
				answer := s.send(t, "127.0.0.5", "GET", "/", http.Header{"Slidegate-Token": {"of the client"}})
				if answer.StatusCode != want || answer.backend.Header.Get("Slidegate-Token") == token {
					t.Errorf("request %d: status %d, want %d; the backend got %v", i, answer.StatusCode, want, answer.backend.Header)
				}
			}
		})
	}
}

// The backend gets the receipt of the decision, and never a client's own. It settles
// by it.
func TestReceipts(t *testing.T) {
	t.Setenv("SLIDEGATE_RECEIPT_SECRET", "0123456789abcdef")
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			s := start(t, p, strings.NewReplacer("limit: 3/minute", "limit: 3/minute\n    refund_on: 5xx").Replace)
			answer := s.send(t, "127.0.0.5", "GET", "/", http.Header{"Slidegate-Receipt": {"of the client"}})
			receipts := answer.backend.Header.Values("Slidegate-Receipt")
			if answer.StatusCode != 200 || len(receipts) != 1 || !strings.Contains(receipts[0], ".") || answer.Header.Get("Slidegate-Receipt") != "" {
				t.Errorf("status %d, the backend got %q, the client %v", answer.StatusCode, receipts, answer.Header)
			}
			answer = s.send(t, "127.0.0.5", "OPTIONS", "/", preflight)
			if got := answer.backend.Header.Values("Slidegate-Receipt"); len(got) != 1 || got[0] != "nothing" {
				t.Errorf("of a request that is not counted, the backend got %q", got)
			}
		})
	}
}

// With a proxy before nginx, client_ip counts back to the client of that one. Here
// the test stands for it: the last entry that it sends is its client's address.
func TestNginxBehindAProxy(t *testing.T) {
	t.Parallel()
	s := start(t, proxies["nginx"], func(text string) string {
		return strings.Replace(text, "\nrules:\n", "\nclient_ip: {trusted_hops: 1}\nrules:\n", 1)
	})
	for i, want := range []int{200, 200, 200, 429} {
		spoofed := http.Header{"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d, 198.51.100.7", i)}}
		if answer := s.send(t, "127.0.0.5", "GET", "/", spoofed); answer.StatusCode != want {
			t.Errorf("request %d: status %d, want %d", i, answer.StatusCode, want)
		}
	}
	other := http.Header{"X-Forwarded-For": {"198.51.100.7, 198.51.100.8"}}
	if answer := s.send(t, "127.0.0.5", "GET", "/", other); answer.StatusCode != 200 {
		t.Errorf("another client of the proxy: status %d", answer.StatusCode)
	}
}

// With a proxy before Traefik, which has to trust that one's fields, a client still
// cannot choose the method and the path that rules see, or pass for a preflight.
func TestTraefikBehindAProxy(t *testing.T) {
	t.Parallel()
	s := start(t, proxies["traefik"], strings.NewReplacer(
		"\nrules:\n", "\nclient_ip: {trusted_hops: 1}\nrules:\n",
		"    address: 127.0.0.1:8000\n", "    address: 127.0.0.1:8000\n    forwardedHeaders: {trustedIPs: [127.0.0.0/8]}\n",
		"        authResponseHeaders", "        trustForwardHeader: true\n        authResponseHeaders",
	).Replace)
	for i, want := range []int{200, 429} {
		answer := s.send(t, "127.0.0.5", "POST", "/v1/items", http.Header{
			"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d, 198.51.100.7", i)}, "X-Forwarded-Method": {"OPTIONS"}, "X-Forwarded-Uri": {"/x"},
			"Origin": preflight["Origin"], "Access-Control-Request-Method": preflight["Access-Control-Request-Method"],
		})
		if answer.StatusCode != want {
			t.Errorf("request %d: status %d, want %d", i, answer.StatusCode, want)
		}
	}
}

// limited sends more requests than the rule allows. Each has fields by which a
// client may try to pass for others.
func (s *site) limited(t *testing.T) {
	for i, want := range []int{200, 200, 200, 429, 429} {
		answer := s.send(t, "127.0.0.5", "GET", "/a?page=2", http.Header{
			"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d, 198.51.100.%d", i, i)}, "X-Forwarded-Method": {"OPTIONS"}, "X-Forwarded-Uri": {"/b"},
			"X-Real-Ip": {fmt.Sprintf("192.0.2.%d", i)}, "Forwarded": {fmt.Sprintf("for=192.0.2.%d", i)},
			"X-Envoy-External-Address": {fmt.Sprintf("192.0.2.%d", i)}, "Slidegate-Receipt": {"of the client"},
		})
		fields := answer.Header
		if want == 200 && s.fieldsToBackend {
			fields = answer.backend.Header
		}
		wantRateLimit := fmt.Sprintf(`"per-ip";r=%d;t=`, max(0, 2-i))
		if answer.StatusCode != want || !strings.HasPrefix(fields.Get("RateLimit"), wantRateLimit) || fields.Get("RateLimit-Policy") != `"per-ip";q=3;w=60` {
			t.Errorf("request %d: status %d, fields %v, want %d and %s", i, answer.StatusCode, fields, want, wantRateLimit)
		}
		if want == 429 {
			wantDenied(t, answer, 429, "per-ip")
			if !regexp.MustCompile(`^(60|61)$`).MatchString(answer.Header.Get("Retry-After")) {
				t.Errorf("request %d: Retry-After %q", i, answer.Header.Get("Retry-After"))
			}
		} else if answer.backend.Target != "/a?page=2" || answer.backend.Header.Get("Slidegate-Receipt") != "" {
			t.Errorf("the backend got %q, %v", answer.backend.Target, answer.backend.Header)
		}
	}
	if answer := s.send(t, "127.0.0.6", "GET", "/a", nil); answer.StatusCode != 200 {
		t.Errorf("another client: status %d", answer.StatusCode)
	}
}

func (s *site) described(t *testing.T) {
	if answer := s.send(t, "127.0.0.7", "POST", "/v1/items?a=b", nil); answer.StatusCode != 200 || answer.backend.Body != "a body" {
		t.Errorf("status %d, the backend got %+v", answer.StatusCode, answer.backend)
	}
	wantDenied(t, s.send(t, "127.0.0.7", "POST", "/v1/items", nil), 429, "writes")
	if answer := s.send(t, "127.0.0.7", "GET", "/v1/items", nil); answer.StatusCode != 200 {
		t.Errorf("GET: status %d", answer.StatusCode)
	}
}

func (s *site) preflights(t *testing.T) {
	for range 5 {
		if answer := s.send(t, "127.0.0.8", "OPTIONS", "/", preflight); answer.StatusCode != 200 || answer.Header.Get("RateLimit") != "" {
			t.Errorf("status %d, %v", answer.StatusCode, answer.Header)
		}
	}
}

func (s *site) ambiguous(t *testing.T) {
	wantDenied(t, s.send(t, "127.0.0.8", "GET", "/v1%2Fitems", nil), 400, "ambiguous_paths")
}

func (s *site) banned(t *testing.T) {
	answer := s.send(t, "127.0.0.66", "GET", "/", nil)
	if answer.StatusCode != 403 || answer.Header.Get("Retry-After") != "" || answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d, fields %v", answer.StatusCode, answer.Header)
	}
}

func (s *site) unauthorized(t *testing.T) {
	const none = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ." // the algorithm "none"
	answer := s.send(t, "127.0.0.9", "GET", "/", http.Header{"Authorization": {"Bearer " + none}})
	if challenge := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != 401 || challenge != `Bearer error="invalid_token"` {
		t.Errorf("status %d, WWW-Authenticate %q", answer.StatusCode, challenge)
	}
}

// large sends nearly as much as Caddy takes, more than the local gateway does.
func (s *site) large(t *testing.T) {
	if answer := s.send(t, "127.0.0.10", "GET", "/", http.Header{"X-Large": {strings.Repeat("a", 7500), strings.Repeat("b", 7500)}}); answer.StatusCode != 200 {
		t.Errorf("status %d: %s", answer.StatusCode, answer.body)
	}
}

// wantDenied wants problem details with a status.
func wantDenied(t *testing.T, answer *answer, status int, rule string) {
	t.Helper()
	var problem struct {
		Status   int      `json:"status"`
		Violated []string `json:"violated-policies"`
	}
	err := json.Unmarshal(answer.body, &problem)
	if answer.StatusCode != status || answer.Header.Get("Content-Type") != "application/problem+json" || err != nil ||
		problem.Status != status || strings.Join(problem.Violated, " ") != rule {
		t.Errorf("status %d, %v, body %s, want one denied by %s", answer.StatusCode, answer.Header, answer.body, rule)
	}
}

// TestClients runs the programs of docs/http-api.md. The page has the output of
// the first one.
func TestClients(t *testing.T) {
	text, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, address := serve(t, "rules.yaml")
	want := block(t, page, "")
	for _, test := range []struct {
		language string
		command  []string
		want     string
	}{
		{"python", []string{"python3", "-"}, want},
		{"js", []string{"node", "--input-type=module", "-"}, strings.NewReplacer("True", "true", "False", "false", "None", "undefined").Replace(want)},
	} {
		command := exec.Command(test.command[0], test.command[1:]...)
		command.Stdin = strings.NewReader(strings.ReplaceAll(block(t, page, test.language), "127.0.0.1:8080", address))
		output, err := command.CombinedOutput()
		// The requests may fall into the next second.
		if got := regexp.MustCompile(`;t=60\b`).ReplaceAllString(string(output), ";t=61"); err != nil || got != test.want {
			t.Errorf("%s: %v, printed\n%s\nwant\n%s", test.language, err, output, test.want)
		}
	}
}

// block returns the first block of a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	match := regexp.MustCompile("(?s)\n\n```" + language + "\n(.*?)```\n").FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("the page has no block of %q", language)
	}
	return match[1]
}
