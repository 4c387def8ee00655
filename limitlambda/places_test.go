package limitlambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/limittest"
)

// TestPlacesOfMessages: each message of a batch has its place until the handler
// returns, and is renewed meanwhile. One that is denied for its turn has none.
func TestPlacesOfMessages(t *testing.T) {
	const rules = `rules: [{name: work, key: all, limits: [{in_flight: 2, expires: 60s}]}, {name: turns, key: all, limits: [{capacity: 1, window: 1h, algorithm: leaky_bucket, queue: 9}]}]`
	for kind, wrap := range map[string]func(limitlambda.SQSHandler) limitlambda.SQSHandler{
		"a gate": func(h limitlambda.SQSHandler) limitlambda.SQSHandler {
			return limitlambda.WrapSQS(newGate(t, `rules: [{name: work, key: all, limits: [{in_flight: 2, expires: 60s}]}]`, slidegate.WithClock(time.Now)), h)
		},
		"a limiter": func(h limitlambda.SQSHandler) limitlambda.SQSHandler {
			lim := newLimiter(t, slidegate.InFlight(2, time.Minute), slidegate.WithClock(time.Now))
			return limitlambda.WrapSQSLimiter(lim, func(events.SQSMessage) string { return "all" }, h)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var handled []string
			var handler limitlambda.SQSHandler
			handler = wrap(func(ctx context.Context, ev events.SQSEvent) (answer events.SQSEventResponse, err error) {
				for _, m := range ev.Records {
					handled = append(handled, m.MessageId)
				}
				if ev.Records[0].MessageId == "a" {
					time.Sleep(time.Hour)
					beside, err := handler(ctx, batch("x"))
					if got := failures(beside); err != nil || !slices.Equal(got, []string{"x"}) {
						t.Errorf("%s: beside the batch %v come back, error %v", kind, got, err)
					}
					return answer, ctx.Err()
				}
				return answer, err
			})
			for _, messages := range [][]string{{"a", "b", "c"}, {"d", "e"}} {
				if _, err := handler(t.Context(), batch(messages...)); err != nil {
					t.Error(err)
				}
			}
			if want := []string{"a", "b", "d", "e"}; !slices.Equal(handled, want) {
				t.Errorf("%s: handled %v, want %v", kind, handled, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, rules, slidegate.WithClock(time.Now))
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, id := range []string{"a", "b", "c", "d"} { // the first has its turn, and the others would have taken all places
			var q queue
			answer, err := limitlambda.WrapSQS(g, q.handle)(soon, batch(id))
			if err != nil || (len(q.got) == 1) != (id == "a") {
				t.Errorf("message %s: handled %v, %v come back, error %v", id, q.got, failures(answer), err)
			}
		}
		for range 2 {
			if d, err := g.Decide(t.Context(), &gate.Request{Method: "POST", Path: "/"}); err != nil || !d.Allowed {
				t.Errorf("a message that was denied for its turn keeps its place: %+v, %v", d, err)
			}
		}
	})
}

// TestLostPlace: the context of a handler ends when its request, or a message of
// its batch, loses the place.
func TestLostPlace(t *testing.T) {
	lost := func(t *testing.T) *slidegate.Limiter {
		return newLimiter(t, slidegate.InFlight(2, time.Minute), slidegate.WithClock(time.Now), slidegate.WithName("work"),
			slidegate.WithLogger(slog.New(slog.DiscardHandler)), slidegate.WithStore(limittest.NewStore(limittest.Count(), limittest.Fail(slidegate.ErrClosed))))
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := limitlambda.WrapSQSLimiter(lost(t), func(events.SQSMessage) string { return "all" }, func(ctx context.Context, _ events.SQSEvent) (a events.SQSEventResponse, err error) {
			<-ctx.Done()
			return a, context.Cause(ctx)
		})(t.Context(), batch("a"))
		if !errors.Is(err, slidegate.ErrClosed) {
			t.Errorf("a batch: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var ev events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(eventFile(t, "http"), &ev); err != nil {
			t.Fatal(err)
		}
		var cause error
		h := limitlambda.WrapLimiter(lost(t), nil, func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (a events.APIGatewayV2HTTPResponse, err error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return a, nil
		})
		if _, err := h(t.Context(), ev); err != nil || !errors.Is(cause, slidegate.ErrClosed) {
			t.Errorf("a request: %v, %v", cause, err)
		}
	})
}
