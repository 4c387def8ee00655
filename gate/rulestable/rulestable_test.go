package rulestable_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/gate/rulestable"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/limithttp"
)

// site is a gate by a table, at a time that stands until it is moved.
type site struct {
	t     *testing.T
	table *ruletable.Table
	now   time.Time
	log   bytes.Buffer
	gate  *gate.Gate
}

var note = ruletable.Note{Who: "ada", Why: "a test", When: time.Unix(1_700_000_000, 0)}

func newSite(t *testing.T, client *dynamo.Client, table string, options ...rulestable.Option) *site {
	s := &site{t: t, table: ruletable.New(client, table), now: time.Unix(1_700_000_040, 0)}
	g, err := gate.New(rulestable.Open(client.Client, table, options...),
		slidegate.WithClock(func() time.Time { return s.now }), slidegate.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	s.gate = g
	return s
}

func (s *site) publish(previous, capacity int64) {
	s.t.Helper()
	document := &ruledoc.Document{Authentication: &ruledoc.Authentication{APIKey: &ruledoc.KeySource{}}, Rules: []ruledoc.Rule{{
		Name: "api", Key: "ip:{ip}", Overrides: &ruledoc.OverrideKeys{OwnKey: true}, Limits: []ruledoc.Limit{{Capacity: capacity, Window: "1h"}},
	}}}
	if _, err := s.table.Publish(s.t.Context(), ruletable.Version{Document: document, Note: note}, previous); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) decide() (*gate.Decision, error) {
	return s.gate.Decide(s.t.Context(), &gate.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")})
}

// want lets ten seconds pass, and decides until the rule allows so many units: a
// slow refresh goes on beside the request that starts it.
func (s *site) want(capacity int64) {
	s.t.Helper()
	s.now = s.now.Add(10 * time.Second)
	var d *gate.Decision
	var err error
	for range 100 {
		if d, err = s.decide(); err == nil && d.Limit == capacity {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("decided %+v, %v; want %d units; logged %s", d, err, capacity, &s.log)
}

// TestPublish: a gate follows the table from nothing to its second version, and
// applies an override.
func TestPublish(t *testing.T) {
	client := dynamotest.Connect(t)
	s := newSite(t, client, dynamotest.Create(t, client, ruletable.Description(dynamotest.Name())))
	if d, err := s.decide(); err != nil || !d.Allowed || !d.Degraded || d.Rule != "" {
		t.Errorf("without rules: %+v, %v", d, err)
	}
	if !strings.Contains(s.log.String(), "every request is allowed until rules are published") {
		t.Errorf("logged %s", &s.log)
	}
	s.publish(0, 5)
	s.want(5)
	if d, err := s.decide(); err != nil || d.Degraded || d.Rule != "api" || d.Key != "ip:203.0.113.9" {
		t.Errorf("with rules: %+v, %v", d, err)
	}
	s.publish(1, 1000)
	s.want(1000)
	if n := strings.Count(s.log.String(), "authentication in the rules has no effect"); n != 2 {
		t.Errorf("%d warnings of authentication for two versions", n)
	}
	table, by := rulestable.Open(client.Client, s.table.Name()), rulestable.Note{Who: "billing", Why: "invoice 83"}
	set := rulestable.Override{Capacity: map[string]int64{"": 2000}, Note: by}
	if err := table.SetOverride(t.Context(), "api", "ip:203.0.113.9", set); err != nil {
		t.Fatal(err)
	}
	s.want(2000)
	if err := table.DeleteOverride(t.Context(), "api", "ip:203.0.113.9", by); err != nil {
		t.Fatal(err)
	}
	s.want(1000)
}

// TestExample runs the example on a real engine, and compares its output.
func TestExample(t *testing.T) {
	client := dynamotest.Connect(t)
	table = dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	document := &ruledoc.Document{Rules: []ruledoc.Rule{{
		Name: "per-day", Key: "tenant:{jwt.tenant}", Overrides: &ruledoc.OverrideKeys{OwnKey: true}, Limits: []ruledoc.Limit{{Capacity: 1000, Window: "24h"}},
	}}}
	if _, err := ruletable.New(client, table).Publish(t.Context(), ruletable.Version{Document: document, Note: note}, 0); err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	ExampleTable_SetOverride()
	os.Stdout = stdout
	got, err := os.ReadFile(file.Name())
	if want := "200 20000 a day until 2199-01-01 by billing\n200 as the rules say\n"; string(got) != want || err != nil {
		t.Errorf("printed %q, error %v, want %q", got, err, want)
	}
}

// TestUnreadable: a gate whose table cannot be read decides nothing, or by the
// fallback.
func TestUnreadable(t *testing.T) {
	client, name := dynamotest.Connect(t), dynamotest.Name()
	fallback, err := rulesfile.Parse("rules.yaml", "rules: [{name: copy, key: 'ip:{ip}', limit: 7/minute}]")
	if err != nil {
		t.Fatal(err)
	}
	s, careful := newSite(t, client, name), newSite(t, client, name, rulestable.WithFallback(fallback))
	if d, err := s.decide(); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("decided %+v, %v", d, err)
	}
	w := httptest.NewRecorder()
	limithttp.GateMiddleware(s.gate)(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if body, _ := io.ReadAll(w.Body); w.Code != http.StatusServiceUnavailable || !strings.Contains(string(body), "temporary-reduced-capacity") {
		t.Errorf("status %d, body %s", w.Code, body)
	}
	careful.want(7)
	dynamotest.Create(t, client, ruletable.Description(name))
	s.publish(0, 5)
	s.want(5)
	careful.want(5)
}

func TestErrorPolicy(t *testing.T) {
	client := dynamotest.Connect(t).Client
	_, err := gate.New(rulestable.Open(client, "rules"), slidegate.FailOpen())
	if err == nil || err.Error() != "slidegate: rulestable: the ErrorPolicy has no effect, because published rules state their own: write on_error into them" {
		t.Errorf("got %v", err)
	}
}
