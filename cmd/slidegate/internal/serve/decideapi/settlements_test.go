package decideapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

const (
	chat = `
rules:
  - name: chat
    key: "{ip}"
    refund_on: 5xx
    limits:
      - {name: requests, capacity: 10, window: 1h}
      - {name: tokens, capacity: 9000, window: 1h, cost: {from: header.x-max-tokens, min: 1, max: 4000, settle: true}}
`
	weighted = `
rules:
  - name: model
    key: "{ip}"
    limits:
      - {capacity: 9000, window: 1h, cost: {from: header.x-max-tokens, min: 1, max: 4000, settle: true, weights: {in: 1, out: 5}}}
`
	monthly = `
rules:
  - name: month
    key: "{ip}"
    refund_on: 5xx
    limits: [{capacity: 10, window: 1mo, timezone: Europe/Berlin, algorithm: fixed_window}]
`
	bucket = `rules: [{name: pace, key: "{ip}", limits: [{capacity: 10, window: 1h, algorithm: token_bucket}]}]`
	ask    = `"method": "POST", "path": "/chat", "ip": "203.0.113.1", "headers": {"X-Max-Tokens": "4000"}`
)

// servers are several servers over one store, at a time that the test moves.
type servers struct {
	testing.TB
	store *fakestore.Store
	now   time.Time
	set   *rules.Set
	log   strings.Builder
	all   [2]http.Handler
	calls *api.API // of the first
}

// newServers returns servers with rules as YAML.
func newServers(t testing.TB, document string) *servers {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{TB: t, store: fakestore.New(nil), now: start, set: set}
	now := func() time.Time { return s.now }
	for i := range s.all {
		e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: s.store})
		calls := newCalls(&engine.Decider{Engine: e, Now: now}, s.store, now, slog.New(slog.NewTextHandler(&s.log, nil)))
		calls.Usage = usage.New(usage.Options{Rules: engine.Fixed{Set: set}, Store: s.store, Now: now}).Of
		server := decideapi.New(calls, "")
		server.UsagePath, server.Receipts = "/usage", true
		s.all[i] = server
		if i == 0 {
			s.calls = calls
		}
	}
	return s
}

func (s *servers) post(server int, path, body string) answer {
	s.Helper()
	return send(s, s.all[server], "POST", path, body, "Content-Type: application/json")
}

// reserved is the part of a decision that a settlement needs.
type reserved struct {
	Allowed   bool
	Receipt   string
	SettleBy  time.Time `json:"settle_by"`
	Settles   []string
	Unsettled []string
	Before    bool
}

func (s *servers) reserve(members string) reserved {
	s.Helper()
	got := s.post(0, "/v1/decisions", "{"+ask+members+"}")
	if got.StatusCode != 200 {
		s.Fatalf("status %d, %s", got.StatusCode, got.body)
	}
	return read[reserved](s, got.body)
}

// resetAll resets every counter that was charged.
func (s *servers) resetAll() {
	for _, c := range s.store.Calls(fakestore.Charge) {
		_ = s.store.Reset(s.Context(), c.Keys[0])
	}
}

// authorize returns the receipt of an authorizer with the same secret.
func (s *servers) authorize() string {
	s.Helper()
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: s.set}, Store: s.store})
	d, err := e.Decide(s.Context(), s.now, &request.Request{Method: "POST", Path: "/chat", IP: netip.MustParseAddr("203.0.113.1"), Headers: map[string][]string{"x-max-tokens": {"4000"}}})
	if err != nil {
		s.Fatal(err)
	}
	return receipt.NewIssuer(s.calls.Keys, quiet).Issue(s.now, d)
}

// used returns the units in use, by limit.
func (s *servers) used() string {
	s.Helper()
	s.now = s.now.Add(time.Second) // usage reads once a second
	report := read[usage.Report](s, s.post(1, "/usage", "{"+ask+"}").body)
	var all []string
	for _, l := range report.Rules[0].Limits {
		all = append(all, fmt.Sprint(l.Used))
	}
	return strings.Join(all, " ")
}

// TestSettles: what a settlement answers, and what is in use then. Each is sent
// again to another server, which changes nothing.
func TestSettles(t *testing.T) {
	for _, test := range []struct{ rules, members, limits, used string }{
		{chat, `"costs": {"chat.tokens": 812}`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"cost":812,"returned":3188}`, "1 812"},
		{chat, `"costs": {"chat.tokens": 812}, "status": 200`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"cost":812,"returned":3188}`, "1 812"},
		{chat, `"costs": {"chat.tokens": 5000}`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"cost":5000,"returned":0}`, "1 5000"},
		{chat, `"costs": {"chat.tokens": 0}`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"cost":0,"returned":4000}`, "1 0"},
		{chat, `"status": 503, "costs": {"chat.tokens": 812}`, `"chat.requests":{"charged":1,"cost":0,"returned":1},"chat.tokens":{"charged":4000,"cost":0,"returned":4000}`, "0 0"},
		{chat, `"status": 200`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"returned":0}`, "1 4000"},
		{chat, `"aborted": true`, `"chat.requests":{"charged":1,"returned":0},"chat.tokens":{"charged":4000,"cost":4000,"returned":0}`, "1 4000"},
		{monthly, `"status": 503`, `"month":{"charged":1,"cost":0,"returned":1}`, "0"},
		{weighted, `"usage": {"in": 12, "out": 160}`, `"model":{"charged":4000,"cost":812,"returned":3188}`, "812"},
	} {
		s := newServers(t, test.rules)
		r := s.reserve("")
		if want := start.Add(15 * time.Minute); !r.SettleBy.Equal(want) || !r.Allowed || r.Before || r.Unsettled != nil || (len(r.Settles) != 1) != (test.rules == monthly) {
			t.Errorf("%+v, want a receipt until %v", r, want)
		}
		body := fmt.Sprintf(`{"receipt": %q, %s}`, r.Receipt, test.members)
		for i, want := range []string{`{"limits":{` + test.limits + `}}`, `{"before":true}`, `{"before":true}`} {
			got := s.post(i%2, "/v1/settlements", body)
			if got.StatusCode != 200 || got.body != want+"\n" {
				t.Errorf("%s: status %d, %s, want %s", test.members, got.StatusCode, got.body, want)
			}
			wantSchema(t, "Settled", got.body)
			if used := s.used(); used != test.used {
				t.Errorf("%s: used %s, want %s", test.members, used, test.used)
			}
		}
	}
}

// TestAtOnce: two servers get the same settlement at once. One of them makes it.
func TestAtOnce(t *testing.T) {
	s := newServers(t, strings.Replace(chat, "capacity: 10,", "capacity: 1000,", 1))
	const rounds = 100
	for range rounds {
		body := fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 8}}`, s.reserve("").Receipt)
		var answers [2]string
		var sent sync.WaitGroup
		for i := range answers {
			sent.Go(func() { answers[i] = s.post(i, "/v1/settlements", body).body })
		}
		sent.Wait()
		if one := strings.Count(strings.Join(answers[:], ""), `"returned":3992`); one != 1 || !slices.Contains(answers[:], `{"before":true}`+"\n") {
			t.Fatalf("%q", answers)
		}
	}
	if used := s.used(); used != fmt.Sprintf("%d %d", rounds, 8*rounds) {
		t.Errorf("used %s", used)
	}
}

// TestNotSettled: receipts that settle nothing, and settlements that make no sense.
// The receipt settles afterwards.
func TestNotSettled(t *testing.T) {
	s := newServers(t, chat)
	r := s.reserve("")
	payload, signature, _ := strings.Cut(r.Receipt, ".")
	other := newServers(t, weighted).reserve("").Receipt
	zoned, _, _ := strings.Cut(newServers(t, monthly).reserve("").Receipt, ".")
	data, err := base64.RawURLEncoding.DecodeString(zoned)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := base64.RawURLEncoding.EncodeToString(bytes.Replace(data, []byte("Europe/Berlin"), []byte("Europe/Nowher"), 1))
	with := func(members string) string { return fmt.Sprintf(`{"receipt": %q, %s}`, r.Receipt, members) }
	of := func(receipt string) string {
		return fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 1}}`, receipt)
	}
	for _, test := range []struct{ body, pointer, want string }{
		{`{}`, "/receipt", "#receipt-malformed"},
		{`{"receipt": 7}`, "/receipt", "want a string"},
		{of("nothing"), "/receipt", "#receipt-malformed"},
		{of("AQ"), "/receipt", "version 1, and this program reads version 2"},
		{of(nowhere), "/receipt", "#receipt-malformed"},
		{of(payload), "/receipt", "#receipt-forged"},
		{of(payload + ".AAAA"), "/receipt", "#receipt-forged"},
		{of(payload[:len(payload)-4] + "AAAA." + signature), "/receipt", "#receipt-forged"},
		{of(receipt.Keys{[]byte("another secret of theirs")}.Sign(payload)), "/receipt", "#receipt-forged"},
		{of(other), "/costs/chat.tokens", "it settles model"},
		{with(`"status": 99`), "/status", "from 100 to 599"},
		{with(`"status": 600`), "/status", "from 100 to 599"},
		{with(`"status": "200"`), "/status", "from 100 to 599"},
		{with(`"status": null`), "/status", "want the status"},
		{with(`"costs": {"chat.token": 1}`), "/costs/chat.token", "it settles chat.tokens"},
		{with(`"costs": {"chat.requests": 1}`), "/costs/chat.requests", "it settles chat.tokens"},
		{with(`"costs": {"chat.tokens": 1, "a/b": 1}`), "/costs/a~1b", "it settles chat.tokens"},
		{with(`"costs": {"chat.tokens": -1}`), "/costs/chat.tokens", "want a whole number from 0 to"},
		{with(`"costs": {"chat.tokens": 1.5}`), "/costs/chat.tokens", "want a whole number"},
		{with(`"costs": {"chat.tokens": 1e3}`), "/costs/chat.tokens", "want a whole number"},
		{with(`"costs": {"chat.tokens": 1e30}`), "/costs/chat.tokens", "want a whole number"},
		{with(`"costs": {"chat.tokens": 9223372036854775808}`), "/costs/chat.tokens", "want a whole number"},
		{with(`"costs": {"chat.tokens": "1"}`), "/costs/chat.tokens", "want a whole number"},
		{with(`"costs": {"chat.tokens": 1, "chat.tokens": 2}`), "/costs/chat.tokens", "twice"},
		{with(`"costs": 7`), "/costs", "want an object"},
		{with(`"usage": {"in": 1}`), "/usage/in", "has no weight"},
		{with(`"usage": {"in": -1}`), "/usage/in", "want a whole number"},
		{with(`"aborted": 1`), "/aborted", "want true or false"},
		{with(`"cost": {"chat.tokens": 1}`), "/cost", "there is no such name: the names are receipt, aborted, status, costs, usage"},
		{`[]`, "", "want a JSON object"},
	} {
		got := s.post(1, "/v1/settlements", test.body)
		if p := read[struct{ Pointer string }](t, got.body); got.StatusCode != 400 || p.Pointer != test.pointer || !strings.Contains(got.body, test.want) {
			t.Errorf("%s: status %d, %s\nwant pointer %s and %q", test.body, got.StatusCode, got.body, test.pointer, test.want)
		}
		wantSchema(t, "Problem", got.body)
	}
	if calls := s.store.Count(fakestore.Settle); calls != 0 {
		t.Errorf("%d settlements of the store", calls)
	}
	if got := s.post(0, "/v1/settlements", of(r.Receipt)); got.StatusCode != 200 || s.used() != "1 1" {
		t.Errorf("status %d, %s, then used %s", got.StatusCode, got.body, s.used())
	}
	s = newServers(t, weighted)
	r = s.reserve("")
	for members, want := range map[string]string{
		`"usage": {"in": 1, "cached": 1}`:              `"pointer":"/usage/cached"`,
		`"usage": {"in": 1}, "costs": {"model": 1}`:    "report one of them",
		`"usage": {"in": 999999999999999, "out": 1e2}`: `"pointer":"/usage/out"`,
	} {
		if got := s.post(0, "/v1/settlements", with(members)); got.StatusCode != 400 || !strings.Contains(got.body, want) || s.used() != "4000" {
			t.Errorf("%s: status %d, %s, used %s", members, got.StatusCode, got.body, s.used())
		}
	}
}

// TestGone: a receipt whose reservation or counter is gone, and one of an authorizer
// with the same secret.
func TestGone(t *testing.T) {
	late := func(s *servers) { s.now = s.now.Add(15*time.Minute + time.Millisecond) }
	for _, test := range []struct {
		name    string
		reserve bool
		change  func(*servers)
		status  int
		problem string
		used    string
	}{
		{"the last moment", true, func(s *servers) { s.now = s.now.Add(15 * time.Minute) }, 200, "", "1 812"},
		{"late", true, late, 410, "late", "1 4000"},
		{"reset", true, func(s *servers) { s.resetAll() }, 410, "reset", "0 0"},
		{"of an authorizer", false, func(*servers) {}, 422, "foreign", "1 4000"},
	} {
		s := newServers(t, chat)
		text := s.reserve("").Receipt
		if !test.reserve {
			s.resetAll()
			text = s.authorize()
		}
		test.change(s)
		for range 2 {
			got := s.post(0, "/v1/settlements", fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, text))
			if test.status == 200 {
				break
			}
			p := read[struct{ Type, Title, Detail string }](t, got.body)
			if got.StatusCode != test.status || !strings.HasSuffix(p.Type, "problems.md#receipt-"+test.problem) {
				t.Errorf("%s: status %d, %s", test.name, got.StatusCode, got.body)
			}
			wantSchema(t, "Problem", got.body)
		}
		if used := s.used(); used != test.used {
			t.Errorf("%s: used %s, want %s", test.name, used, test.used)
		}
	}
}

// TestRepeated: a decision that is repeated with its ID charges once while its
// reservation is open.
func TestRepeated(t *testing.T) {
	for name, test := range map[string]struct{ rules, again, used string }{
		"an outcome can correct it": {chat, `, "id": "job-7 é"`, "1 4000"},
		"another ID":                {chat, `, "id": "job-8"`, "2 8000"},
		"no ID":                     {chat, ``, "2 8000"},
		"a token bucket":            {bucket, `, "id": "job-7 é"`, "1"},
	} {
		s := newServers(t, test.rules)
		first := s.reserve(`, "id": "job-7 é"`)
		s.now = s.now.Add(time.Second)
		second := s.reserve(test.again)
		if once := strings.HasSuffix(test.again, `é"`); second.Before != once || first.Before || once && !second.SettleBy.Equal(first.SettleBy) {
			t.Errorf("%s: %+v after %+v", name, second, first)
		}
		if (first.Receipt != "") != (test.rules == chat) {
			t.Errorf("%s: receipt %q", name, first.Receipt)
		}
		if used := s.used(); used != test.used {
			t.Errorf("%s: used %s, want %s", name, used, test.used)
		}
	}
	// Either receipt settles both.
	s := newServers(t, chat)
	receipts := []string{s.reserve(`, "id": "a"`).Receipt, s.reserve(`, "id": "a"`).Receipt}
	for i, want := range []string{`"cost":812`, `{"before":true}`} {
		if got := s.post(i, "/v1/settlements", fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, receipts[1-i])); !strings.Contains(got.body, want) {
			t.Errorf("receipt %d: %s", i, got.body)
		}
	}
	// Of two rules, a reset one is charged again.
	s = newServers(t, chat+strings.ReplaceAll(strings.TrimPrefix(chat, "\nrules:\n"), "chat", "spend"))
	s.reserve(`, "id": "a"`)
	_ = s.store.Reset(t.Context(), s.store.Calls(fakestore.Charge)[1].Keys[0])
	if again := s.reserve(`, "id": "a"`); again.Before || again.Receipt == "" {
		t.Errorf("after a reset of one rule: %+v", again)
	}
	// After its reservation has ended, it charges again. The late receipt does not settle
	// the new reservation of the same ID.
	s = newServers(t, chat)
	old := s.reserve(`, "id": "a"`)
	s.now = s.now.Add(15*time.Minute + time.Second)
	again := s.reserve(`, "id": "a"`)
	for i, want := range []int{410, 200} {
		got := s.post(0, "/v1/settlements", fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, []string{old.Receipt, again.Receipt}[i]))
		if again.Before || got.StatusCode != want {
			t.Errorf("receipt %d: %+v, status %d, %s", i, again, got.StatusCode, got.body)
		}
	}
	// Neither does one that was settled, before the ID was opened again.
	s = newServers(t, chat)
	old = s.reserve(`, "id": "a"`)
	settled := fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, old.Receipt)
	s.post(0, "/v1/settlements", settled)
	s.now = s.now.Add(time.Second)
	s.reserve(`, "id": "a"`)
	if got := s.post(1, "/v1/settlements", settled); got.body != `{"before":true}`+"\n" || s.used() != "2 4812" {
		t.Errorf("a settled receipt: %s, used %s", got.body, s.used())
	}
	for _, id := range []string{`""`, `"a\nb"`, `"\u0000"`, `"\ud800"`, `7`, `null`, `"` + strings.Repeat("é", 129) + `"`} {
		if got := s.post(0, "/v1/decisions", "{"+ask+`, "id": `+id+"}"); got.StatusCode != 400 || !strings.Contains(got.body, `"pointer":"/id"`) {
			t.Errorf("id %s: status %d, %s", id, got.StatusCode, got.body)
		}
	}
	if got := s.post(0, "/v1/decisions", "{"+ask+`, "id": "`+strings.Repeat("é", 128)+`"}`); got.StatusCode != 200 {
		t.Errorf("the longest id: %s", got.body)
	}
}

// TestUnsettled: the decision and the log name rules whose charge is not in the
// receipt.
func TestUnsettled(t *testing.T) {
	s := newServers(t, chat)
	s.set.Rules[0].Reservations = 1
	if r := s.reserve(""); r.Unsettled != nil || r.Receipt == "" {
		t.Errorf("the first: %+v", r)
	}
	for range 2 {
		s.set.Rules[0].Limits[1].Capacity = 90_000
		if r := s.reserve(""); !slices.Equal(r.Unsettled, []string{"chat"}) || r.Receipt != "" || !r.SettleBy.IsZero() {
			t.Errorf("without room: %+v", r)
		}
	}
	if got := s.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "rule=chat") || !strings.Contains(got, "raise reservations") {
		t.Errorf("logged %q", got)
	}
	s = newServers(t, `rules: [{name: busy, key: "{ip}", lease: 5, refund_on: 5xx, limit: 1000/minute}]`)
	if r := s.reserve(""); !slices.Equal(r.Unsettled, []string{"busy"}) || r.Receipt != "" || !strings.Contains(s.log.String(), "by lease") {
		t.Errorf("with lease: %+v, logged %s", r, s.log.String())
	}
	s = newServers(t, chat)
	s.calls.Keys, s.calls.Log = nil, slog.New(slog.NewTextHandler(&s.log, nil))
	for range 2 {
		if r := s.reserve(""); !slices.Equal(r.Unsettled, []string{"chat"}) || r.Receipt != "" || strings.Count(s.log.String(), "SLIDEGATE_RECEIPT_SECRET") != 1 {
			t.Errorf("without a secret: %+v, logged %s", r, s.log.String())
		}
	}
}

// TestFailedWrites: of two rules, the store settles one. The same settlement settles
// the other one.
func TestFailedWrites(t *testing.T) {
	s := newServers(t, chat+strings.ReplaceAll(strings.TrimPrefix(chat, "\nrules:\n"), "chat", "spend"))
	body := fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812, "spend.tokens": 9}}`, s.reserve("").Receipt)
	s.store.Hook = func(c *fakestore.Call) error {
		if c.Op == fakestore.Settle && slices.Equal(c.Rules(), []string{"spend"}) {
			return errors.New("secret detail")
		}
		return nil
	}
	for range 2 {
		got := s.post(0, "/v1/settlements", body)
		if got.StatusCode != 503 || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.body, "send the same call again") || strings.Contains(got.body, "secret") {
			t.Errorf("status %d, %s", got.StatusCode, got.body)
		}
	}
	s.store.Hook = nil
	const want = `{"limits":{"chat.requests":{"charged":1,"returned":0,"before":true},"chat.tokens":{"charged":4000,"returned":0,"before":true},` +
		`"spend.requests":{"charged":1,"returned":0},"spend.tokens":{"charged":4000,"cost":9,"returned":3991}}}` + "\n"
	for _, want := range []string{want, `{"before":true}` + "\n"} {
		got := s.post(1, "/v1/settlements", body)
		if got.StatusCode != 200 || got.body != want {
			t.Errorf("status %d, %s, want %s", got.StatusCode, got.body, want)
		}
		wantSchema(t, "Settled", got.body)
	}
	if used := s.used(); used != "1 812" {
		t.Errorf("used %s", used)
	}
}

// TestPlaces: a place in flight is renewed, given back by its settlement, and lost
// without a renewal.
func TestPlaces(t *testing.T) {
	s := newServers(t, strings.Replace(chat, "limits:", "limits:\n      - {name: places, in_flight: 1, expires: 90s}", 1))
	r := s.reserve("")
	if other := s.reserve(""); other.Allowed {
		t.Errorf("a second place: %+v", other)
	}
	if want := start.Add(90 * time.Second); !r.SettleBy.Equal(want) {
		t.Errorf("settle by %v, want %v", r.SettleBy, want)
	}
	renew, settle := fmt.Sprintf(`{"receipt": %q}`, r.Receipt), fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, r.Receipt)
	for n := range 3 {
		s.now = start.Add(time.Duration(n+1) * 80 * time.Second)
		got := s.post(n%2, "/v1/renewals", renew)
		wantSchema(t, "Renewed", got.body)
		if end := read[reserved](t, got.body).SettleBy; got.StatusCode != 200 || !end.Equal(s.now.Add(90*time.Second)) {
			t.Errorf("status %d, %s", got.StatusCode, got.body)
		}
	}
	got := s.post(0, "/v1/settlements", settle)
	if !strings.Contains(got.body, `"chat.places":{"charged":1,"returned":1}`) || !strings.Contains(got.body, `"cost":812`) {
		t.Errorf("status %d, %s", got.StatusCode, got.body)
	}
	for path, body := range map[string]string{"/v1/settlements": settle, "/v1/renewals": renew} {
		if got := s.post(0, path, body); got.StatusCode != 410 || !strings.Contains(got.body, "#receipt-closed") || !strings.Contains(got.body, "stop the work") {
			t.Errorf("%s: status %d, %s", path, got.StatusCode, got.body)
		}
	}
	got = s.post(0, "/v1/settlements", fmt.Sprintf(`{"receipt": %q, "status": 503}`, s.reserve("").Receipt))
	if !strings.Contains(got.body, `"chat.places":{"charged":1,"returned":1},"chat.requests":{"charged":1,"cost":0,"returned":1}`) {
		t.Errorf("status %d, %s", got.StatusCode, got.body)
	}
	lost := s.reserve("")
	s.now = s.now.Add(90*time.Second + limit.HoldMargin + time.Second)
	s.reserve("") // takes the place of the lost one
	if got := s.post(0, "/v1/renewals", fmt.Sprintf(`{"receipt": %q}`, lost.Receipt)); got.StatusCode != 410 || !strings.Contains(got.body, "#receipt-closed") {
		t.Errorf("a lost place: status %d, %s", got.StatusCode, got.body)
	}
	s = newServers(t, chat)
	if got := s.post(0, "/v1/renewals", fmt.Sprintf(`{"receipt": %q}`, s.reserve("").Receipt)); got.StatusCode != 400 || !strings.Contains(got.body, "no place in flight") {
		t.Errorf("without a place: status %d, %s", got.StatusCode, got.body)
	}
}

// TestForwardedReceipts: proxies get receipts if the server has a secret for them.
func TestForwardedReceipts(t *testing.T) {
	s := newServers(t, chat)
	forwarded := []string{aPOST, "X-Forwarded-Uri: /chat", from1, "X-Max-Tokens: 4000"}
	for endpoint, fields := range map[string][]string{"/v1/forward-auth": forwarded, "/v1/auth-request": forwarded, "/v1/ext-authz/chat": forwarded[2:]} {
		s.resetAll()
		got := send(t, s.all[0], "POST", endpoint, "", fields...)
		text := fieldOf(got, "Slidegate-Receipt")
		if answer := s.post(1, "/v1/settlements", fmt.Sprintf(`{"receipt": %q, "costs": {"chat.tokens": 812}}`, text)); got.StatusCode != 200 || answer.StatusCode != 200 || s.used() != "1 812" {
			t.Errorf("%s: status %d, receipt %q, %s", endpoint, got.StatusCode, text, answer.body)
		}
	}
	s.all[0].(*decideapi.Server).Receipts = false
	s.resetAll()
	if got := send(t, s.all[0], "GET", "/v1/forward-auth", "", forwarded...); got.StatusCode != 200 || fieldOf(got, "Slidegate-Receipt") != "" {
		t.Errorf("status %d, %v", got.StatusCode, got.Header)
	}
}

// TestTooLong: a request whose turn is too far away gives its place in flight back.
func TestTooLong(t *testing.T) {
	s := newServers(t, `
rules:
  - {name: work, key: "{ip}", limits: [{in_flight: 2, expires: 90s}]}
  - {name: pace, key: "{ip}", limits: [{capacity: 1, window: 60s, algorithm: leaky_bucket, queue: 5}]}
`)
	for i, want := range []int{200, 429, 429} {
		if got := send(t, s.all[0], "GET", "/v1/forward-auth", "", aGET, root, from1); got.StatusCode != want {
			t.Errorf("request %d: status %d, %s", i, got.StatusCode, got.body)
		}
	}
	if used := s.used(); used != "1" {
		t.Errorf("%s places are taken, want 1", used)
	}
}

// TestInvoke: a payload of Lambda's Invoke has the bodies of HTTP.
func TestInvoke(t *testing.T) {
	s := newServers(t, chat)
	invoke := func(payload string) (status int, body string) {
		got := read[struct {
			Status int
			Body   json.RawMessage
		}](t, string(s.calls.Invoke(t.Context(), []byte(payload))))
		return got.Status, string(got.Body)
	}
	_, decided := invoke(`{"decisions": {` + ask + `}}`)
	settle := fmt.Sprintf(`{"settlements": {"receipt": %q, "costs": {"chat.tokens": 812}}}`, read[reserved](t, decided).Receipt)
	for _, test := range []struct {
		payload string
		status  int
		want    string
	}{
		{settle, 200, `"returned":3188`},
		{settle, 200, `{"before":true}`},
		{`{"usage": {` + ask + `}}`, 200, `"used":812`},
		{`{"decisions": {` + ask + `, "tokens": 7}}`, 400, `"pointer":"/decisions/tokens"`},
		{`{"settlements": {"receipt": "nothing"}}`, 400, `"pointer":"/settlements/receipt"`},
		{`{"decisions": 7}`, 400, "want an object with one member"},
		{`{}`, 400, "want an object with one member"},
		{`{"decisions": {}, "usage": {}}`, 400, "want an object with one member"},
		{`{"decide": {}}`, 404, "the calls are decisions, settlements, renewals, usage"},
		{`{"decisions": {"a": {}, "a": {}}}`, 400, `"pointer":"/decisions/a"`},
		{`7`, 400, "want a JSON object"},
		{strings.Repeat(" ", 64<<10+1), 413, "larger than 65536 bytes"},
	} {
		if status, body := invoke(test.payload); status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%.80s: status %d, %s, want %d and %s", test.payload, status, body, test.status, test.want)
		}
	}
}

// FuzzSettlements: the server answers any body, refuses what the schema refuses, and
// never charges or returns more than one request.
func FuzzSettlements(f *testing.F) {
	s := newServers(f, chat)
	text := s.reserve("").Receipt
	for _, seed := range []string{
		`{"receipt": %q, "costs": {"chat.tokens": 812}, "status": 200, "aborted": false}`,
		`{"receipt": %q, "usage": {"in": 1}, "status": 503}`, `{"receipt": "` + text + `A"}`, `{"receipt": %q, "costs": {"a/~": 1e400}}`, `[[[`, ``,
	} {
		f.Add(strings.ReplaceAll(seed, "%q", `"`+text+`"`))
	}
	f.Fuzz(func(t *testing.T, body string) {
		got := send(t, s.all[0], "POST", "/v1/settlements", body, "Content-Type: application/json")
		name := "Settled"
		if got.StatusCode != http.StatusOK {
			name = "Problem"
		}
		wantSchema(t, name, got.body)
		var value any
		if err := json.Unmarshal([]byte(body), &value); err == nil && got.StatusCode == http.StatusOK {
			err = schema(t, "Settlement").Validate(value)
			if err != nil {
				t.Errorf("%s: the schema refuses it: %v", body, err)
			}
		}
	})
}
