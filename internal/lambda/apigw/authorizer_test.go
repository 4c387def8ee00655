package apigw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
	set := parse(t, document)
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store})
	return apigw.NewAuthorizer(e, func() time.Time { return now })
}

func readEvent(t testing.TB, name string) (ev apigw.RequestEvent) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".event.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &ev); err != nil {
		t.Fatal(err)
	}
	return ev
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
			authorizer, ev := newAuthorizer(t, memory.New(0)), readEvent(t, test.event)
			var answer apigw.Response
			for range test.times {
				var err error
				if answer, _, err = authorizer.Decide(context.Background(), ev); err != nil {
					t.Fatal(err)
				}
			}
			compare(t, name, answer)
			checkContext(t, answer.Context.Map())
		})
	}
}

func compare(t *testing.T, name string, answer apigw.Response) {
	t.Helper()
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".golden.json")
	golden.Check(t, file, got.String())
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
		answer, _, err := apigw.NewAuthorizer(e, func() time.Time { return now }).Decide(context.Background(), readEvent(t, "get"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "degraded-"+policy, answer)
	}
}

// TestResource: the resource of a policy is short, and holds nothing of the
// path.
func TestResource(t *testing.T) {
	ev := readEvent(t, "get")
	ev.MethodArn = "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/prod/GET/" + strings.Repeat("x*/", 4000)
	answer, _, err := newAuthorizer(t, memory.New(0)).Decide(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.PolicyDocument.Statement[0].Resource[0]; got != "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/prod/*" {
		t.Errorf("resource %s", got)
	}
}

// FuzzEvent: every event causes an error or a policy, and the policy never
// allows a banned address.
func FuzzEvent(f *testing.F) {
	for _, name := range []string{"get", "banned", "several", "emulator", "skipped", "unmatched", "uploads"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".event.json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev apigw.RequestEvent
		if json.Unmarshal(data, &ev) != nil {
			return
		}
		answer, _, err := newAuthorizer(t, memory.New(0)).Decide(context.Background(), ev)
		if err != nil {
			return
		}
		checkContext(t, answer.Context.Map())
		if ev.RequestContext.Identity.SourceIP == "198.51.100.7" && answer.PolicyDocument.Statement[0].Effect != "Deny" {
			t.Error("a banned address was let through")
		}
	})
}
