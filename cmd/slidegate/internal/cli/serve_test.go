package cli

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decided counts decisions, as replay reports them.
type decided struct{ Requests, Allowed, Denied, Exempt, Banned, Ambiguous int }

// A replay of the log that serve writes decides as serve did. It skips the lines
// that are no decisions.
func TestReplayOfServesLog(t *testing.T) {
	rules := file(t, "rules.yaml", `
deny: [{path: /admin/**}]
skip: [{path: /health}]
rules:
- {name: preflights, when: {methods: [OPTIONS], path: /counted/**}, key: 'ip:{ip}', limit: 2/hour}
- {name: api, key: 'ip:{ip}', limit: 5/hour}
`)
	logged, allowed := serveAndSend(t, rules, []string{
		"GET /a", "OPTIONS /a", "OPTIONS /a preflight", "OPTIONS /a preflight", "OPTIONS /counted/a preflight", "OPTIONS /counted/a preflight",
		"OPTIONS /counted/a preflight", "GET /a", "GET /a?b=c", "GET /health", "GET /admin/x", "OPTIONS /admin/x preflight", "GET /a#b", "GET /admin%3Fx",
		"GET /a%2Fb<", "GET /a", "GET /a", "GET /caf%C3%A9", "OPTIONS /a preflight", "OPTIONS /a blank", "OPTIONS /a hyphen",
	})
	log := file(t, "serve.jsonl", logged)
	want, got := decided{21, allowed, 21 - allowed, 5, 2, 3}, mustReport[decided](t, "replay "+log+" --rules "+rules)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-serve +replay):\n%s\nof\n%s", diff, logged)
	}
	wantExit(t, 0, "replay "+log+" --rules "+rules, "serve.jsonl:1: no path: looked for path; the line has level, msg")
}

// serveAndSend sends requests to serve, and returns what it logs until it ends, and
// how many requests were allowed.
// A request is a method, a target, and what it has of a preflight.
func serveAndSend(t *testing.T, rules string, requests []string) (logged string, allowed int) {
	t.Helper()
	p := startServe(t, "--rules", rules, "--log", "requests")
	address := strings.TrimPrefix(p.URL, "http://")
	fields := map[string]http.Header{
		"preflight": {"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"PUT"}},
		"blank":     {"Origin": {"https://app.example"}, "Access-Control-Request-Method": {" "}},
		"hyphen":    {"Origin": {"-"}, "Access-Control-Request-Method": {"-"}},
	}
	for _, request := range requests {
		parts := append(strings.Fields(request), "")
		// An opaque URL is sent as it is.
		r := &http.Request{Method: parts[0], URL: &url.URL{Scheme: "http", Host: address, Opaque: parts[1]}, Header: fields[parts[2]]}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < 300 {
			allowed++
		}
	}
	return p.logged.String() + p.end(os.Interrupt, 0), allowed
}

// TestServePage: the admin address has the page, as a gateway and with --decide,
// with a denial that happened. The form tries a request by the counters of serve.
// A browser that watches does not delay the end of serve: its events end well,
// and are not cut off once serve has waited for 15 seconds.
func TestServePage(t *testing.T) {
	rules := file(t, "rules.yaml", "rules: [{name: api, key: 'user:{header.x-user}', limit: 2/hour}]")
	for flag, charge := range map[string]func(url string){
		"--decide=false": func(url string) { send(t, "GET", url+"/v1", "", "X-User", "ada") },
		"--decide": func(url string) {
			send(t, "POST", url+"/v1/decisions", `{"method": "GET", "path": "/v1", "ip": "203.0.113.9", "headers": {"x-user": "ada"}}`)
		},
	} {
		p := startServe(t, flag, "--rules", rules, "--admin", "127.0.0.1:0")
		for range 3 {
			charge(p.URL)
		}
		if _, page := send(t, "GET", p.Admin+"/", ""); !strings.Contains(page, "<title>Slidegate, live") || !strings.Contains(page, "user:ada") {
			t.Errorf("%s: the page is %s", flag, page)
		}
		for range 2 { // the second answer is the first one's
			form := url.Values{"method": {"GET"}, "path": {"/v1"}, "headers": {"x-user: ada"}}.Encode()
			_, body := send(t, "POST", p.Admin+"/live/try", form, "Content-Type", "application/x-www-form-urlencoded")
			if !strings.Contains(body, "denied</strong> by api, again allowed in") {
				t.Errorf("%s: tried, it is %s", flag, body)
			}
		}
		events, err := http.Get(p.Admin + "/live/events")
		if err != nil || events.StatusCode != 200 {
			t.Fatal(events, err)
		}
		p.end(os.Interrupt, 0)
		if _, err := io.ReadAll(events.Body); err != nil {
			t.Errorf("the events were cut off: %v", err)
		}
		events.Body.Close()
	}
}

// With --usage-path, the gateway and the server of decisions show what they have
// counted themselves.
func TestServeUsagePath(t *testing.T) {
	rules := file(t, "rules.yaml", `rules: [{name: api, key: "ip:{ip}", limit: 5/hour}]`)
	const caller = `{"method": "GET", "path": "/", "ip": "127.0.0.1"}`
	for _, tc := range []struct{ flag, method, charged, body string }{
		{"--log=summary", "GET", "/", ""}, {"--decide", "POST", "/v1/decisions", caller},
	} {
		p := startServe(t, tc.flag, "--usage-path", "/usage", "--rules", rules)
		var last string
		for _, path := range []string{tc.charged, tc.charged, "/usage"} {
			_, last = send(t, tc.method, p.URL+path, tc.body)
		}
		if !strings.Contains(last, `"used":2,"remaining":3`) {
			t.Errorf("%s: %s", tc.flag, last)
		}
		p.interrupt()
	}
}
