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
// true wait, and all fields of one answer agree. Allowed answers have none.
func TestRetryJitter(t *testing.T) {
	const document = "headers: both\nretry_jitter: 5s\ndenied: {content_type: text/plain, body: '{reset}'}\nrules: [{name: one, key: all, limit: 1/10s}]\n"
	h := serve(t, document)
	if got := limitFields(ask(h, "/").Header()); !strings.Contains(got, "t=11\n") || !strings.HasSuffix(got, "Reset: 11") {
		t.Errorf("an allowed answer:\n%s", got)
	}
	seen := map[int]bool{}
	for range 200 {
		answer := ask(h, "/")
		fields := limitFields(answer.Header())
		wait, err := strconv.Atoi(between(fields, "\nRetry-After: ", "\n"))
		if err != nil || wait < 11 || wait > 16 {
			t.Fatalf("%s", fields)
		}
		seconds := strconv.Itoa(wait)
		if !strings.Contains(fields, ";t="+seconds+"\n") || !strings.Contains(fields, "Reset: "+seconds+"\n") || !strings.HasSuffix(fields, "Retry-After: "+seconds) {
			t.Fatalf("fields of one answer differ:\n%s", fields)
		}
		if reset := answer.Body.String(); reset != seconds {
			t.Fatalf("the body says %s, the fields\n%s", reset, fields)
		}
		seen[wait] = true
	}
	if len(seen) != 6 {
		t.Errorf("waits are %v", slices.Sorted(maps.Keys(seen)))
	}
}

// TestRetryJitterOfLateTurns: all fields agree in the denial of a request too whose
// turn in a leaky bucket comes too late.
func TestRetryJitterOfLateTurns(t *testing.T) {
	const document = "headers: both\nretry_jitter: 5s\n" +
		"rules: [{name: one, key: all, limit: {algorithm: leaky_bucket, capacity: 1, window: 1m, queue: 40}}]\n"
	h := serve(t, document)
	ask(h, "/") // whose turn is now
	for turn := 60; turn < 40*60; turn += 60 {
		fields := limitFields(ask(h, "/").Header())
		seconds := between(fields, "\nRetry-After: ", "\n")
		if wait, err := strconv.Atoi(seconds); err != nil || wait < turn || wait > turn+5 {
			t.Fatalf("a turn in %d s:\n%s", turn, fields)
		}
		if !strings.Contains(fields, ";t="+seconds+"\n") || !strings.Contains(fields, "Reset: "+seconds+"\n") {
			t.Fatalf("fields of one answer differ:\n%s", fields)
		}
	}
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
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
		for range 2 {
			answer := ask(h, test.path)
			if answer.Code == http.StatusOK {
				continue
			}
			if answer.Code != test.status || answer.Header().Get("Content-Type") != test.contentType || answer.Body.String() != test.body {
				t.Errorf("%s: %d %s\n%s\nwant %d %s\n%s", test.denied, answer.Code, answer.Header().Get("Content-Type"), answer.Body,
					test.status, test.contentType, test.body)
			}
			if got := answer.Header().Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("%s: scripts may not read the answer", test.denied)
			}
			break
		}
		if ask(h, test.path).Code == http.StatusOK {
			t.Errorf("%s: %s is not denied", test.denied, test.path)
		}
	}
}
