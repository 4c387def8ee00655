package gateway_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// serve serves rules by the local gateway.
func serve(t *testing.T, document string) http.Handler {
	t.Helper()
	return gateway.New(gateway.Options{Decider: newDecider(t, document, atNow, quiet), Log: quiet})
}

func ask(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// limitFields lists the fields that say something of limits, by canonical names.
func limitFields(h http.Header) string {
	var fields []string
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		if strings.Contains(name, "Ratelimit") || name == "Retry-After" {
			fields = append(fields, name+": "+values[0])
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, "\n")
}

func TestHeaders(t *testing.T) {
	const rule = "rules: [{name: one, key: all, limit: 1/10s}]\n"
	const (
		standard    = "Ratelimit-Policy: \"one\";q=1;w=10\nRatelimit: \"one\";r=0;t=11"
		legacyLimit = "X-Ratelimit-Limit: 1\nX-Ratelimit-Remaining: 0"
		reset       = "X-Ratelimit-Reset: 11"
		retry       = "Retry-After: 11"
		legacyRetry = "X-Ratelimit-Retry-After: 11"
	)
	for style, want := range map[string][2][]string{
		"":                    {{standard, legacyLimit}, {standard, retry, legacyLimit, legacyRetry}},
		"headers: standard\n": {{standard}, {standard, retry}},
		"headers: legacy\n":   {{legacyLimit, reset}, {retry, legacyLimit, reset, legacyRetry}},
		"headers: both\n":     {{standard, legacyLimit, reset}, {standard, retry, legacyLimit, reset, legacyRetry}},
		"headers: \"off\"\n":  {{}, {retry}},
	} {
		h := serve(t, style+rule)
		for i, fields := range want {
			if got := limitFields(ask(h, "/").Header()); got != strings.Join(fields, "\n") {
				t.Errorf("%q, answer %d:\n%s\nwant\n%s", style, i, got, strings.Join(fields, "\n"))
			}
		}
	}
}

// TestRetryJitter: waits are spread over the whole jitter, never earlier than the
// true wait, and all fields of one answer agree, also for a request whose turn in a
// leaky bucket comes too late. Allowed answers have none.
func TestRetryJitter(t *testing.T) {
	h := serve(t, `
headers: both
retry_jitter: 5s
denied: {content_type: text/plain, body: '{retryAfter}'}
rules:
- {name: one, when: {path: /one}, key: all, limit: 1/10s}
- {name: turns, when: {path: /turns}, key: all, limit: {algorithm: leaky_bucket, capacity: 1, window: 1m, queue: 40}}
`)
	if got := limitFields(ask(h, "/one").Header()); !strings.Contains(got, "t=11\n") || !strings.HasSuffix(got, "Reset: 11") {
		t.Errorf("an allowed answer:\n%s", got)
	}
	denied := func(path string) (wait int) {
		answer := ask(h, path)
		fields, seconds := limitFields(answer.Header()), answer.Header().Get("Retry-After")
		for _, part := range []string{";t=" + seconds + "\n", "Reset: " + seconds + "\n", "Ratelimit-Retry-After: " + seconds} {
			if !strings.Contains(fields, part) || answer.Body.String() != seconds {
				t.Fatalf("one answer differs: %s, fields\n%s", answer.Body, fields)
			}
		}
		wait, _ = strconv.Atoi(seconds)
		return wait
	}
	seen := map[int]bool{}
	for range 200 {
		seen[denied("/one")] = true
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []int{11, 12, 13, 14, 15, 16}) {
		t.Errorf("waits are %v", got)
	}
	ask(h, "/turns") // whose turn is now
	for turn := 60; turn < 40*60; turn += 60 {
		if wait := denied("/turns"); wait < turn || wait > turn+5 {
			t.Fatalf("a turn in %d s: %d", turn, wait)
		}
	}
}

func TestDenied(t *testing.T) {
	const rest = `
deny: [{path: /banned}]
rules:
  - {name: two, when: {path: /two}, key: all, limits: [5/minute, {capacity: 1, window: 10s}]}
  - {name: queue, when: {path: /queue}, key: all, limit: {algorithm: leaky_bucket, capacity: 1, window: 1m, queue: 3}}
`
	for _, test := range []struct {
		denied, path string
		status       int
		contentType  string
		body         string
	}{
		{`{status: 503}`, "/two", 503, "application/problem+json",
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded",` +
				`"status":503,"violated-policies":["two.per-10s"]}` + "\n"},
		{`{content_type: application/json}`, "/banned", 403, "application/json",
			`{"type":"https://github.com/slidegate/slidegate/blob/main/docs/problems.md#blocked","title":"Requests from this client are blocked",` +
				`"status":403,"violated-policies":["deny"]}` + "\n"},
		{`{content_type: application/json, body: '{"rule": "{rule}", "of": [{limit}, {remaining}, {reset}], "in": "{retryAfter}", "{}": {degraded}}'}`, "/two",
			429, "application/json", `{"rule": "two.per-10s", "of": [1, 0, 11], "in": "11", "{}": false}`},
		{`{status: 403, content_type: text/plain; charset=us-ascii, body: "{rule}: {problemTitle}, {problemType}; {retryAfter}{limit}\n"}`, "/banned",
			403, "text/plain; charset=us-ascii",
			"deny: Requests from this client are blocked, https://github.com/slidegate/slidegate/blob/main/docs/problems.md#blocked; \n"},
		{`{content_type: text/plain, body: "{rule} {retryAfter}"}`, "/queue", 429, "text/plain", "queue 60"}, // its turn is too late to wait for
	} {
		h := serve(t, "denied: "+test.denied+rest)
		ask(h, test.path)
		answer := ask(h, test.path)
		if answer.Code != test.status || answer.Header().Get("Content-Type") != test.contentType || answer.Body.String() != test.body {
			t.Errorf("%s: %d %s\n%s\nwant %d %s\n%s", test.denied, answer.Code, answer.Header().Get("Content-Type"), answer.Body,
				test.status, test.contentType, test.body)
		}
		if got := answer.Header().Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: scripts may not read the answer", test.denied)
		}
	}
}
