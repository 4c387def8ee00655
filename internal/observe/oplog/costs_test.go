package oplog

import (
	"bytes"
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

// newTestWarnings returns cost warnings, and a function that returns what they
// logged since its last call.
func newTestWarnings() (c *CostWarnings, logged func() string) {
	var log bytes.Buffer
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	logged = func() string {
		defer log.Reset()
		return log.String()
	}
	return NewCostWarnings(slog.New(slog.NewTextHandler(&log, plain))), logged
}

func costsOf(names ...string) map[string]int64 {
	costs := map[string]int64{}
	for _, name := range names {
		costs[name] = 1
	}
	return costs
}

const stays = `level=WARN msg="the backend's costs name no limit with settle: true; the request stays charged as it was" field=Slidegate-Cost `

// TestUnsettledCosts: each name that no limit settles by is logged once, with
// one line in ten seconds.
func TestUnsettledCosts(t *testing.T) {
	d := decided(t)
	synctest.Test(t, func(t *testing.T) {
		c, logged := newTestWarnings()
		for _, step := range []struct {
			after time.Duration
			names []string
			want  string
		}{
			{0, []string{"chat.tokens"}, ""},
			{0, nil, ""},
			{0, []string{"chat.token", "chat.tokens"}, stays + "ignored=[chat.token] limits=[chat.tokens]\n"},
			{0, []string{"chat.token"}, ""},
			{9999 * time.Millisecond, []string{"chat.requests"}, ""}, // too early, so not logged
			{time.Millisecond, []string{"chat.requests", "chat.token"}, stays + "ignored=[chat.requests] limits=[chat.tokens]\n"}, // logged now
			{time.Hour, []string{"chat.requests", "chat.token"}, ""},
			{0, []string{"b", "", "a"}, stays + `ignored="[ a b]" limits=[chat.tokens]` + "\n"},
			{time.Hour, []string{strings.Repeat("x", 1<<20)}, stays + "ignored=[" + strings.Repeat("x", 64) + "...] limits=[chat.tokens]\n"},
			{time.Hour, []string{strings.Repeat("x", 1<<19)}, ""},
		} {
			time.Sleep(step.after)
			c.unsettled(t.Context(), d, costsOf(step.names...))
			if got := logged(); got != step.want {
				t.Errorf("%.99q: logged %q, want %q", step.names, got, step.want)
			}
		}
	})
}

// TestMadeUpCosts: a backend that invents a name for every answer causes a
// bounded number of lines and of names in memory.
func TestMadeUpCosts(t *testing.T) {
	d := decided(t)
	synctest.Test(t, func(t *testing.T) {
		c, logged := newTestWarnings()
		var many []string
		for i := range 1000 {
			many = append(many, fmt.Sprintf("n%03d", i))
		}
		lines, size := 0, 0
		for range 500 {
			time.Sleep(time.Minute)
			c.unsettled(t.Context(), d, costsOf(many...))
			got := logged()
			lines += strings.Count(got, "\n")
			size += len(got)
		}
		if lines != 3 || size > 2000 || len(c.unknown) != maxUnknown {
			t.Errorf("logged %d lines, %d bytes, and keeps %d names", lines, size, len(c.unknown))
		}
	})
}

// TestMalformedCosts: malformed costs are logged once in ten seconds, however
// many there are.
func TestMalformedCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, logged := newTestWarnings()
		const want = `level=WARN msg="the backend's costs are malformed: write limits and whole numbers, such as chat.tokens=512" field=Slidegate-Cost ignored=`
		for _, step := range []struct {
			after   time.Duration
			ignored []string
			want    string
		}{
			{0, nil, ""},
			{0, []string{"a", "b=x"}, want + `"[a b=x]"` + "\n"},
			{9 * time.Second, []string{"c"}, ""},
			{time.Second, []string{strings.Repeat("d", 100)}, want + "[" + strings.Repeat("d", 64) + "...] suppressed=1\n"},
			{time.Minute, strings.Split(strings.Repeat("e", 100), ""), want + `"[` + strings.Repeat("e ", 16) + `and 84 more]"` + "\n"},
		} {
			time.Sleep(step.after)
			c.malformed(t.Context(), step.ignored)
			if got := logged(); got != step.want {
				t.Errorf("%.99q: logged %q, want %q", step.ignored, got, step.want)
			}
		}
		c.unsettled(t.Context(), decided(t), costsOf("z")) // is throttled separately
		if logged() == "" {
			t.Error("an unknown name is not logged beside malformed costs")
		}
	})
}
