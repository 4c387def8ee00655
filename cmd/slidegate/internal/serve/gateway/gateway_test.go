package gateway_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const document = `
ambiguous_paths: clean
deny: [{path: /banned}]
rules: [{name: per-user, key: "user:{header.x-user}", limits: [{capacity: 2, window: 10s}]}]
`

// now is half a second into a slot.
var now = time.Unix(1_700_000_040, 500_000_000)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func atNow() time.Time { return now }

// newDecider decides by a rules file, with a store in memory.
func newDecider(t testing.TB, document string, clock func() time.Time, log *slog.Logger) *engine.Decider {
	t.Helper()
	o := engine.Options{Rules: engine.Fixed{Set: parse(t, document)}, Store: memory.New(0), Observer: oplog.NewObserver(log)}
	return &engine.Decider{Engine: app.NewEngine(o), Now: clock}
}

// parse compiles a rules file.
func parse(t testing.TB, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err == nil {
		err = set.LoadSecrets(os.LookupEnv)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// get sends a request with a field, if one is given.
func get(t *testing.T, method, address string, field ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(field) == 2 {
		req.Header.Set(field[0], field[1])
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// TestDenialForBrowsers: a browser gets a page, and a program problem details.
func TestDenialForBrowsers(t *testing.T) {
	base := "http://" + serveRules(t, document)
	for i, want := range []string{"", "", "<p>Please come back in "} {
		response, body := get(t, "GET", base+"/v1/items/7", "Accept", "text/html,*/*;q=0.8")
		if page := response.Header.Get("Content-Type") == headers.PageType; page != (i == 2) || !strings.Contains(body, want) {
			t.Errorf("request %d: %d %s", i, response.StatusCode, body)
		}
	}
	if response, body := get(t, "GET", "http://"+serveRules(t, document)+"/v1/items/7?page=2"); body != `{"method":"GET","path":"/v1/items/7"}`+"\n" || response.Header.Get("RateLimit") == "" {
		t.Errorf("the echo is %s, %v", body, response.Header)
	}
	if response, body := get(t, "GET", base+"/v1/items/7"); !strings.Contains(body, "quota-exceeded") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

func TestProxy(t *testing.T) {
	f := serveBefore(t, document, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("RateLimit", `"forged";r=9;t=9`)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String())
	})
	response, body := get(t, "POST", "http://"+f.address+"/a%2Fb?c=d")
	if response.StatusCode != http.StatusTeapot || body != "POST /a%2Fb?c=d" {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
	if got := response.Header.Values("RateLimit"); len(got) != 1 || got[0] != `"per-user";r=1;t=11` {
		t.Errorf("RateLimit %q", got)
	}
}
