package apigw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
	"github.com/slidegate/slidegate/internal/test/golden"
)

const document = `
unmatched: deny
deny: [{cidrs: [198.51.100.0/24]}]
skip: [{methods: [GET], route: /health}]
rules:
  - name: per-user
    when: {route: /v1/items/**}
    key: "stage:{stage}|route:{route}|user:{header.x-user}|page:{query.page}"
    limits: [{capacity: 2, window: 60s}]
  - name: chat
    when: {methods: [POST], route: /v1/chat}
    key: "ip:{ip}"
    limits:
      - {name: requests, capacity: 10, window: 10s}
      - {name: units, capacity: 100, window: 1h, cost: 40}
  - name: everybody
    when: {route: /v1/**}
    key: "stage:{stage}"
    limits: [{algorithm: fixed_window, capacity: 1000, window: 60s}]
  - name: uploads
    when: {route: /uploads}
    key: "ip:{ip}"
    denied: {status: 402, type: "https://example.com/problems/uploads", title: No more uploads, detail: "{rule} has {limit}. Come back in {retryAfter} s."}
    limits:
      - {name: burst, algorithm: token_bucket, capacity: 10, window: 60s, burst: 20}
      - {name: even, algorithm: leaky_bucket, capacity: 3, window: 1s, queue: 6}
      - {name: month, algorithm: fixed_window, capacity: 50, window: 1mo, timezone: Europe/Berlin, anchor: 15}
`

// now is 3.25 s into a minute.
var now = time.Unix(1_792_231_503, 250_000_000)

// parse compiles a rules file.
func parse(t testing.TB, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func newAuthorizer(t testing.TB, store limit.Store) *apigw.Authorizer {
	t.Helper()
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: parse(t, document)}, Store: store})
	return apigw.NewAuthorizer(e, func() time.Time { return now })
}

// decide sends the event of a REST API.
func decide(t testing.TB, a *apigw.Authorizer, event []byte) (apigw.Response, error) {
	t.Helper()
	answer, err := a.Handle(t.Context(), event)
	r, _ := answer.(apigw.Response)
	return r, err
}

// TestGolden sends an event several times, and compares the JSON of the last
// answer with a file.
func TestGolden(t *testing.T) {
	for name, test := range map[string]struct {
		event string
		times int
	}{
		"allowed":        {"get", 1},
		"denied":         {"get", 3},
		"emulator":       {"emulator", 1},
		"banned":         {"banned", 1},
		"skipped":        {"skipped", 1},
		"unmatched":      {"unmatched", 1},
		"ambiguous":      {"ambiguous", 3},
		"several":        {"several", 2},
		"several-denied": {"several", 3},
		"buckets":        {"uploads", 1},
		"delayed":        {"uploads", 3},
		"buckets-denied": {"uploads", 7},
	} {
		t.Run(name, func(t *testing.T) {
			authorizer, ev := newAuthorizer(t, memory.New(0)), rawEvent(t, test.event)
			var answer apigw.Response
			for range test.times {
				answer, _ = decide(t, authorizer, ev)
			}
			compare(t, name, answer)
			checkContext(t, answer.Context.Map())
		})
	}
}

func compare(t *testing.T, name string, answer apigw.Response) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name+".golden.json"), indented(t, answer))
}

// indented returns the JSON of an answer.
func indented(t *testing.T, answer any) string {
	t.Helper()
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// checkContext checks that API Gateway takes a context: flat, only strings, and
// no character that a template would have to escape. Only values of headers may
// hold quotes, because they never stand in a JSON body.
func checkContext(t *testing.T, c map[string]any) {
	t.Helper()
	for name, value := range c {
		text, ok := value.(string)
		if !ok || text == "" {
			t.Errorf("%s is %#v: want a string that is not empty", name, value)
		}
		header := name == "rateLimit" || name == "rateLimitPolicy"
		body := name == "deniedBody" // which no template uses
		for _, r := range text {
			if r < ' ' && !body || r > '~' || r == '\\' || r == '"' && !header && !body {
				t.Errorf("%s holds %q", name, r)
			}
		}
	}
}

func TestDegraded(t *testing.T) {
	for _, policy := range []string{"allow", "deny", "local"} {
		set := parse(t, "rules: [{name: r, key: 'ip:{ip}', on_error: "+policy+", limits: [{capacity: 40, window: 60s}]}]")
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(fakestore.Fail(errors.New("no answer")))})
		answer, err := decide(t, apigw.NewAuthorizer(e, func() time.Time { return now }), rawEvent(t, "get"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "degraded-"+policy, answer)
	}
}

// TestResource: the resource of a policy is short, and holds nothing of the
// path.
func TestResource(t *testing.T) {
	const arn = "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/prod/GET/"
	ev := strings.Replace(string(rawEvent(t, "get")), arn, arn+strings.Repeat("x*/", 4000), 1)
	answer, err := decide(t, newAuthorizer(t, memory.New(0)), []byte(ev))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.PolicyDocument.Statement[0].Resource[0]; got != "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/prod/*" {
		t.Errorf("resource %s", got)
	}
}

const business = `
rules:
  - {name: hidden, when: {path: /hidden}, headers: "off", key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: shadow, mode: shadow, when: {path: /shadow}, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: real, when: {path: [/shadow, /raised]}, key: "ip:{ip}", overrides: true, limits: [{capacity: 2, window: 60s}]}
  - {name: lifted, when: {path: /lifted}, key: "ip:{ip}", overrides: true, limits: [{capacity: 1, window: 60s}]}
  - {name: barred, when: {path: /barred}, key: "ip:{ip}", overrides: true, limits: [{capacity: 1, window: 60s}]}
overrides:
  real: {"ip:198.51.100.1": {capacity: 5}}
  lifted: {"ip:203.0.113.9": {unlimited: true}}
  barred: {"ip:203.0.113.9": {deny: true, why: not for clients to read}}
`

// TestBusiness compares the contexts of decisions by shadow rules, rules with
// headers: off, and overrides. Each line is the last of several answers,
// without the values of the problem.
func TestBusiness(t *testing.T) {
	set := parse(t, business)
	for _, test := range []struct {
		path, ip string
		times    int
		want     string
	}{
		{"/hidden", "203.0.113.9", 1, "allowed=true degraded=false"},
		{"/hidden", "203.0.113.9", 2, "allowed=false degraded=false retryAfter=61 rule=undisclosed xRateLimitRetryAfter=61"},
		{"/shadow", "203.0.113.9", 2, `allowed=true degraded=false limit=2 rateLimit="real";r=0;t=61 ` +
			`rateLimitPolicy="real";q=2;w=60 remaining=0 reset=61 rule=real xRateLimitLimit=2 xRateLimitRemaining=0`},
		{"/raised", "198.51.100.1", 3, `allowed=true degraded=false limit=5 rateLimit="real";r=2;t=61 ` +
			`rateLimitPolicy="real";q=5;w=60 remaining=2 reset=61 rule=real xRateLimitLimit=5 xRateLimitRemaining=2`},
		{"/lifted", "203.0.113.9", 5, "allowed=true degraded=false"},
		{"/barred", "203.0.113.9", 1, "allowed=false degraded=false deniedStatus=403 rule=deny"},
	} {
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0)})
		authorizer := apigw.NewAuthorizer(e, func() time.Time { return now })
		ev := fmt.Appendf(nil, `{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:api/prod/GET%[1]s", "httpMethod": "GET", "path": %[1]q,
			"requestContext": {"identity": {"sourceIp": %[2]q}}}`, test.path, test.ip)
		var answer apigw.Response
		for range test.times {
			answer, _ = decide(t, authorizer, ev)
		}
		about := answer.Context.Map()
		var values []string
		for _, name := range slices.Sorted(maps.Keys(about)) {
			if !strings.HasPrefix(name, "problem") && name != "deniedBody" && name != "deniedContentType" {
				values = append(values, fmt.Sprint(name, "=", about[name]))
			}
		}
		if got := strings.Join(values, " "); got != test.want {
			t.Errorf("%s, %d times:\n%s\nwant\n%s", test.path, test.times, got, test.want)
		}
	}
}

// TestBothMaps: the kinds with two maps of header fields and of query parameters are
// read alike, whichever of the maps has a value.
func TestBothMaps(t *testing.T) {
	events := map[string]string{
		"REST":     `"resource": "/x", "path": "/x", "httpMethod": "GET", "requestContext": {"stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
		"HTTP 1.0": `"version": "1.0", "resource": "/x", "path": "/x", "httpMethod": "GET", "requestContext": {"stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
		"$connect": `"requestContext": {"routeKey": "$connect", "stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
	}
	for name, test := range map[string]struct{ headers, all, query, allQuery, want string }{
		"one value":                 {`{"X-User": "a"}`, `null`, `{"page": "1"}`, `null`, "a|1"},
		"all values":                {`null`, `{"x-user": ["a", "b"]}`, `null`, `{"page": ["1", "2"]}`, "a,b|1,2"},
		"both":                      {`{"X-User": "b"}`, `{"X-User": ["a", "b"]}`, `{"page": "2"}`, `{"page": ["1", "2"]}`, "a,b|1,2"},
		"both, in other case":       {`{"x-user": "c"}`, `{"X-User": ["a"]}`, `{"page": "3"}`, `{"page": ["1"]}`, "a|1"},
		"both, empty":               {`{}`, `{}`, `{}`, `{}`, "-|-"},
		"no list":                   {`{"X-User": "a"}`, `{"x-user": null, "y": ["z"]}`, `{"page": "1"}`, `{"page": null}`, "a|1"},
		"an empty list":             {`{"X-User": "a"}`, `{"X-User": [], "y": ["z"]}`, `{"page": "1"}`, `{"page": []}`, "a|1"},
		"an empty list beside both": {`{"x-user": "c", "Y": "y"}`, `{"X-User": ["a"], "Y": []}`, `{"page": "3", "y": ""}`, `{"page": ["1"], "y": []}`, "a|1"},
	} {
		for kind, event := range events {
			a, store := kindAuthorizer(t, `rules: [{name: r, key: "{header.x-user}|{query.page}", limits: [{capacity: 1, window: 60s}]}]`)
			_, err := a.Handle(t.Context(), []byte(`{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:a/s/GET/x", `+event+
				`, "headers": `+test.headers+`, "multiValueHeaders": `+test.all+
				`, "queryStringParameters": `+test.query+`, "multiValueQueryStringParameters": `+test.allQuery+`}`))
			want := "r|" + test.want + "|"
			if keys := keysOf(store); err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0], want) {
				t.Errorf("%s, %s: counted by %q, error %v; want %s", kind, name, keys, err, want)
			}
		}
	}
	for field, value := range map[string]string{"headers": `"a"`, "multiValueHeaders": `{"a": "b"}`, "queryStringParameters": `["a"]`, "multiValueQueryStringParameters": `"a"`} {
		for kind, event := range events {
			a, _ := kindAuthorizer(t, "rules: []")
			_, err := a.Handle(t.Context(), []byte(`{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:a/s/GET/x", `+event+`, "`+field+`": `+value+`}`))
			if err == nil || !strings.Contains(err.Error(), "another form than AWS documents") {
				t.Errorf("%s with %s %s: error %v", kind, field, value, err)
			}
		}
	}
}
