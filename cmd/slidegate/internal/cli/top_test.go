package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/top"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// looks answers each Read by the next view; nil is a failure.
type looks struct {
	views []*top.View
	at    []time.Time
	end   context.CancelFunc // is called with the last view
}

func (l *looks) Read(_ context.Context, now time.Time) (*top.View, error) {
	view := l.views[len(l.at)]
	if l.at = append(l.at, now); len(l.at) == len(l.views) {
		l.end()
	}
	if view == nil {
		return nil, errors.New("nobody answers")
	}
	return view, nil
}

// Top goes on after a look that fails, and an interrupt is its usual end. What
// comes with the interrupt is not shown any more.
func TestTopGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var stdout, stderr strings.Builder
		one, two := &top.View{Source: "one", Rules: []top.Rule{}}, &top.View{Source: "two", Rates: map[string]float64{metric.Writes: 1.5}}
		limiter := &looks{views: []*top.View{one, nil, two, one}, end: cancel}
		w := &watch{limiter: limiter, out: &stdout, every: 3 * time.Second, json: true}
		if err := w.run(ctx, &command.Console{Stdout: &stdout, Stderr: &stderr}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(stdout.String(), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"source":"one"`) || !strings.Contains(lines[1], `"rates":{"Writes":1.5}`) {
			t.Errorf("printed %q", lines)
		}
		if stderr.String() != "slidegate: warning: nobody answers\n" {
			t.Errorf("stderr %q", stderr.String())
		}
		for i, at := range limiter.at {
			if at.Sub(limiter.at[0]) != time.Duration(i)*3*time.Second {
				t.Errorf("looked at %v", limiter.at)
			}
		}
	})
}

// A first look that fails is the end.
func TestTopFails(t *testing.T) {
	var stderr strings.Builder
	c := &command.Console{Stdout: &stderr, Stderr: &stderr}
	if err := (&watch{limiter: &looks{views: []*top.View{nil}, end: func() {}}, out: &stderr}).run(t.Context(), c); err == nil || stderr.Len() > 0 {
		t.Errorf("%v, %q", err, stderr.String())
	}
	wantFailure(t, "top --admin http://127.0.0.1:1", "connection refused; start the server with slidegate serve --admin HOST:PORT")
}
