package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/internal/test/servers"
)

var measure = flag.Bool("measure", false, "write a table of docs/failures.md from what the outages measure")

var policies = []string{"local", "allow", "deny"} // in the order of the table

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(line)
}

const (
	most    = 12 // requests of a key, in the first rules
	lowered = 6  // in the second
	raised  = 24 // by an override
	burst   = 15 // requests of each key by each policy in an outage
	slow    = 600 * time.Millisecond
)

// deadline returns the deadline of decisions: that of the product if Redis counts
// and lookups fail at once. Else a busy machine must answer in what they leave, and
// the engine of DynamoDB is slow on it.
func (s *twoStores) deadline() time.Duration {
	switch {
	case s.fails == "counters":
		return 500 * time.Millisecond
	case s.counters == "Redis" && s.failure.name != "slow" && s.failure.name != "hanging":
		return 250 * time.Millisecond
	}
	return 3 * time.Second
}

// twoStoresRules are published twice, with most and with lowered.
const twoStoresRules = `
authentication: {api_key: {}}
defaults: {instances: 4}
rules:
  - {name: on-local, when: {path: /local}, key: "{header.key}", overrides: true, trusted: header.key, on_error: local, limit: %d/hour}
  - {name: on-allow, when: {path: /allow}, key: "{header.key}", overrides: true, trusted: header.key, on_error: allow, limit: %[1]d/hour}
  - {name: on-deny, when: {path: /deny}, key: "{header.key}", overrides: true, trusted: header.key, on_error: deny, limit: %[1]d/hour}
`

// failure is how one of two stores fails: its counters or its table of rules.
type failure struct {
	name  string
	redis servers.Fault // of the network before Redis
	table tableAnswer
}

// tableAnswer answers a call to a table of DynamoDB, or returns false for one that
// goes on to the engine. The context ends with the failure.
type tableAnswer func(context.Context, http.ResponseWriter, *http.Request) bool

var failures = []failure{
	{"away", servers.Fault{Refuse: true}, answerWith(dynamotest.Fail(500, dynamotest.Error("InternalServerError", "")))},
	{"slow", servers.Fault{Delay: slow}, func(context.Context, http.ResponseWriter, *http.Request) bool {
		time.Sleep(slow)
		return false
	}},
	{"throttling", servers.Fault{}, answerWith(dynamotest.Fail(400, dynamotest.Error("ThrottlingException", "")))},
	{"resetting", servers.Fault{Reset: true}, answerWith(dynamotest.Drop)},
	{"hanging", servers.Fault{Blackhole: true}, func(failing context.Context, _ http.ResponseWriter, _ *http.Request) bool {
		<-failing.Done()
		panic(http.ErrAbortHandler)
	}},
}

func answerWith(answer http.HandlerFunc) tableAnswer {
	return func(_ context.Context, w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
}

// TestOutagesOfTwoStores has the counters or the table of rules fail while the
// other works: in `serve` with Redis, and with one client of DynamoDB, as the
// Lambda has it. While counters answer, no key gets more than its limit, whatever
// look-ups fail. While the table of rules answers, a ban, a lower limit, an
// override and a revoked API key are in force within ten seconds. With -measure
// it writes docs/failures.md's table.
func TestOutagesOfTwoStores(t *testing.T) {
	logging.Disable() // as the command does
	direct, between := dynamotest.Connect(t), &gateway{}
	between.start(t)
	var all []*twoStores
	for _, counters := range []string{"Redis", "DynamoDB"} {
		for _, fails := range []string{"counters", "rules"} {
			for _, f := range failures {
				all = append(all, &twoStores{counters: counters, fails: fails, failure: f, gateway: between})
			}
		}
	}
	rows := make([]string, len(all))
	var some errgroup.Group
	some.SetLimit(6) // they mostly wait
	for i, s := range all {
		some.Go(func() error {
			t.Run(s.counters+", "+s.fails+" "+s.failure.name, func(t *testing.T) {
				s.open(t, direct)
				rows[i] = s.suffer(t)
			})
			return nil
		})
	}
	_ = some.Wait()
	t.Log("\n" + strings.Join(rows, ""))
	if *measure && !t.Failed() {
		golden.WritePart(t, "../../../../../docs/failures.md", "<!-- measured: two stores -->\n", "<!-- end -->", "| Counters in | What fails | How | Known key | New key | Made-up API keys | Changes are in force after |\n"+
			"|---|---|---|--:|--:|--:|---|\n"+strings.Join(rows, ""))
	}
}

// twoStores is a limiter with counters in one store and rules in another.
type twoStores struct {
	counters, fails string
	failure

	gateway *gateway
	table   *ruletable.Table // beside the gateway
	proxy   *servers.Proxy   // before the server
	server  *servers.Redis
	end     context.CancelFunc // of a table's failure
	limiter *session.Session
	engine  *engine.Engine
	callers *authn.Authenticator
	partner string // an API key
	log     lockedBuffer
	now     time.Time
}

// open starts the stores and a limiter, as `serve` opens it.
func (s *twoStores) open(t *testing.T, direct *dynamo.Client) {
	t.Helper()
	where := session.Locations{RulesTable: dynamotest.Create(t, direct, ruletable.Description(dynamotest.Name()))}
	s.table = ruletable.New(direct, where.RulesTable)
	s.publish(t, most, 0)
	key := apikeys.New()
	s.partner = key.Secret()
	var err error
	if err = s.table.CreateAPIKey(t.Context(), ruletable.APIKey{Name: key.Name(), Hash: key.Hash(), ID: "partner", Note: s.note()}); err != nil {
		t.Fatal(err)
	}
	if s.counters == "Redis" {
		s.server = servers.StartRedis(t)
		s.proxy = servers.NewProxy(t, s.server.Address)
		if where.Redis, err = redis.ParseAddress("redis://"+s.proxy.Address+"/0", ""); err != nil {
			t.Fatal(err)
		}
	} else {
		where.CountersTable = dynamotest.Counters(t, direct)
	}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	if s.limiter, err = session.OpenToCharge(t.Context(), where, app.NewPrepare(log), log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.limiter.Close)
	s.callers = authn.New(s.limiter.Source, app.NewAPIKeys(s.limiter.Table(), log), nil, log)
	s.engine = app.NewEngine(engine.Options{
		Rules: s.limiter.Source, Overrides: s.limiter.Overrides, Store: s.limiter.Counters(), Deadline: s.deadline(), Observer: oplog.NewObserver(log),
	})
}

// gateway is a server between limiters and DynamoDB.
type gateway struct {
	failing sync.Map // from the name of a table to what answers its calls; see tableAnswer
}

// start has limiters call the gateway.
func (g *gateway) start(t *testing.T) {
	engine, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(engine)
	forward.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ TableName string }
		_ = json.Unmarshal(body, &call) // a call without a table's name goes on
		if answer, ok := g.failing.Load(call.TableName); ok && answer.(func(http.ResponseWriter, *http.Request) bool)(w, r) {
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
}

func (s *twoStores) note() ruletable.Note {
	return ruletable.Note{Who: "ada", Why: "a test", When: s.now}
}

func (s *twoStores) publish(t *testing.T, limit int, previous int64) {
	t.Helper()
	text := fmt.Sprintf(twoStoresRules, limit)
	set, err := rulefile.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.table.Publish(t.Context(), ruletable.Version{Text: []byte(text), Document: set.Document(), Note: s.note()}, previous); err != nil {
		t.Fatal(err)
	}
}

// fail starts the failure, or ends it.
func (s *twoStores) fail(t *testing.T, on bool) {
	t.Helper()
	table := s.limiter.RulesTable
	if s.fails == "counters" {
		table = s.limiter.CountersTable
	}
	switch {
	case s.fails == "counters" && s.proxy != nil:
		fault, memory := servers.Fault{}, "0"
		if on {
			fault = s.redis
		}
		if on && s.failure.name == "throttling" {
			memory = "1" // a server without memory refuses at once
		}
		if err := errors.Join(s.server.Client.ConfigSet(t.Context(), "maxmemory", memory).Err(), s.proxy.Set(fault)); err != nil {
			t.Fatal(err)
		}
	case on:
		failing, end := context.WithCancel(context.WithoutCancel(t.Context()))
		s.gateway.failing.Store(table, func(w http.ResponseWriter, r *http.Request) bool { return s.failure.table(failing, w, r) })
		s.end = end
		t.Cleanup(end)
	default:
		s.gateway.failing.Delete(table)
		s.end()
	}
}

// decide decides a request with a key and an API key, "" for none. It returns nil
// for a request that is refused for its API key.
func (s *twoStores) decide(t *testing.T, policy, key, apiKey string) *engine.Decision {
	req := &request.Request{Method: "GET", Path: "/" + policy, Headers: map[string][]string{"key": {key}}}
	if apiKey != "" {
		req.Headers["x-api-key"] = []string{apiKey}
	}
	if err := s.callers.Authenticate(t.Context(), s.now, req); err != nil {
		t.Error(err)
	}
	d, err := s.engine.Decide(t.Context(), s.now, req)
	if err != nil {
		t.Error(err)
	}
	if req.Rejected {
		return nil
	}
	return d
}

// suffer has the store fail, counts what is admitted, makes changes, and returns
// a row of the table.
func (s *twoStores) suffer(t *testing.T) (row string) {
	s.now = s.limiter.Now()
	for _, policy := range policies {
		for _, key := range []string{"known", "banned", "raised"} {
			s.decide(t, policy, key, s.partner)
		}
	}
	s.fail(t, true)
	var cells []string
	for _, key := range []string{"known", "new", "made-up"} {
		counts := s.admitted(t, key)
		s.check(t, key, counts)
		cells = append(cells, strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", ", "))
	}
	s.change(t)
	s.now = s.now.Add(10 * time.Second)
	inForce := "10 s"
	late := s.missing(t, true)
	if late != "" && s.fails == "counters" {
		t.Errorf("while the table of rules answers, after ten seconds not in force: %s\n%s", late, &s.log)
	}
	s.fail(t, false)
	if late != "" {
		inForce = "10 s, since a lookup works"
		s.awaitProbe(t)
		s.now = s.now.Add(10 * time.Second)
		if late := s.missing(t, false); late != "" {
			t.Errorf("after the failure not in force: %s\n%s", late, &s.log)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", s.counters, s.fails, s.failure.name, strings.Join(cells, " | "), inForce)
}

// awaitProbe has requests with new keys look up overrides until the breaker lets
// one through, which closes it.
func (s *twoStores) awaitProbe(t *testing.T) {
	t.Helper()
	for i := range 100 {
		if d := s.decide(t, "local", fmt.Sprint("probe-", i), ""); !d.Degraded {
			return
		}
		time.Sleep(breaker.ProbeEvery / 20)
	}
	t.Errorf("the table of rules does not answer after the failure\n%s", &s.log)
}

// admitted sends a burst of requests with a key by each policy, and returns how
// many were admitted.
func (s *twoStores) admitted(t *testing.T, key string) []int {
	counts := make([]int, len(policies))
	var mu sync.Mutex
	var workers errgroup.Group
	for range burst {
		for i, policy := range policies {
			workers.Go(func() error {
				apiKey := ""
				if key == "made-up" {
					apiKey = apikeys.New().Secret()
				}
				if d := s.decide(t, policy, key, apiKey); d != nil && d.Allowed {
					mu.Lock()
					counts[i]++
					mu.Unlock()
				}
				return nil
			})
		}
	}
	_ = workers.Wait()
	return counts
}

// check checks how many requests of a key each policy has admitted. While counters
// answer, those are the limit, but none by on_error: deny if the override of a new
// key cannot be read. A table that answers slowly may know the override in time, and
// that an API key is made up.
func (s *twoStores) check(t *testing.T, key string, counts []int) {
	t.Helper()
	left := most
	if key == "known" { // one was sent before
		left--
	}
	for i, policy := range policies {
		least, highest := 0, left
		switch {
		case s.fails == "counters":
			highest = map[string]int{"local": most / 4, "allow": burst, "deny": 0}[policy]
		case key == "known":
			least = left
		case s.failure.name == "slow" && (key == "made-up" || policy == "deny"):
		case policy == "deny":
			highest = 0
		default:
			least = left
		}
		if counts[i] < least || counts[i] > highest {
			t.Errorf("on_error: %s: %d of the key %s were admitted, want %d to %d\n%s", policy, counts[i], key, least, highest, &s.log)
		}
	}
}

// change lowers the limit, bans a key, gives another an override, and revokes the
// API key.
func (s *twoStores) change(t *testing.T) {
	t.Helper()
	s.publish(t, lowered, 1)
	for _, policy := range policies {
		for key, document := range map[string]string{"banned": `{"deny": true}`, "raised": fmt.Sprintf(`{"capacity": %d}`, raised)} {
			if err := s.table.SetOverride(t.Context(), ruletable.Override{
				Rule: "on-" + policy, Key: key, Document: document, Note: s.note(),
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	key, _ := apikeys.Parse(s.partner)
	if _, err := s.table.RevokeAPIKey(t.Context(), key.Name(), s.note()); err != nil {
		t.Fatal(err)
	}
}

// missing waits a little for reloads that go on beside requests, and returns the
// changes that are still not in force.
func (s *twoStores) missing(t *testing.T, failing bool) (late string) {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		late = ""
		for _, policy := range policies {
			limit := func(key string) int64 { return s.decide(t, policy, key, "").Verdicts[0].Terms.Limits[0].Capacity }
			for change, inForce := range map[string]bool{
				"lower limit": limit("known") == lowered,
				"ban":         s.decide(t, policy, "banned", "").Reason == engine.Banned,
				"override":    limit("raised") == raised,
				"revocation":  s.decide(t, policy, "known", s.partner) == nil,
			} {
				if !inForce {
					late += policy + ": " + change + ", "
				}
			}
		}
		if late == "" || time.Now().After(end) || s.fails == "rules" && failing && s.failure.name != "slow" {
			return late
		}
	}
}
