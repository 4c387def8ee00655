package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

const liveRules = `
client_ip: {trusted_hops: 1}
deny: [{path: /admin/**}]
rules:
- {name: per-ip, key: 'ip:{ip}', limit: 100/hour}
- {name: per-user, when: {route: /v1/**}, key: 'user:{header.x-user}', limits: [2/hour, 50 per 1d]}
- {name: bucket, atomic: true, key: 'bucket:{ip}', limits: [{algorithm: token_bucket, capacity: 60, window: 1h}]}
- {name: next, mode: shadow, key: 'user:{header.x-user}', limit: 1/hour}
`

// gate is a limiter with its page.
type gate struct {
	*watched
	page   *admin.Server
	server *httptest.Server
	engine *engine.Engine
	ticks  chan time.Time
	stop   context.CancelFunc

	notReloaded error
}

func openGate(t *testing.T, store limit.Store) *gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(liveRules), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), session.Locations{RulesFile: path}, countAlone(func(string, *rules.Set) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ctx, stop := context.WithCancel(t.Context())
	g := &gate{watched: &watched{Session: s, observer: admin.NewObserver(engine.NoObserver{}), store: store}, ticks: make(chan time.Time), stop: stop}
	g.recorder = telemetry.NewRecorder(telemetry.Options{Next: g.observer})
	g.engine = engine.New(engine.Options{Rules: s.Source, Store: store, Local: memory.New(0), Observer: g.recorder})
	g.page = admin.New(admin.Options{
		Explain: g.explain, Observer: g.observer,
		Snapshot:    func() *telemetry.Snapshot { return g.recorder.Snapshot(s.Now()) },
		NotReloaded: func() error { return g.notReloaded },
		Rules:       func() (*rules.Set, error) { return s.Source.Rules(ctx, s.Now()) },
		Now:         time.Now, Version: "v1.2.3", Store: "memory", RulesFrom: "rules.yaml", Stopping: ctx,
	})
	go g.page.Run(ctx, g.ticks)
	g.server = httptest.NewServer(g.page)
	t.Cleanup(g.server.Close)
	t.Cleanup(stop)
	return g
}

// send has the limiter decide requests of one user.
func (g *gate) send(t *testing.T, n int, path, user string) {
	t.Helper()
	for range n {
		req := &request.Request{Method: "GET", Path: path, IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"X-User": {user}}}
		if _, err := g.engine.Decide(t.Context(), g.Now(), req); err != nil {
			t.Fatal(err)
		}
	}
}

// fetch returns the status and the body of an answer.
func (g *gate) fetch(t *testing.T, path string, form url.Values) (int, string) {
	t.Helper()
	response, err := http.Get(g.server.URL + path)
	if form != nil {
		response, err = http.PostForm(g.server.URL+path, form)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func tryForm(path, user string) url.Values {
	return url.Values{"method": {"GET"}, "path": {path}, "ip": {"203.0.113.9"}, "headers": {"X-User: " + user}}
}

// TestTryChargesNothing: after the form and the explanations of denials, the
// counters are as before, and the store was only read. Atomic rules, shadow rules
// and buckets are among them.
func TestTryChargesNothing(t *testing.T) {
	store := fakestore.New(nil)
	g := openGate(t, store)
	g.send(t, 3, "/v1/items", "ada") // the third is denied
	at := g.Now()
	state := func() string {
		req := &request.Request{Method: "GET", Path: "/v1/items", IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"X-User": {"ada"}}}
		report, err := newExplainer(NewLookup(g.Rules, nil, at), store).explain(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	writes := func() int {
		return len(store.Calls(fakestore.Charge, fakestore.Settle, fakestore.Reset))
	}
	before, decided, charges := state(), g.recorder.Snapshot(at), writes()
	for range 20 {
		for _, path := range []string{"/v1/items", "/hello", "/admin/x"} {
			if status, body := g.fetch(t, "/live/try", tryForm(path, "ada")); status != 200 {
				t.Fatalf("%s: %d %s", path, status, body)
			}
		}
		if status, body := g.fetch(t, "/live/denials/1", nil); status != 200 || !strings.Contains(body, "again allowed in") {
			t.Fatalf("the denial is explained as %d %s", status, body)
		}
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("the counters changed: %s", diff)
	}
	if diff := cmp.Diff(decided.Counters, g.recorder.Snapshot(at).Counters); diff != "" {
		t.Errorf("the metrics changed: %s", diff)
	}
	if now := writes(); now != charges || charges == 0 || store.Count(fakestore.Peek) < 100 {
		t.Errorf("the store got %d writes and %d reads; %d writes before", now, store.Count(fakestore.Peek), charges)
	}
}

// TestTry: the form shows the rules that cover a request with what remains, and
// the others with the reason. Input that is wrong is named.
func TestTry(t *testing.T) {
	g := openGate(t, memory.New(0))
	g.send(t, 2, "/v1/items", "ada")
	for _, test := range []struct {
		name string
		form url.Values
		want string // parts that the answer has, in this order
	}{
		{"denied", tryForm("/v1/items?page=2", "ada"), "denied</strong> by per-user.per-hour, again allowed in|per-ip: |allowed|98|per-user: |denied|next|would be denied"},
		{"another path", tryForm("/hello", "ada"), "allowed</strong>|<b>per-user</b> does not cover it: route /hello does not match"},
		{"banned", tryForm("/admin/x", "ada"), "denied</strong>: deny[0]"},
		{"claims", url.Values{"method": {"GET"}, "path": {"/"}, "claims": {`{"sub": 7}`}}, "the caller is known"},
		{"a proxy's entry", url.Values{"method": {"GET"}, "path": {"/"}, "ip": {"10.0.0.5"}, "headers": {"X-Forwarded-For: unix:"}}, "10.0.0.5, because a proxy's entry is no address: x-forwarded-for: unix:;"},
		{"no path", tryForm("v1", "ada"), "problem|path &#34;v1&#34;: want one that begins with a slash"},
		{"no address", url.Values{"method": {"GET"}, "path": {"/"}, "ip": {"300.1.1.1"}}, "problem|want an IPv4 or IPv6 address"},
		{"no header", url.Values{"method": {"GET"}, "path": {"/"}, "headers": {"X-User ada"}}, "problem|want NAME: VALUE"},
		{"no claims", url.Values{"method": {"GET"}, "path": {"/"}, "claims": {`[1]`}}, "problem|want a JSON object"},
		{"no method", url.Values{"method": {"G T"}, "path": {"/"}}, "problem|want one such as GET"},
		{"too much", url.Values{"method": {"GET"}, "path": {"/" + strings.Repeat("x", 70_000)}}, "problem|the form cannot be read"},
	} {
		_, body := g.fetch(t, "/live/try", test.form)
		rest := body
		for part := range strings.SplitSeq(test.want, "|") {
			var found bool
			if _, rest, found = strings.Cut(rest, part); !found {
				t.Errorf("%s: there is no %q in %s", test.name, part, body)
				break
			}
		}
	}
}

// TestDenialBehindAProxy: a denial is explained by the key that was denied, and not
// by an address before the client's.
func TestDenialBehindAProxy(t *testing.T) {
	g := openGate(t, memory.New(0))
	for range 101 {
		req := &request.Request{
			Method: "GET", Path: "/", IP: netip.MustParseAddr("10.0.0.5"),
			Headers: map[string][]string{"X-Forwarded-For": {"198.51.100.5, 192.0.2.1"}},
		}
		if _, err := g.engine.Decide(t.Context(), g.Now(), req); err != nil {
			t.Fatal(err)
		}
	}
	_, body := g.fetch(t, "/live/denials/1", nil)
	if !strings.Contains(body, "denied</strong> by ") || !strings.Contains(body, "ip:192.0.2.1") || strings.Contains(body, "198.51.100.5") {
		t.Errorf("explained as %s", body)
	}
}

// TestLivePageInAnOutage: a store that does not answer is a message, and the page
// stays.
func TestLivePageInAnOutage(t *testing.T) {
	g := openGate(t, fakestore.New(fakestore.On(fakestore.Peek, fakestore.Fail(errors.New("no route to <host>")))))
	if status, body := g.fetch(t, "/live/try", tryForm("/", "ada")); status != 502 || !strings.Contains(body, "cannot be read") || !strings.Contains(body, "&lt;host&gt;") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := g.fetch(t, "/", nil); status != 200 || !strings.Contains(body, "per-user") {
		t.Errorf("the page: %d %s", status, body)
	}
}

// TestLiveRules: the page lists all rules, and has them as YAML. It says when they
// cannot be read.
func TestLiveRules(t *testing.T) {
	g := openGate(t, memory.New(0))
	if status, body := g.fetch(t, "/live/rules", nil); status != 200 || !strings.Contains(body, "algorithm: token_bucket") {
		t.Errorf("%d %s", status, body)
	}
	var document strings.Builder
	document.WriteString("rules:\n")
	for i := range 300 {
		fmt.Fprintf(&document, "- {name: r%d, key: all, limit: 1/hour}\n", i)
	}
	many, err := rulefile.Parse("rules.yaml", []byte(document.String()))
	if err != nil {
		t.Fatal(err)
	}
	g.page.Rules = func() (*rules.Set, error) { return many, nil }
	if _, body := g.fetch(t, "/", nil); !strings.Contains(body, ">r0<") || !strings.Contains(body, ">r299<") {
		t.Error("the page does not list all of 300 rules")
	}
	g.notReloaded = errors.New("rules.yaml:2:3: <b>")
	if _, body := g.fetch(t, "/", nil); !strings.Contains(body, "the rules file has changed, and the rules in force stay: rules.yaml:2:3: &lt;b&gt;") {
		t.Error("the page does not say that newer rules are refused")
	}
	g.page.Rules = func() (*rules.Set, error) { return nil, errors.New("no route to <host>") }
	if status, body := g.fetch(t, "/live/rules", nil); status != 502 || !strings.Contains(body, "no route") {
		t.Errorf("%d %s", status, body)
	}
	if _, body := g.fetch(t, "/", nil); !strings.Contains(body, "no route to &lt;host&gt;") || strings.Contains(body, "There are no rules") || strings.Contains(body, "0001-01-01") {
		t.Error("the page has rules that it cannot read")
	}
}

// TestHostileValues: paths, headers and keys are text wherever they are shown.
func TestHostileValues(t *testing.T) {
	g := openGate(t, memory.New(0))
	hostile := []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</details></section><iframe>`, "a\r\n\r\ndata: {}\u202e<b>", "{{.}}`${1}`"}
	for _, value := range hostile {
		g.send(t, 4, "/v1/"+value, value)
	}
	g.send(t, 1, "/admin/<img>", "x")
	_, page := g.fetch(t, "/", nil)
	_, events := g.watch(t)
	texts := map[string]string{"page": page, "events": events}
	for id := range 6 {
		_, texts["denial"+string(rune('0'+id))] = g.fetch(t, "/live/denials/"+string(rune('0'+id)), nil)
	}
	for _, value := range hostile {
		_, texts["try "+value] = g.fetch(t, "/live/try", tryForm("/v1/"+value, value))
		_, texts["wrong "+value] = g.fetch(t, "/live/try", url.Values{"method": {"GET"}, "path": {value}})
		_, texts["rejected "+value] = g.fetch(t, "/live/try", url.Values{"method": {"GET"}, "path": {"/"}, "ip": {value}, "claims": {value}})
	}
	for name, body := range texts {
		for _, bad := range []string{"<script>alert", "<img", "<iframe", "</details></section><", "\u202e<", "\r"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, body)
			}
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") || !strings.Contains(texts["denial1"], "&lt;script&gt;") {
		t.Error("the hostile values are not shown at all")
	}
}

// watch returns the status of the events, and the parts of the page in the first
// one.
func (g *gate) watch(t *testing.T) (status int, parts string) {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	r, _ := http.NewRequestWithContext(ctx, "GET", g.server.URL+"/live/events", nil)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return response.StatusCode, ""
	}
	g.ticks <- time.Now()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			all := map[string]string{}
			if err := json.Unmarshal([]byte(data), &all); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			for _, part := range all {
				parts += part
			}
			return 200, parts
		}
	}
	t.Fatal("the events ended")
	return 0, ""
}

// TestWatchers: sixteen browsers watch, and the next one takes the place of the
// first, which hears of that. All streams end as serve stops.
func TestWatchers(t *testing.T) {
	g := openGate(t, memory.New(0))
	var open []*http.Response
	for i := range 17 {
		if i == 16 { // which takes no place
			if _, err := http.Head(g.server.URL + "/live/events"); err != nil {
				t.Fatal(err)
			}
		}
		response, err := http.Get(g.server.URL + "/live/events")
		if err != nil || response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(response, err)
		}
		open = append(open, response)
	}
	if text, err := io.ReadAll(open[0].Body); err != nil || string(text) != "retry: 2000\n\nevent: evicted\ndata: {}\n\n" { // and ends
		t.Errorf("the first browser got %q, %v", text, err)
	}
	g.ticks <- time.Now()
	for i, response := range open[1:] {
		if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
			t.Errorf("browser %d got %q, %v", i+1, line, err)
		}
	}
	g.stop()
	for _, response := range open {
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
		response.Body.Close()
	}
	if _, body := g.fetch(t, "/live/events", nil); body != "retry: 2000\n\n" { // and ends
		t.Errorf("while serve stops: %s", body)
	}
}

// TestPageHeaders: browsers keep the page to its own script and styles, and out of
// other pages.
func TestPageHeaders(t *testing.T) {
	g := openGate(t, memory.New(0))
	response, err := http.Get(g.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	policy := response.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "script-src 'sha256-", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q has no %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "data:") {
		t.Errorf("the policy is %q", policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if status, _ := g.fetch(t, "/live/denials/1", nil); status != 404 {
		t.Errorf("a denial that never was: %d", status)
	}
}
