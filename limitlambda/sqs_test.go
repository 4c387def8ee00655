package limitlambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/limittest"
)

const perTenant = `rules: [{name: tenant, when: {methods: [POST], path: /my-queue}, key: "{header.tenant}", limit: 2/minute}]`

// queue is a handler that keeps what it gets, and the messages that were hidden.
type queue struct {
	got    []string
	hidden []string
	answer events.SQSEventResponse
	err    error
	broken bool
}

func (q *queue) handle(_ context.Context, ev events.SQSEvent) (events.SQSEventResponse, error) {
	for _, m := range ev.Records {
		q.got = append(q.got, m.MessageId)
	}
	if q.broken {
		panic("boom")
	}
	return q.answer, q.err
}

func (q *queue) hide(_ context.Context, m events.SQSMessage, seconds int32) {
	q.hidden = append(q.hidden, fmt.Sprint(m.ReceiptHandle, " ", seconds))
}

// batch returns messages "id", or "id group" of a FIFO queue, of one tenant.
func batch(messages ...string) (ev events.SQSEvent) {
	tenant := "acme"
	for _, text := range messages {
		id, group, fifo := strings.Cut(text, " ")
		m := events.SQSMessage{
			MessageId: id, ReceiptHandle: "r-" + id, EventSourceARN: "arn:aws:sqs:us-east-2:123456789012:my-queue",
			MessageAttributes: map[string]events.SQSMessageAttribute{"tenant": {StringValue: &tenant, DataType: "String"}},
		}
		if fifo {
			m.EventSourceARN += ".fifo"
			m.Attributes = map[string]string{"MessageGroupId": group}
		}
		ev.Records = append(ev.Records, m)
	}
	return ev
}

func failures(a events.SQSEventResponse) (ids []string) {
	for _, f := range a.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

// TestSQS sends the documented event through the runtime's encoding: two tenants,
// of which one has a message too many.
func TestSQS(t *testing.T) {
	var q queue
	var seen limittest.Recorder
	handler := limitlambda.WrapSQS(newGate(t, perTenant, slidegate.WithObserver(seen.Observe)), q.handle, limitlambda.WithHide(q.hide))
	got := invoke(t, handler, eventFile(t, "sqs")) + "\n" + fmt.Sprint("handled ", q.got, "\nhidden ", q.hidden, "\n")
	for _, e := range seen.Events() {
		got += e.Rule + " " + e.Key + "\n"
	}
	golden.Check(t, filepath.Join("testdata", "sqs.golden"), got)
}

// TestBatches: which messages the handler gets, which go back, and how long these
// are hidden.
func TestBatches(t *testing.T) {
	const week = `rules: [{name: tenant, key: all, limits: [{capacity: 2, window: 1w}]}]`
	const fifo = `rules: [{name: tenant, key: all, limit: 2/minute}]`
	for name, test := range map[string]struct {
		rules                       string
		sent, handled, back, hidden string
	}{
		"all fit":                    {perTenant, "1,2", "1,2", "", ""},
		"some go back":               {perTenant, "1,2,3,4", "1,2", "3,4", "r-3 61,r-4 61"},
		"none":                       {perTenant, "", "", "", ""},
		"no group is held elsewhere": {perTenant, "1,2,3,4,5", "1,2", "3,4,5", "r-3 61,r-4 61,r-5 61"},
		"half a day at most":         {week, "1,2,3", "1,2", "3", "r-3 43200"},
		"banned ones are not hidden": {"deny: [{path: /my-queue}]\nrules: []", "1", "", "1", ""},
		"too costly for ever":        {`rules: [{name: a, key: all, limits: [{capacity: 2, window: 60s, cost: {from: header.tenant, min: 1, max: 5}}]}]`, "1", "", "1", ""},
		"a group keeps its order":    {fifo, "1 a,2 a,3 a,4 a", "1,2", "3,4", "r-3 61"},
		"another group goes on":      {fifo, "1 a,2 b,3 a,4 a,5 b", "1,2", "3,4,5", "r-3 61,r-5 61"},
	} {
		var q queue
		answer, err := limitlambda.WrapSQS(newGate(t, test.rules), q.handle, limitlambda.WithHide(q.hide))(t.Context(), batch(fields(test.sent)...))
		got := []string{strings.Join(q.got, ","), strings.Join(failures(answer), ","), strings.Join(q.hidden, ",")}
		if want := []string{test.handled, test.back, test.hidden}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

func fields(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// TestBatchOutcomes: messages that failed are refunded, and so is a batch that the
// handler gave up. Its error reaches the runtime, which puts all messages back.
func TestBatchOutcomes(t *testing.T) {
	const refunding = `rules: [{name: all, key: all, refund_on: [5xx], limit: 10/minute}]`
	failed := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "2"}}}
	for name, test := range map[string]struct {
		queue queue
		left  int64 // of 10, after three messages
		back  string
	}{
		"handled":  {queue{}, 7, "[]"},
		"one left": {queue{answer: failed}, 8, "[2]"},
		"an error": {queue{err: errors.New("boom")}, 10, "[]"},
		"a panic":  {queue{broken: true}, 10, "[]"},
	} {
		g := newGate(t, refunding)
		var answer events.SQSEventResponse
		got := failureOf(func() (err error) {
			answer, err = limitlambda.WrapSQS(g, test.queue.handle)(t.Context(), batch("1", "2", "3"))
			return err
		})
		if want := map[bool]any{true: "boom", false: error(test.queue.err)}[test.queue.broken]; got != want {
			t.Errorf("%s: the runtime gets %v, want %v", name, got, want)
		}
		d, err := g.Decide(t.Context(), &gate.Request{Method: "GET", Path: "/"})
		if err != nil || d.Remaining != test.left-1 || fmt.Sprint(failures(answer)) != test.back {
			t.Errorf("%s: %d left, %v back, %v; want %d, %s", name, d.Remaining+1, failures(answer), err, test.left, test.back)
		}
	}
}

// TestSQSLimiter counts by a key of the message.
func TestSQSLimiter(t *testing.T) {
	lim := newLimiter(t, slidegate.SlidingWindow(1, time.Minute), slidegate.WithClock(limittest.NewClock(noon).Now))
	var q queue
	byBody := func(m events.SQSMessage) string { return m.Body }
	ev := batch("1", "2", "3")
	ev.Records[2].Body = "other"
	answer, err := limitlambda.WrapSQSLimiter(lim, byBody, q.handle, limitlambda.WithHide(q.hide))(t.Context(), ev)
	if got := fmt.Sprint(q.got, failures(answer), q.hidden, err); got != "[1 3] [2] [r-2 61] <nil>" {
		t.Error(got)
	}
}

// TestDescribeMessage: the program can tell rules what stands in a message's body.
func TestDescribeMessage(t *testing.T) {
	var seen limittest.Recorder
	g := newGate(t, `rules: [{name: user, key: "{jwt.user}", limit: 2/minute}]`, slidegate.WithObserver(seen.Observe))
	ev := batch("1")
	ev.Records[0].Body = `{"user": "7"}`
	var q queue
	_, err := limitlambda.WrapSQS(g, q.handle, limitlambda.WithMessage(func(m events.SQSMessage, r *gate.Request) {
		_ = json.Unmarshal([]byte(m.Body), &r.Claims)
	}))(t.Context(), ev)
	if err != nil || seen.Events()[0].Key != "7" {
		t.Errorf("%v, %v", seen.Events(), err)
	}
}

// TestBatchDelays: the batch waits for the turns of its messages, but not beyond the
// function's deadline.
func TestBatchDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.LeakyBucket(1, time.Second, 10))
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var q queue
		start, one := time.Now(), func(events.SQSMessage) string { return "all" }
		answer, err := limitlambda.WrapSQSLimiter(lim, one, q.handle, limitlambda.WithHide(q.hide))(ctx, batch("1", "2", "3", "4"))
		if got := fmt.Sprint(time.Since(start), q.got, failures(answer), q.hidden, err); got != "2s [1 2 3] [4] [r-4 3] <nil>" {
			t.Error(got)
		}
	})
}

// TestUndecidedBatch: without decisions the whole batch goes back.
func TestUndecidedBatch(t *testing.T) {
	lim := newLimiter(t, slidegate.FixedWindow(9, time.Minute), slidegate.WithName("api"), slidegate.FailError(),
		slidegate.WithStore(limittest.NewStore(limittest.Allow(), limittest.Fail(errors.New("connection refused")))))
	var q queue
	if _, err := limitlambda.WrapSQSLimiter(lim, func(events.SQSMessage) string { return "all" }, q.handle)(t.Context(), batch("1", "2")); err == nil || len(q.got) > 0 {
		t.Errorf("handled %v, %v", q.got, err)
	}
}

// TestNilFunctions: a program without the function fails when it starts, not with
// the first message.
func TestNilFunctions(t *testing.T) {
	for want, option := range map[string]func() error{
		"limitlambda: WithHide: the function is nil":    func() error { return second(limitlambda.WithHide(nil), nil) },
		"limitlambda: WithMessage: the function is nil": func() error { return second(limitlambda.WithMessage(nil), nil) },
	} {
		if got := failureOf(option); got != want {
			t.Errorf("panics with %v, want %s", got, want)
		}
	}
}
