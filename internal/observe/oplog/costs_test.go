package oplog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// decided returns a decision by rules with one limit that settles, chat.tokens.
func decided(t *testing.T) *engine.Decision {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(`
rules:
  - name: chat
    key: all
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 4000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0)})
	d, err := e.Decide(t.Context(), time.Unix(1_700_000_040, 0), &request.Request{Method: "GET", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCostWarnings: costs without effect are logged once in ten seconds, the
// malformed ones apart from names that no limit settles by. However many and long
// they are, a line is short.
func TestCostWarnings(t *testing.T) {
	const (
		malformed = `WARN the backend's costs are malformed: write limits and whole numbers, such as chat.tokens=512 ignored=`
		unsettled = `WARN the backend's costs name no limit with settle: true; the request stays charged as it was ignored=`
	)
	d := decided(t)
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := NewCostWarnings(slog.New(&lineHandler{&log}))
		for _, step := range []struct {
			after            time.Duration
			names, malformed string // with spaces between them
			want             string
		}{
			{0, "chat.tokens", "", ""},
			{0, "", "", ""},
			{0, "chat.token chat.tokens", "", unsettled + "[chat.token] limits=[chat.tokens]"},
			{0, "chat.token", "", ""},
			{0, "", "a b=x", malformed + "[a b=x]"},
			{9 * time.Second, "chat.requests", "c", ""},
			{time.Second, "b a", "", unsettled + "[a b] limits=[chat.tokens] suppressed=2"},
			{time.Second, "", strings.Repeat("d", 100), malformed + "[" + strings.Repeat("d", 64) + "...] suppressed=1"},
			{time.Minute, "", strings.Repeat("e ", 99) + "e", malformed + "[" + strings.Repeat("e ", 16) + "and 84 more]"},
		} {
			time.Sleep(step.after)
			log.Reset()
			costs := map[string]int64{}
			for _, name := range strings.Fields(step.names) {
				costs[name] = 1
			}
			c.Report(t.Context(), d, &engine.Outcome{Costs: costs}, strings.Fields(step.malformed))
			if got := log.String(); got != step.want {
				t.Errorf("%.99q, %.99q: logged %q, want %q", step.names, step.malformed, got, step.want)
			}
		}
	})
}

// lineHandler writes a line's level, message and attributes but the field's name.
type lineHandler struct{ *strings.Builder }

func (lineHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *lineHandler) WithAttrs([]slog.Attr) slog.Handler    { return h }
func (h *lineHandler) WithGroup(string) slog.Handler         { return h }
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	fmt.Fprintf(h, "%v %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "field" {
			fmt.Fprintf(h, " %s=%v", a.Key, a.Value)
		}
		return true
	})
	return nil
}
