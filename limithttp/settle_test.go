package limithttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	requests "github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limittest"
)

const receiptSecret = "a secret of 16 or more"

// authorizer decides in front of a backend, and shares a store with it.
type authorizer struct {
	*testing.T
	engine *engine.Engine
	store  slidegate.Store
	clock  *limittest.Clock
	charge limit.Charge
}

func newAuthorizer(t *testing.T, store slidegate.Store) *authorizer {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(`
rules:
  - {name: chat, key: all, refund_on: 5xx, limits: [{capacity: 400, window: 60s, cost: {from: header.x-tokens, min: 1, max: 40, settle: true}}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store.Driver()})
	return &authorizer{t, e, store, limittest.NewClock(moment), limit.Charge{}}
}

// receipt charges a request of 40 units, and returns its receipt.
func (a *authorizer) receipt() string {
	a.Helper()
	d, err := a.engine.Decide(a.Context(), a.clock.Now(), &requests.Request{Method: "POST", Path: "/"})
	if err != nil || !d.Allowed {
		a.Fatalf("%+v, error %v", d, err)
	}
	a.charge = d.Verdicts[0].Charge
	keys, err := receipt.ParseKeys(receiptSecret)
	if err != nil {
		a.Fatal(err)
	}
	return receipt.NewIssuer(keys, slog.New(slog.DiscardHandler)).Issue(a.clock.Now(), d)
}

// used returns the units of the counter.
func (a *authorizer) used() int64 {
	a.Helper()
	var v limit.Verdict
	if err := a.store.Driver().Peek(a.Context(), a.clock.Now(), &a.charge, &v); err != nil {
		a.Fatal(err)
	}
	return 400 - v.Remaining
}

var refused = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })

// TestSettleMiddleware answers a request of 40 units in several ways.
func TestSettleMiddleware(t *testing.T) {
	for name, test := range map[string]struct {
		header  func(receipt string) []string
		handler http.HandlerFunc
		after   time.Duration
		used    int64
		logged  string
	}{
		"a cost": {nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Slidegate-Cost", "chat=7") }, time.Second, 7, ""},
		"a cost as a trailer": {nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "x")
			w.Header().Set(http.TrailerPrefix+"Slidegate-Cost", "chat=50")
		}, time.Second, 50, ""},
		"a refund":                {nil, refused, time.Second, 0, ""},
		"no cost":                 {nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, time.Second, 40, ""},
		"a misname":               {nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Slidegate-Cost", "chat.tokens=7") }, time.Second, 40, "ignored=[chat.tokens] limits=[chat]"},
		"no number":               {nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Slidegate-Cost", "chat=x") }, time.Second, 40, "malformed"},
		"unsigned":                {func(text string) []string { return []string{strings.Split(text, ".")[0]} }, refused, time.Second, 40, "no valid signature"},
		"forged":                  {func(text string) []string { return []string{"B" + text[1:]} }, refused, time.Second, 40, "no valid signature"},
		"expired":                 {nil, refused, 16 * time.Minute, 0, "expired"}, // its window is over
		"behind a forged one":     {func(text string) []string { return []string{"forged", text} }, refused, time.Second, 0, ""},
		"joined to a forged one":  {func(text string) []string { return []string{"forged, " + text} }, refused, time.Second, 0, ""},
		"behind many forged ones": {func(text string) []string { return []string{"1", "2", "3", "4", text} }, refused, time.Second, 40, "no valid signature"},
		"empty":                   {func(string) []string { return []string{""} }, refused, time.Second, 40, "a request has no receipt"},
		"none":                    {func(string) []string { return nil }, refused, time.Second, 40, "a request has no receipt"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthorizer(t, slidegate.NewMemory(0))
			var log bytes.Buffer
			settle := limithttp.SettleMiddleware(a.store, receiptSecret, slidegate.WithClock(a.clock.Now),
				slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			sent := httptest.NewRequest("POST", "/", nil)
			text := a.receipt()
			sent.Header["Slidegate-Receipt"] = []string{text}
			if test.header != nil {
				sent.Header["Slidegate-Receipt"] = test.header(text)
			}
			a.clock.Advance(test.after)
			w := httptest.NewRecorder()
			settle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(r.Header.Values("Slidegate-Receipt")) > 0 {
					t.Error("the handler sees the receipt")
				}
				test.handler(w, r)
			})).ServeHTTP(w, sent)
			answer := w.Result()
			if answer.Header.Get("Slidegate-Cost")+answer.Trailer.Get("Slidegate-Cost") != "" {
				t.Error("the client sees the cost")
			}
			if got := a.used(); got != test.used {
				t.Errorf("%d units used, want %d", got, test.used)
			}
			if logged := log.String(); !strings.Contains(logged, test.logged) || (test.logged == "") != (logged == "") {
				t.Errorf("logged %q, want %q", logged, test.logged)
			}
		})
	}
}

// TestSettleMiddlewareDenies: whatever says that the request is denied, the
// handler does not see it.
func TestSettleMiddlewareDenies(t *testing.T) {
	settle := limithttp.SettleMiddleware(slidegate.NewMemory(0), receiptSecret)
	for _, sent := range [][]string{{"denied:"}, {"denied:e30.AAAA"}, {"forged", "", "1", "2", "3", "denied:x"}, {"forged, denied:x"}} {
		r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
		r.Header["Slidegate-Receipt"] = sent
		settle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%q reaches the handler", sent) })).ServeHTTP(w, r)
		if w.Code != 429 || !strings.Contains(w.Body.String(), "quota-exceeded") || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%q: %d %v %s", sent, w.Code, w.Header(), w.Body)
		}
	}
}

// TestSettleMiddlewareUnmapped: a request past the mapping of the gateway goes on,
// and the log says so once. A charge that no outcome corrects has a receipt too.
func TestSettleMiddlewareUnmapped(t *testing.T) {
	plain, err := rulefile.Parse("rules.yaml", []byte("rules: [{name: plain, key: all, limit: 9/minute}]"))
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthorizer(t, slidegate.NewMemory(0))
	a.engine = app.NewEngine(engine.Options{Rules: engine.Fixed{Set: plain}, Store: a.store.Driver()})
	for field, lines := range map[string]int{a.receipt(): 0, "": 1} {
		var log strings.Builder
		settle := limithttp.SettleMiddleware(a.store, receiptSecret, slidegate.WithClock(a.clock.Now), slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		handled := 0
		for range 2 {
			r := httptest.NewRequest("GET", "/", http.NoBody)
			if field != "" {
				r.Header.Set("Slidegate-Receipt", field)
			}
			settle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handled++ })).ServeHTTP(httptest.NewRecorder(), r)
		}
		if got := log.String(); handled != 2 || strings.Count(got, "a request has no receipt") != lines || strings.Count(got, "\n") != lines {
			t.Errorf("receipt %q: handled %d, logged %q", field, handled, got)
		}
	}
}

// TestSettleMiddlewareOnce: a request that comes twice is settled once, and an
// answer that breaks off costs the most.
func TestSettleMiddlewareOnce(t *testing.T) {
	a := newAuthorizer(t, slidegate.NewMemory(0))
	settle := limithttp.SettleMiddleware(a.store, receiptSecret, slidegate.WithClock(a.clock.Now), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
	send := func(text string, handler http.HandlerFunc) {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Slidegate-Receipt", text)
		defer func() { _ = recover() }()
		settle(handler).ServeHTTP(httptest.NewRecorder(), r)
	}
	a.receipt() // of another request, whose units must stay
	a.clock.Advance(time.Millisecond)
	text := a.receipt()
	for range 3 {
		send(text, refused)
	}
	if got := a.used(); got != 40 {
		t.Errorf("%d units used, want 40", got)
	}
	a.clock.Advance(time.Millisecond)
	send(a.receipt(), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := a.used(); got != 80 {
		t.Errorf("%d units used, want 80", got)
	}
}

// TestSettleMiddlewareFails: a correction that fails is logged and observed, and
// the answer stays as it is.
func TestSettleMiddlewareFails(t *testing.T) {
	a := newAuthorizer(t, slidegate.NewMemory(0))
	var log bytes.Buffer
	var seen []slidegate.Event
	settle := limithttp.SettleMiddleware(limittest.NewStore(limittest.Fail(errors.New("no answer"))), receiptSecret, slidegate.WithClock(a.clock.Now),
		slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		slidegate.WithObserver(func(_ context.Context, e slidegate.Event) { seen = append(seen, e) }))
	r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
	r.Header.Set("Slidegate-Receipt", a.receipt())
	settle(refused).ServeHTTP(w, r)
	if w.Code != 503 || len(seen) != 1 || seen[0].Action != slidegate.ActionSettle || seen[0].Rule != "chat" || !strings.Contains(log.String(), "rule=chat") {
		t.Errorf("status %d, observed %+v, logged %s", w.Code, seen, log.String())
	}
}

// TestHangUpRefundsNothing: a handler whose client has hung up often answers 500,
// because its own calls are cancelled. Clients must not save by that.
func TestHangUpRefundsNothing(t *testing.T) {
	a := newAuthorizer(t, slidegate.NewMemory(0))
	lim, err := slidegate.New(slidegate.FixedWindow(1, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	settle := limithttp.SettleMiddleware(a.store, receiptSecret, slidegate.WithClock(a.clock.Now))
	limited := limithttp.Middleware(lim, limithttp.RefundOn("5xx"))
	send := func(middleware func(http.Handler) http.Handler, within time.Duration) int {
		ctx, hangUp := context.WithTimeout(t.Context(), within)
		defer hangUp()
		r, w := httptest.NewRequest("POST", "/", nil).WithContext(ctx), httptest.NewRecorder()
		r.Header.Set("Slidegate-Receipt", a.receipt())
		middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hangUp() // which changes nothing after the deadline
			http.Error(w, r.Context().Err().Error(), http.StatusInternalServerError)
		})).ServeHTTP(w, r)
		a.clock.Advance(time.Millisecond)
		return w.Code
	}
	if send(settle, 0); a.used() != 0 {
		t.Errorf("%d units used after the server's own deadline, want 0", a.used())
	}
	if send(settle, time.Hour); a.used() != 40 {
		t.Errorf("%d units used after the client has hung up, want 40", a.used())
	}
	if first, second := send(limited, time.Hour), send(limited, time.Hour); first != 500 || second != 429 {
		t.Errorf("the middleware answers %d and %d, want 500 and 429", first, second)
	}
}
