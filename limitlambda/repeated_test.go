package limitlambda_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limitlambda"
)

// TestDeniedMessageClosesItsPlacesOnce: the second of two rules in flight denies,
// so the decision has given back the place of the first already.
func TestDeniedMessageClosesItsPlacesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		more := "" // with more than 8 rules, memory charges one after another, as DynamoDB does
		for i := range 8 {
			more += fmt.Sprintf(", {name: w%d, key: all, limit: 1000/minute}", i)
		}
		g := newGate(t, `rules: [{name: a, key: all, limits: [{in_flight: 5, expires: 60s}]}, {name: b, key: all, limits: [{in_flight: 1, expires: 60s}]}`+more+`]`,
			slidegate.WithClock(time.Now), slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		var q queue
		if _, err := limitlambda.WrapSQS(g, q.handle)(t.Context(), batch("x", "y", "z")); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "settled before") {
			t.Errorf("a denied message closes a place a second time:\n%s", log.String())
		}
	})
}

// TestRepeatedMessage: SQS may deliver a message twice, also in one batch.
func TestRepeatedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, `rules: [{name: a, key: all, limits: [{in_flight: 2, expires: 60s}]}]`, slidegate.WithClock(time.Now))
		ctx, cancel := context.WithCancel(t.Context())
		var handler limitlambda.SQSHandler = limitlambda.WrapSQS(g, func(context.Context, events.SQSEvent) (a events.SQSEventResponse, err error) { return a, nil })
		if _, err := handler(ctx, batch("x", "x")); err != nil {
			t.Error(err)
		}
		cancel()
		time.Sleep(time.Hour)
		for range 2 {
			if d, err := g.Decide(t.Context(), &gate.Request{Method: "POST", Path: "/"}); err != nil || !d.Allowed {
				t.Errorf("an hour later, the place of a message that came twice is still renewed: %v", err)
			}
		}
	})
}
