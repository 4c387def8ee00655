package decideapi_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// A request that makes no sense is answered with its place and what to write.
func TestRefused(t *testing.T) {
	h := newAPI(t, exampleRules(t))
	const ok = `"method": "GET", "path": "/"`
	for body, want := range map[string]struct{ pointer, detail string }{
		``:                                   {"", "the body is no JSON: unexpected end of JSON input at byte 0: want a JSON object"},
		`{`:                                  {"", "unexpected end of JSON input at byte 1"},
		`{} {}`:                              {"", "invalid character '{' after top-level value at byte 4"},
		`null`:                               {"", "want a JSON object"},
		"{\"method\": \"\xff\"}":             {"", "UTF-8"},
		`{}`:                                 {"/method", "method: want the method of the client's request, such as GET"},
		`{"method": 7, "path": "/"}`:         {"/method", "method: want a string"},
		`{"method": "GET"}`:                  {"/path", "path: want the target of the client's request as it was sent"},
		`{"method": "GET", "path": "items"}`: {"/path", "path: want the target"},
		`{"Method": "GET", "path": "/"}`:     {"/Method", "there is no such name: the names are"},
		`{"method": "GET", "method": "PUT"}`: {"/method", "the name is there twice"},
		`{` + ok + `, "jwt": {"a": [{}, {"b": 1, "b": 2}]}}`: {"/jwt/a/1/b", "the name is there twice"},
		`{` + ok + `, "ip": "localhost"}`:                    {"/ip", "ip: want an IPv4 or IPv6 address"},
		`{` + ok + `}`:                                       {"/ip", "rule per-ip reads {ip}, which the request lacks: add ip, the address of the client"},
		`{` + ok + `, "headers": ["Host: a"]}`:               {"/headers", "headers: want an object of strings or lists of strings"},
		`{` + ok + `, "headers": {"Host": ["a", null]}}`:     {"/headers/Host", "headers.Host: want a string or a list of strings"},
		`{` + ok + `, "path_params": {"id": 7}}`:             {"/path_params/id", "path_params.id: want a string"},
		`{` + ok + `, "jwt": "eyJhbGciOiJub25lIn0"}`:         {"/jwt", "jwt: want the claims of a token, an object, and not the token itself"},
		`{` + ok + `, "rejected": "yes"}`:                    {"/rejected", "rejected: want true or false"},
		`{` + ok + `, "rejected": true, "apikey": "a"}`:      {"/rejected", "leave out jwt and apikey"},
		`{` + ok + `, "query": {"a": "b"}}`:                  {"/query", "there is no such name"},
	} {
		got := decide(t, h, body)
		p := read[struct{ Pointer, Detail string }](t, got.body)
		if got.StatusCode != 400 || got.Header.Get("Content-Type") != "application/problem+json" || p.Pointer != want.pointer || !strings.Contains(p.Detail, want.detail) {
			t.Errorf("%s: status %d, %s\nwant pointer %q and %q", body, got.StatusCode, got.body, want.pointer, want.detail)
		}
		wantSchema(t, "Problem", got.body)
	}
}

func TestRefusedByHTTP(t *testing.T) {
	h := newAPI(t, exampleRules(t))
	const plain = "Content-Type: application/json"
	for name, test := range map[string]struct {
		method, target, body, field string
		status                      int
		detail                      string
	}{
		"no such endpoint":    {"POST", "/v2/decisions", "{}", plain, 404, "/v1/decisions"},
		"an unclean path":     {"POST", "/v1//decisions", "{}", plain, 404, "/v1/decisions"},
		"another method":      {"GET", "/v1/decisions", "", plain, 405, `this endpoint takes POST, and the request is "GET"`},
		"reading by POST":     {"POST", "/healthz", "", plain, 405, "GET, HEAD"},
		"no type":             {"POST", "/v1/decisions", "{}", "Content-Type: ", 415, "write application/json"},
		"a form":              {"POST", "/v1/decisions", "a=b", "Content-Type: application/x-www-form-urlencoded", 415, "write application/json"},
		"a type with charset": {"POST", "/v1/decisions", "{}", plain + "; charset=utf-8", 400, "method"},
		"too large":           {"POST", "/v1/decisions", strings.Repeat(" ", 64<<10+1), plain, 413, "larger than 65536 bytes"},
		"too deep":            {"POST", "/v1/decisions", strings.Repeat("[", 64<<10), plain, 400, "exceeded max depth"},
	} {
		got := send(t, h, test.method, test.target, test.body, test.field)
		if got.StatusCode != test.status || !strings.Contains(read[struct{ Detail string }](t, got.body).Detail, test.detail) {
			t.Errorf("%s: status %d, %s, want %d and %q", name, got.StatusCode, got.body, test.status, test.detail)
		}
		if allow := got.Header.Get("Allow"); (allow != "") != (test.status == 405) {
			t.Errorf("%s: Allow %q", name, allow)
		}
		wantSchema(t, "Problem", got.body)
	}
}

// decision is the part of an answer that tests read.
type decision struct {
	Allowed    bool
	Reason     string
	Degraded   bool
	Rule       string
	Remaining  int64
	RetryAfter float64 `json:"retry_after_s"`
	Delay      float64 `json:"delay_s"`
	Headers    map[string]string
	Status     int
	Body       string
}

// The second request with the same key is denied, and one with another key is not.
func TestReads(t *testing.T) {
	const full = `rules: [{name: all, key: "%s", limit: 1/hour}]`
	for key, body := range map[string]string{
		"{ip}":              `"ip": "2001:db8::1"`,
		"{header.x-tenant}": `"ip": "::1", "headers": {"X-Tenant": "a"}`,
		"{query.page}":      `"ip": "::1"`,
		"{path.id}":         `"ip": "::1", "path_params": {"id": "7"}`,
		"{stage}":           `"ip": "::1", "stage": "prod"`,
		"{route}":           `"ip": "::1", "route": "/v1/{id}"`,
		"{jwt.sub}":         `"ip": "::1", "jwt": {"sub": "7"}`,
		"{jwt./a/0/b}":      `"ip": "::1", "jwt": {"a": [{"b": 12345678901234567890}]}`,
		"{apikey}":          `"ip": "::1", "apikey": "k1"`,
	} {
		h := newAPI(t, fmt.Sprintf(full, key))
		body := `{"method": "GET", "path": "/a?page=2", ` + body + `}`
		other := `{"method": "GET", "path": "/a?page=3", "ip": "198.51.100.1", "jwt": {"sub": "other"}}`
		for i, want := range []bool{true, false} {
			got := decide(t, h, body)
			wantSchema(t, "Decision", got.body)
			if d := read[decision](t, got.body); d.Allowed != want {
				t.Errorf("%s, request %d: %s", key, i, got.body)
			}
		}
		if d := read[decision](t, decide(t, h, other).body); !d.Allowed {
			t.Errorf("%s: another request is denied", key)
		}
	}
}

// The places of repeated names are long in deep bodies, and cost nothing unless
// one is repeated.
func TestDeepBody(t *testing.T) {
	h := newAPI(t, exampleRules(t))
	body := `{"` + strings.Repeat("a", 40_000) + `": ` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := send(t, h, "POST", "/v1/decisions", body, "Content-Type: application/json")
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; got.StatusCode != 400 || used > 20 {
		t.Errorf("status %d, and %d MiB allocated", got.StatusCode, used)
	}
}

func TestReasons(t *testing.T) {
	const document = `
deny: [{cidrs: [192.0.2.0/24]}]
skip: [{path: /health}]
unmatched: deny
rules:
  - {name: items, when: {route: "/v1/**"}, key: "{ip}", limits: [{name: first, capacity: 5, window: 1h}, {name: second, capacity: 4, window: 1h}]}
`
	for body, want := range map[string]decision{
		`"path": "/v1/a"`:                           {Allowed: true, Reason: "limited", Rule: "items.second", Remaining: 3},
		`"path": "/health"`:                         {Allowed: true, Reason: "skipped"},
		`"path": "/other"`:                          {Reason: "unmatched", Rule: "unmatched", RetryAfter: -1, Status: 403},
		`"path": "//a"`:                             {Reason: "ambiguous", Rule: "ambiguous_paths", RetryAfter: -1, Status: 400},
		`"path": "/v1/a#b"`:                         {Reason: "ambiguous", Rule: "ambiguous_paths", RetryAfter: -1, Status: 400},
		`"path": "/v1/a", "ip": "192.0.2.1"`:        {Reason: "banned", Rule: "deny", RetryAfter: -1, Status: 403},
		`"path": "/v1/b", "rejected": true`:         {Reason: "unauthorized", RetryAfter: -1, Status: 401},
		`"path": "http://example.com/health?a=b#c"`: {Allowed: true, Reason: "skipped"},
	} {
		if !strings.Contains(body, `"ip"`) {
			body += `, "ip": "198.51.100.1"`
		}
		text := decide(t, newAPI(t, document), `{"method": "GET", `+body+`}`).body
		wantSchema(t, "Decision", text)
		got := read[decision](t, text)
		got.Headers, got.Body = nil, ""
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

// The document's own answer to a denial, and the turn in a leaky bucket.
func TestAnswers(t *testing.T) {
	h := newAPI(t, `
headers: legacy
denied: {status: 503, content_type: text/plain, body: "{rule} is full"}
rules:
  - {name: pace, key: "{ip}", limits: [{capacity: 1, window: 60s, algorithm: leaky_bucket, queue: 2}]}
`)
	const body = `{"method": "GET", "path": "/", "ip": "::1"}`
	decide(t, h, body)
	if d := read[decision](t, decide(t, h, body).body); !d.Allowed || d.Delay != 60 {
		t.Errorf("%+v, want an allowed request that waits for 60 s", d)
	}
	d := read[decision](t, decide(t, h, body).body)
	if d.Status != 503 || d.Body != "pace is full" || d.Headers["Content-Type"] != "text/plain" || d.Headers["X-RateLimit-Limit"] == "" || d.Headers["RateLimit"] != "" {
		t.Errorf("%+v", d)
	}
}

// failing decides nothing.
type failing struct{ err error }

func (failing) Authenticate(context.Context, *request.Request) error { return nil }

func (failing) Finish(context.Context, *engine.Decision, *engine.Outcome) {}

func (f failing) DecideRequest(context.Context, *request.Request) (*engine.Decision, error) {
	return nil, f.err
}

func TestNoDecision(t *testing.T) {
	h := decideapi.New(newCalls(failing{errors.New("secret detail")}, nil, nil, quiet), "")
	for _, got := range []answer{
		decide(t, h, `{"method": "GET", "path": "/", "ip": "::1"}`),
		send(t, h, "GET", "/v1/forward-auth", "", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: ::1"),
		send(t, h, "GET", "/v1/auth-request", "", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /", "X-Forwarded-For: ::1"),
		send(t, h, "GET", "/v1/ext-authz/", "", "X-Forwarded-For: ::1"),
		decide(t, newAPI(t, "rules: [{name: secret, key: '{graphql.name}', limit: 9/minute}]"), `{"method": "GET", "path": "/", "ip": "::1"}`),
	} {
		if got.StatusCode != 503 || got.Header.Get("Retry-After") != "1" || strings.Contains(got.body, "secret") {
			t.Errorf("status %d, %v, %s", got.StatusCode, got.Header, got.body)
		}
		wantSchema(t, "Problem", got.body)
	}
}
