package usage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/fakestore"
	"github.com/slidegate/slidegate/internal/test/golden"
)

var start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// bench has rules, a store and a clock that the test moves.
type bench struct {
	*usage.Reporter
	store  *fakestore.Store
	now    time.Time
	engine *engine.Engine
}

func newBench(t testing.TB, document string) *bench {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{store: fakestore.New(nil), now: start}
	b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: b.store, Local: b.store})
	b.Reporter = usage.New(usage.Options{Rules: engine.Fixed{Set: set}, Store: b.store, Now: func() time.Time { return b.now }})
	return b
}

func (b *bench) reads() int { return b.store.Count(fakestore.Peek) }

// send charges a number of requests of a caller.
func (b *bench) send(t testing.TB, n int, of request.Request, path string) {
	t.Helper()
	for range n {
		req := of
		req.Path = path
		if _, err := b.engine.Decide(t.Context(), b.now, &req); err != nil {
			t.Fatal(err)
		}
	}
}

func from(ip string) request.Request {
	return request.Request{Method: "GET", Path: "/usage", IP: netip.MustParseAddr(ip), Headers: map[string][]string{}}
}

func with(r request.Request, change func(*request.Request)) request.Request {
	change(&r)
	return r
}

// callers ask in turn, in the same second.
var callers = []struct {
	name string
	request.Request
}{
	{"an address", from("192.0.2.1")},
	{"another address", from("192.0.2.2")},
	{"an address of a partner", from("198.51.100.7")},
	{"a neighbour in the same /64", from("2001:db8::2")},
	{"user ann", with(from("192.0.2.1"), func(r *request.Request) { r.Claims = map[string]any{"sub": "ann"} })},
	{"user ann of plan pro", with(from("192.0.2.1"), func(r *request.Request) { r.Claims = map[string]any{"sub": "ann", "plan": "pro"} })},
	{"user bob, unlimited by a plan", with(from("192.0.2.2"), func(r *request.Request) { r.Claims = map[string]any{"sub": "bob", "plan": "enterprise"} })},
	{"user eve, denied by an override", with(from("192.0.2.2"), func(r *request.Request) { r.Claims = map[string]any{"sub": "eve"} })},
	{"a token without a subject", with(from("192.0.2.2"), func(r *request.Request) { r.Claims = map[string]any{"tenant": "t1"} })},
	{"API key acme", with(from("192.0.2.2"), func(r *request.Request) { r.APIKey = "acme" })},
	{"hostile: ann's name in headers, query and path", with(from("192.0.2.2"), func(r *request.Request) {
		r.Headers = map[string][]string{
			"X-Forwarded-For": {"192.0.2.1"}, "X-User": {"ann"}, "Authorization": {"Bearer ann"}, "X-Api-Key": {"acme"}, "X-Tenant": {"t1"},
		}
		r.Query = map[string][]string{"user": {"ann"}, "ip": {"192.0.2.1"}}
		r.PathParams = map[string]string{"user": "ann"}
	})},
	{"banned", from("203.0.113.66")},
	{"invalid credentials", with(from("192.0.2.1"), func(r *request.Request) { r.Rejected = true })},
	{"credentials that nothing can verify now", with(from("192.0.2.1"), func(r *request.Request) { r.Unverified = true })},
	{"no address known", with(from("192.0.2.1"), func(r *request.Request) { r.IP = netip.Addr{} })},
}

// TestReports: the golden file has the rules and each caller's answer. What the
// callers have used is the same before and after.
func TestReports(t *testing.T) {
	document, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, string(document))
	ann := with(from("192.0.2.1"), func(r *request.Request) {
		r.Claims = map[string]any{"sub": "ann"}
		r.Headers = map[string][]string{"X-User": {"ann"}}
	})
	b.send(t, 3, ann, "/v1/items")
	b.send(t, 1, from("2001:db8::1"), "/v1/items")
	b.send(t, 2, with(from("192.0.2.9"), func(r *request.Request) { r.APIKey = "acme" }), "/v1/items")
	b.send(t, 1, with(from("192.0.2.9"), func(r *request.Request) { r.Claims = map[string]any{"iss": "x"} }), "/v1/items") // shares "user:" with all like it
	answers := func() string {
		var all strings.Builder
		for _, c := range callers {
			report, err := b.Of(t.Context(), &c.Request)
			fmt.Fprintf(&all, "-- %s --\n", c.name)
			if err != nil {
				fmt.Fprintf(&all, "error: %v (refused: %v)\n", err, errors.Is(err, usage.ErrRefused))
				continue
			}
			if report.Plan != "" {
				fmt.Fprintf(&all, "plan %s\n", report.Plan)
			}
			for _, rule := range report.Rules {
				text, _ := json.Marshal(rule)
				fmt.Fprintf(&all, "%s\n", text)
			}
		}
		return all.String()
	}
	first := answers()
	golden.Check(t, "testdata/reports.golden", first)
	reads := b.reads()
	if again := answers(); again != first || b.reads() != reads {
		t.Errorf("%d more reads within the second, want none; the answers:\n%s", b.reads()-reads, again)
	}
}

// TestPage: the answer in docs/usage.md is that of its rules to a caller after
// three requests.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/usage.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, rest, _ := strings.Cut(string(page), "\n```"+language+"\n")
		text, _, _ := strings.Cut(rest, "\n```")
		return text
	}
	b := newBench(t, block("yaml"))
	caller := with(from("192.0.2.1"), func(r *request.Request) {
		r.Headers = map[string][]string{"X-Forwarded-For": {"203.0.113.9, 192.0.2.1"}}
	})
	b.send(t, 3, caller, "/v1/items")
	report, err := b.Of(t.Context(), &caller)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(report)
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(block("json"))); err != nil || string(got) != want.String() {
		t.Errorf("got  %s\nwant %s, %v", got, want.String(), err)
	}
}

const perAddress = `rules: [{name: per-ip, key: "ip:{ip}", limit: 10/minute}]`

// used returns the numbers of the first limit, as "used remaining reset".
func used(t testing.TB, b *bench, req request.Request) string {
	t.Helper()
	report, err := b.Of(t.Context(), &req)
	if err != nil {
		return err.Error()
	}
	l := report.Rules[0].Limits[0]
	return fmt.Sprint(l.Used, " ", l.Remaining, " ", l.Reset)
}

// A counter is read once a second, also if the clock steps back.
func TestOnceASecond(t *testing.T) {
	b := newBench(t, perAddress)
	for _, step := range []struct {
		at    time.Duration
		send  int // requests before
		want  string
		reads int // so far
	}{
		{0, 1, "1 9 61", 1},
		{0, 2, "1 9 61", 1}, // from memory
		{999 * time.Millisecond, 0, "1 9 61", 1},
		{1000 * time.Millisecond, 0, "3 7 60", 2},
		{1900 * time.Millisecond, 1, "3 7 60", 2},
		{2100 * time.Millisecond, 0, "4 6 59.9", 3},
		{0, 0, "4 6 62", 4},
	} {
		b.now = start.Add(step.at)
		b.send(t, step.send, from("192.0.2.1"), "/")
		if got := used(t, b, from("192.0.2.1")); got != step.want || b.reads() != step.reads {
			t.Errorf("at %v: %s after %d reads, want %s after %d", step.at, got, b.reads(), step.want, step.reads)
		}
	}
}

// While the store is away there are no numbers, and a flood of callers does not
// reach it more than once a second for each counter.
func TestOutage(t *testing.T) {
	b := newBench(t, perAddress)
	b.store.Hook = fakestore.On(fakestore.Peek, fakestore.Fail(errors.New("away")))
	for range 3 {
		if got := used(t, b, from("192.0.2.1")); got != "rule per-ip: away" {
			t.Errorf("got %s", got)
		}
	}
	if b.reads() != 1 {
		t.Errorf("%d reads", b.reads())
	}
	b.store.Hook, b.now = nil, start.Add(time.Second)
	if got := used(t, b, from("192.0.2.1")); got != "0 10 0" {
		t.Errorf("after the outage: %s", got)
	}
}

// More callers than memory has room for are refused, until the second is over.
func TestTooManyCallers(t *testing.T) {
	b := newBench(t, perAddress)
	caller := func(i int) request.Request { return from(fmt.Sprintf("10.0.%d.%d", i/250, i%250)) }
	refused := 0
	for i := range 10_003 {
		if strings.Contains(used(t, b, caller(i)), "too many") {
			refused++
		}
	}
	if refused != 3 || used(t, b, caller(0)) != "0 10 0" {
		t.Errorf("%d were refused, want 3, and none who has asked before", refused)
	}
	if b.now = start.Add(time.Second); used(t, b, caller(10_002)) != "0 10 0" {
		t.Error("refused after the second is over")
	}
}

// Callers who ask at once share one read, also if the first of them hangs up.
func TestOneReadAtATime(t *testing.T) {
	b := newBench(t, perAddress)
	reading, gate := make(chan struct{}), make(chan struct{})
	b.store.Hook = func(c *fakestore.Call) error {
		close(reading)
		<-gate
		return c.Ctx.Err()
	}
	first, hangUp := context.WithCancel(t.Context())
	asked := make(chan error)
	ask := func(ctx context.Context) {
		req := from("192.0.2.1")
		_, err := b.Of(ctx, &req)
		asked <- err
	}
	go ask(first)
	<-reading
	go ask(t.Context())
	hangUp()
	close(gate)
	<-asked
	if err := <-asked; err != nil || b.reads() != 1 {
		t.Errorf("%v after %d reads", err, b.reads())
	}
}

// An override that cannot be read may change the limits: there are no numbers.
func TestOverrideUnreadable(t *testing.T) {
	b := newBench(t, `rules: [{name: per-ip, key: "ip:{ip}", limit: 10/minute, overrides: true, on_error: allow}]`)
	b.Overrides = unreadable{}
	if got := used(t, b, from("192.0.2.1")); got != "rule per-ip: unreadable" {
		t.Errorf("got %s", got)
	}
}

type unreadable struct{}

func (unreadable) Override(context.Context, time.Time, string, string) (*rules.Override, error) {
	return nil, errors.New("unreadable")
}

func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"/usage": true, "/v1/me/limits": true, "/.well-known/usage": true,
		"": false, "/": false, "usage": false, "/usage/": false, "/usage/*": false, "/{user}/usage": false, "//usage": false,
		"/a/../usage": false, "/us%61ge": false, "/usage?x": false, "/usage#x": false, "/us age": false, "/üsage": false, "/a/.": false,
	} {
		if err := usage.CheckPath(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestPlaces: of a limit in flight, callers learn the places in use and those left,
// how long each lasts, and no window.
func TestPlaces(t *testing.T) {
	b := newBench(t, "rules: [{name: exports, key: 'ip:{ip}', limit: {in_flight: 3, expires: 90s}}]")
	req := func() *request.Request { return &request.Request{IP: netip.MustParseAddr("203.0.113.9"), Path: "/"} }
	for range 2 {
		if d, err := b.engine.Decide(t.Context(), start, req()); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	report, err := b.Of(t.Context(), req())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(report.Rules[0].Limits)
	if want := `[{"capacity":3,"expires_s":90,"used":2,"remaining":1,"reset_s":93}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
