package decideapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/internal/decide/engine"
)

const (
	aGET  = "X-Forwarded-Method: GET"
	aPOST = "X-Forwarded-Method: POST"
	root  = "X-Forwarded-Uri: /"
	items = "X-Forwarded-Uri: /v1/items?page=2"
	from1 = "X-Forwarded-For: 203.0.113.1"
)

// A rule with a limit of 1 denies the second of two requests if they have the
// same key.
func TestForwarded(t *testing.T) {
	const aRule = `, limit: 1/hour}]`
	for name, test := range map[string]struct {
		rules         string
		first, second []string
		same          bool
	}{
		"the last address counts": {`rules: [{name: a, key: "{ip}"` + aRule,
			[]string{aGET, root, "X-Forwarded-For: 192.0.2.1, 203.0.113.1"}, []string{aGET, root, "X-Forwarded-For: 192.0.2.2,203.0.113.1"}, true},
		"also of several fields": {`rules: [{name: a, key: "{ip}"` + aRule,
			[]string{aGET, root, "X-Forwarded-For: 203.0.113.1", "X-Forwarded-For: 192.0.2.1"}, []string{aGET, root, "X-Forwarded-For: 192.0.2.1"}, true},
		"another port": {`rules: [{name: a, key: "{ip}"` + aRule,
			[]string{aGET, root, "X-Forwarded-For: 203.0.113.1:50001"}, []string{aGET, root, "X-Forwarded-For: 203.0.113.1:50002"}, true},
		"other addresses": {`rules: [{name: a, key: "{ip}"` + aRule,
			[]string{aGET, root, from1}, []string{aGET, root, "X-Forwarded-For: 203.0.113.1, 192.0.2.1"}, false},
		"a proxy before the proxy": {`{client_ip: {trusted_hops: 1}, rules: [{name: a, key: "{ip}"` + aRule + `}`,
			[]string{aGET, root, "X-Forwarded-For: 198.51.100.7, 192.0.2.1, 203.0.113.1"}, []string{aGET, root, "X-Forwarded-For: 192.0.2.1, 203.0.113.2"}, true},
		"another method": {`rules: [{name: a, when: {methods: [POST]}, key: "{ip}"` + aRule,
			[]string{aPOST, root, from1}, []string{aGET, root, from1}, false},
		"the path without the query": {`rules: [{name: a, when: {path: /v1/items}, key: "{ip}"` + aRule,
			[]string{aGET, items, from1}, []string{aGET, items, from1}, true},
		"the query": {`rules: [{name: a, key: "{query.page}"` + aRule,
			[]string{aGET, items, from1}, []string{aGET, "X-Forwarded-Uri: /v1/items?page=3", from1}, false},
		"the host": {`rules: [{name: a, key: "{header.host}"` + aRule,
			[]string{aGET, root, from1, "X-Forwarded-Host: a.example"}, []string{aGET, root, from1, "X-Forwarded-Host: b.example"}, false},
		"fields that the proxy adds": {`rules: [{name: a, key: "{header.x-forwarded-method}|{header.x-forwarded-uri}"` + aRule,
			[]string{aGET, root, from1}, []string{aPOST, items, from1}, true},
		"a target without a path": {`rules: [{name: a, when: {methods: [OPTIONS]}, key: "{ip}"` + aRule,
			[]string{"X-Forwarded-Method: OPTIONS", "X-Forwarded-Uri: *", from1}, []string{"X-Forwarded-Method: OPTIONS", "X-Forwarded-Uri: *", from1}, true},
		"a field of the client": {`rules: [{name: a, key: "{header.x-tenant}"` + aRule,
			[]string{aGET, root, from1, "X-Tenant: a"}, []string{aGET, root, from1, "x-tenant: a"}, true},
	} {
		h := newAPI(t, test.rules)
		if got := send(t, h, "GET", "/v1/forward-auth", "", test.first...); got.StatusCode != 200 || got.body != "" {
			t.Errorf("%s: status %d, %s", name, got.StatusCode, got.body)
		}
		if got := send(t, h, "GET", "/v1/forward-auth", "", test.second...); (got.StatusCode == 429) != test.same {
			t.Errorf("%s: the second request has status %d", name, got.StatusCode)
		}
	}
}

// A proxy that does not describe a request gets an error, and nothing is charged.
func TestNotDescribed(t *testing.T) {
	h := newAPI(t, exampleRules(t))
	const method, uri, address = "send X-Forwarded-Method, the method of its client's request, once", "send X-Forwarded-Uri, the target",
		"end X-Forwarded-For by the address of its client"
	for _, test := range []struct {
		want   string
		fields []string
	}{
		{method, []string{root, from1}},
		{method, []string{"X-Forwarded-Method: A B", root, from1}},
		{method, []string{aGET, aPOST, root, from1}},
		{uri, []string{aGET, from1}},
		{uri, []string{aGET, root, items, from1}},
		{address, []string{aGET, root}},
		{address, []string{aGET, root, "X-Forwarded-For: 203.0.113.1, unknown"}},
		{address, []string{aGET, root, "X-Forwarded-For: 203.0.113.1:http"}},
	} {
		for _, endpoint := range []string{"/v1/forward-auth", "/v1/auth-request"} {
			got := send(t, h, "GET", endpoint, "", test.fields...)
			if got.StatusCode != 500 || !strings.Contains(read[struct{ Detail string }](t, got.body).Detail, test.want) {
				t.Errorf("%v: status %d, %s, want %q", test.fields, got.StatusCode, got.body, test.want)
			}
			wantSchema(t, "Problem", got.body)
		}
	}
	for range 3 {
		if got := send(t, h, "GET", "/v1/forward-auth", "", aGET, root, from1); got.StatusCode != 200 {
			t.Errorf("status %d: the requests above were charged", got.StatusCode)
		}
	}
}

// Each proxy gets the denial in the form that it can pass on.
func TestDenied(t *testing.T) {
	const body = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
		`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["writes"]}`
	for endpoint, test := range map[string]struct {
		method string
		fields []string
		status int
	}{
		"/v1/forward-auth":            {"GET", []string{aPOST, items, from1}, 429},
		"/v1/auth-request":            {"GET", []string{aPOST, items, from1}, 403},
		"/v1/ext-authz/v1/items?page": {"POST", []string{from1}, 429},
	} {
		h := newAPI(t, exampleRules(t))
		allowed := send(t, h, test.method, endpoint, "", test.fields...)
		if allowed.StatusCode != 200 || allowed.body != "" || fieldOf(allowed, "RateLimit") == "" || fieldOf(allowed, "Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, %v", endpoint, allowed.StatusCode, allowed.Header)
		}
		denied := send(t, h, test.method, endpoint, "", test.fields...)
		for name, want := range map[string]string{
			"RateLimit": `"writes";r=0;t=61`, "RateLimit-Policy": `"writes";q=1;w=60`, "Retry-After": "61", "X-RateLimit-Retry-After": "61",
			"Access-Control-Allow-Origin": "*",
		} {
			if got := fieldOf(denied, name); got != want {
				t.Errorf("%s: %s is %q, want %q", endpoint, name, got, want)
			}
		}
		got := denied.body
		if test.status == 403 {
			got = denied.Header.Get("Slidegate-Body") + "\n"
			if status := denied.Header.Get("Slidegate-Status"); status != "429" {
				t.Errorf("%s: Slidegate-Status is %q", endpoint, status)
			}
		} else {
			wantSchema(t, "Denial", got)
		}
		if denied.StatusCode != test.status || got != body+"\n" {
			t.Errorf("%s: status %d, %s", endpoint, denied.StatusCode, got)
		}
	}
}

// The answer of a rule is in the schema too.
func TestDeniedByRule(t *testing.T) {
	h := newAPI(t, `rules: [{name: a, key: all, limit: 1/hour, denied: {status: 402, type: /spent, title: Spent, detail: "{limit} an hour"}}]`)
	send(t, h, "GET", "/v1/forward-auth", "", aGET, root, from1)
	got := send(t, h, "GET", "/v1/forward-auth", "", aGET, root, from1)
	wantSchema(t, "Denial", got.body)
	if want := `{"type":"/spent","title":"Spent","status":402,"detail":"1 an hour","violated-policies":["a"]}` + "\n"; got.StatusCode != 402 || got.body != want {
		t.Errorf("status %d, %s, want %s", got.StatusCode, got.body, want)
	}
}

// Answers to bans and to invalid credentials have problems of their own, which the
// document states.
func TestForbidden(t *testing.T) {
	paths := read[document](t, readDocument(t)).Paths
	for endpoint, path := range map[string]string{"/v1/forward-auth": "/v1/forward-auth", "/v1/ext-authz/": "/v1/ext-authz/{path}"} {
		banned := send(t, newAPI(t, "{deny: [{cidrs: [203.0.113.0/24]}], rules: []}"), "GET", endpoint, "", aGET, root, from1)
		unauthorized := send(t, decideapi.New(newCalls(failing{engine.ErrUnauthorized}, nil, nil, quiet), ""), "GET", endpoint, "", aGET, root, from1)
		for problem, got := range map[string]answer{"blocked": banned, "unauthorized": unauthorized} {
			wantSchema(t, "Denial", got.body)
			_, stated := paths[path]["get"].Responses[strconv.Itoa(got.StatusCode)]
			if !stated || !strings.Contains(got.body, "problems.md#"+problem) || (got.StatusCode == 401) != (fieldOf(got, "WWW-Authenticate") != "") {
				t.Errorf("%s, %s: status %d, %v, %s", endpoint, problem, got.StatusCode, got.Header, got.body)
			}
		}
	}
}

// fieldOf returns the values of a field, whose name is in the case of its
// specification.
func fieldOf(a answer, name string) string { return strings.Join(a.Header[name], "|") }

const paced = `rules: [{name: pace, key: "{ip}", limits: [{capacity: 10, window: 60s, algorithm: leaky_bucket, queue: 4}]}]`

// A request waits for its turn. One whose turn is more than 10 s away is denied.
func TestTurns(t *testing.T) {
	h := newAPI(t, paced)
	for i, want := range []struct {
		status int
		waited time.Duration
	}{{200, 0}, {200, 6 * time.Second}, {429, 0}} {
		synctest.Test(t, func(t *testing.T) {
			before := time.Now()
			got := send(t, h, "GET", "/v1/forward-auth", "", aGET, root, from1)
			if waited := time.Since(before); got.StatusCode != want.status || waited != want.waited {
				t.Errorf("request %d: status %d after %v, want %+v", i, got.StatusCode, waited, want)
			}
			if i == 2 && got.Header.Get("Retry-After") != "12" {
				t.Errorf("Retry-After %q", got.Header.Get("Retry-After"))
			}
		})
	}
}

// A proxy that hangs up while a request waits gets no answer.
func TestHangUp(t *testing.T) {
	h := newAPI(t, paced)
	send(t, h, "GET", "/v1/forward-auth", "", aGET, root, from1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		request := httptest.NewRequestWithContext(ctx, "GET", "/v1/forward-auth", nil)
		request.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Uri": {"/"}, "X-Forwarded-For": {"203.0.113.1"}}
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("recovered %v", err)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), request)
		t.Error("answered")
	})
}

// Envoy's paths are the client's: they are neither cleaned nor redirected.
func TestExtAuthz(t *testing.T) {
	h := newAPI(t, exampleRules(t))
	for target, want := range map[string]int{
		"/v1/ext-authz/": 200, "/v1/ext-authz/../decisions": 400, "/v1/ext-authz//a": 400, "/v1/ext-authz": 404, "/v1/ext-authzz": 404,
	} {
		if got := send(t, h, "POST", target, "", from1); got.StatusCode != want {
			t.Errorf("%s: status %d, want %d", target, got.StatusCode, want)
		}
	}
}
