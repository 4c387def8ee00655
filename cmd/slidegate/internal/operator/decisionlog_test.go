package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// deciding returns an engine whose decisions an observer logs as JSON, and what
// decides a request for an address.
func deciding(t *testing.T, each bool) (log *bytes.Buffer, observer *decisionLog, decide func(path, ip string)) {
	set, err := rulefile.Parse("rules.yaml", []byte(`
deny: [{cidrs: [198.51.100.0/24]}]
rules: [{name: api, key: "ip:{ip}", limit: 1/hour}]
`))
	if err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	observer = newDecisionLog(slog.New(slog.NewJSONHandler(log, nil)), each)
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: observer})
	return log, observer, func(path, ip string) {
		t.Helper()
		if _, err := e.Decide(context.Background(), time.Now(), &request.Request{Method: "GET", Path: path, IP: netip.MustParseAddr(ip)}); err != nil {
			t.Fatal(err)
		}
	}
}

type summary struct {
	Msg, Rule, Reason string
	Denied, Others    int64
	Keys              []deniedKey
}

func summaries(t *testing.T, log *bytes.Buffer) (all []summary) {
	t.Helper()
	defer log.Reset()
	for line := range strings.Lines(log.String()) {
		var s summary
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Msg != "denials" {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, s)
	}
	return all
}

// TestDenials: every ten seconds a line for each rule that denied names the ten
// keys denied most, and one number for the rest.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, observer, decide := deciding(t, false)
		for client := range 12 {
			for range client + 2 { // the first is allowed
				decide("/", fmt.Sprintf("203.0.113.%d", client))
			}
		}
		decide("/", "198.51.100.7")
		if log.Len() > 0 {
			t.Errorf("logged at once: %s", log)
		}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go observer.Run(ctx)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		got := summaries(t, log)
		if len(got) != 2 {
			t.Fatalf("logged %+v", got)
		}
		banned, api := got[0], got[1]
		if banned.Reason != "banned" || banned.Denied != 1 || len(banned.Keys) != 1 || banned.Keys[0].Key != "198.51.100.7" {
			t.Errorf("banned: %+v", banned)
		}
		if api.Rule != "api" || api.Denied != 78 || api.Others != 1+2 || len(api.Keys) != 10 || api.Keys[0] != (deniedKey{Key: "ip:203.0.113.11", Denied: 12}) {
			t.Errorf("api: %+v", api)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("logged without denials: %s", log)
		}
	})
}

// TestDenialsAsText: a line that is no JSON has keys without Go's braces.
func TestDenialsAsText(t *testing.T) {
	log, observer, decide := deciding(t, false)
	observer.log = slog.New(slog.NewTextHandler(log, nil))
	decide("/", "198.51.100.7")
	observer.Flush(t.Context())
	if !strings.Contains(log.String(), `keys="[198.51.100.7=1]"`) {
		t.Errorf("logged %s", log)
	}
}

// TestEachDecision: each decision is a line, with the request's fields as replay
// reads them.
func TestEachDecision(t *testing.T) {
	log, _, decide := deciding(t, true)
	decide("/v1?a=b", "203.0.113.9")
	decide("/", "203.0.113.9")
	decide("/", "198.51.100.7")
	want := []string{
		`"method":"GET","path":"/v1?a=b","ip":"203.0.113.9","allowed":true,"reason":"limited","rule":"api","key":"ip:203.0.113.9","remaining":0}`,
		`"method":"GET","path":"/","ip":"203.0.113.9","allowed":false,"reason":"limited","rule":"api","key":"ip:203.0.113.9","remaining":0}`,
		`"method":"GET","path":"/","ip":"198.51.100.7","allowed":false,"reason":"banned"}`,
	}
	lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
	for i := range want {
		if len(lines) != len(want) || !strings.HasSuffix(lines[i], `"msg":"decision",`+want[i]) {
			t.Fatalf("logged\n%s", log)
		}
	}
}

const askEvents = "GET /live/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

// onePipe is a listener in memory, which accepts one connection.
type onePipe struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *onePipe) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *onePipe) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *onePipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestAdminWriteTime: the admin address of serve gives a browser five seconds to
// take more.
func TestAdminWriteTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := session.Open(t.Context(), session.Locations{RulesFile: "../../../../examples/rules.yaml"}, countAlone(func(string, *rules.Set) error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &watched{Session: s, observer: admin.NewObserver(engine.NoObserver{}), store: memory.New(0)}
		w.recorder = telemetry.NewRecorder(telemetry.Options{Next: w.observer})
		l := &onePipe{conn: make(chan net.Conn), closed: make(chan struct{})}
		stop := serveAdmin(t.Context(), s, ServeOptions{Admin: l}, w, slog.New(slog.DiscardHandler))
		client, server := net.Pipe()
		defer client.Close()
		l.conn <- server
		if _, err := io.WriteString(client, askEvents); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		_, err = io.WriteString(client, "more") // nothing reads this while the connection is open
		if took := time.Since(start); !errors.Is(err, io.ErrClosedPipe) || took != 5*time.Second {
			t.Errorf("the connection is open for %v, %v; want 5s", took, err)
		}
		stop()
	})
}
