package receipt_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const chat = `
rules:
  - name: chat
    key: "user:{header.x-user}"
    trusted: [header.x-user]
    refund_on: 5xx
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 400, window: 60s, cost: {from: header.x-tokens, min: 1, max: 40, settle: true}}
`

// bench decides by a document and counts in memory.
type bench struct {
	*testing.T
	engine *engine.Engine
	store  *memory.Store
}

func newBench(t *testing.T, document string) *bench {
	t.Helper()
	store := memory.New(0)
	return &bench{t, engine.New(engine.Options{
		Rules: engine.Fixed{Set: compile(t, document)}, Store: store, Local: memory.New(0), Observer: quiet{t: t},
	}), store}
}

// decide returns an allowed request's decision and receipt.
func (b *bench) decide(now time.Time) (*engine.Decision, string) {
	b.Helper()
	d, err := b.engine.Decide(b.Context(), now, &request.Request{Method: "POST", Path: "/", Headers: map[string][]string{"x-user": {"7"}}})
	if err != nil || !d.Allowed {
		b.Fatalf("decision %+v, error %v", d, err)
	}
	text, _, _ := receipt.Encode(now, d)
	return d, text
}

// TestOnce takes each receipt once, signed or not, and however many take it.
func TestOnce(t *testing.T) {
	b := newBench(t, chat)
	keys := secrets(t, "0123456789abcdef, fedcba9876543210")
	_, text := b.decide(epoch)
	settler := receipt.NewSettler(b.store, keys, quiet{t: t})
	var taken atomic.Int64
	var wg sync.WaitGroup
	for _, form := range []string{text, keys.Sign(text), keys[1:].Sign(text)} {
		for range 10 {
			wg.Go(func() {
				if _, err := settler.Take(form, epoch); err == nil {
					taken.Add(1)
				} else if !errors.Is(err, receipt.ErrUsed) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if _, err := settler.TakeHeader(keys.Sign(text), epoch); taken.Load() != 1 || !errors.Is(err, receipt.ErrUsed) {
		t.Errorf("taken %d times, then error %v", taken.Load(), err)
	}
}

// TestVersion: a receipt names the version of the rules.
func TestVersion(t *testing.T) {
	set := compile(t, chat)
	set.Version = 12
	b := newBench(t, chat)
	b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: b.store, Local: b.store, Observer: quiet{t: t}})
	_, text := b.decide(epoch)
	r, err := receipt.Parse(text)
	if err != nil || r.Rules != 12 || !r.Time.Equal(epoch) {
		t.Errorf("%+v, error %v", r, err)
	}
	if costs := r.UnknownCosts(map[string]int64{"chat.token": 1, "b": 1}); !slices.Equal(costs, []string{"b", "chat.token"}) {
		t.Errorf("unknown are %v", costs)
	}
	if costs := r.UnknownCosts(map[string]int64{"chat.tokens": 1, "export": 1}); costs != nil {
		t.Errorf("unknown beside a known one are %v", costs)
	}
	if len(text) > 144 {
		t.Errorf("the receipt has %d characters: %s", len(text), text)
	}
}

// TestTooLong leaves out what does not fit, and logs it once.
func TestTooLong(t *testing.T) {
	document := "rules:\n"
	for i := range 40 {
		document += fmt.Sprintf("  - {name: rule-%d, key: \"a-long-key-that-takes-its-room:{header.x-user}\", refund_on: 5xx, limit: 10/minute}\n", i)
	}
	b := newBench(t, document)
	d, text := b.decide(epoch)
	var log bytes.Buffer
	issuer := receipt.NewIssuer(nil, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		if got := issuer.Issue(epoch, d); got != text || len(got) > receipt.MaxLen || len(got) < receipt.MaxLen*9/10 {
			t.Errorf("%d characters", len(got))
		}
	}
	r, err := receipt.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 40 || len(r.Pending) == 40 || strings.Count(log.String(), "level=WARN") != 40-len(r.Pending) || !strings.Contains(log.String(), "rule=rule-39") {
		t.Errorf("%d charges fit, and logged\n%s", len(r.Pending), log.String())
	}
}

// TestParsesAll: the backend reads what the authorizer states of any rule.
func TestParsesAll(t *testing.T) {
	var statuses []string
	for status := 300; status < 600; status++ {
		statuses = append(statuses, fmt.Sprint(status))
	}
	for _, rule := range []string{
		"refund_on: [" + strings.Join(statuses, ", ") + "], limit: 9/minute",
		"refund_on: [1xx, 599], limits: [{capacity: 999999999999999, window: 366d, granularity: 8784h}]",
		"refund_on: 5xx, limits: [{capacity: 9, window: 1w, timezone: Asia/Kathmandu, algorithm: fixed_window}]",
		"refund_on: 5xx, limits: [{capacity: 9, window: 1mo, timezone: UTC, algorithm: fixed_window, anchor: 28}]",
		"refund_on: 5xx, limits: [{capacity: 9, window: 1d, timezone: Africa/Casablanca, algorithm: fixed_window}]",
	} {
		_, text := newBench(t, "rules: [{name: a, key: all, "+rule+"}]").decide(epoch)
		if r, err := receipt.Parse(text); err != nil || len(r.Pending) != 1 {
			t.Errorf("%.60s: %+v, error %v", rule, r, err)
		}
	}
}
