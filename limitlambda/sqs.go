package limitlambda

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/kit/clock"
)

// SQSHandler is a handler of a queue's batches, for lambda.Start of aws-lambda-go.
type SQSHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// SQSOption sets up WrapSQS and WrapSQSLimiter.
type SQSOption func(*sqsConfig)

type sqsConfig struct {
	describe func(events.SQSMessage, *gate.Request)
	hide     func(context.Context, events.SQSMessage, int32)
}

// WithHide hides a denied message from the queue's consumers until it would be
// allowed, for up to 12 hours, by a function that calls SQS:
//
//	limitlambda.WithHide(func(ctx context.Context, m events.SQSMessage, seconds int32) {
//		_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
//			QueueUrl: &queueURL, ReceiptHandle: &m.ReceiptHandle, VisibilityTimeout: seconds,
//		})
//		…
//	})
//
// It is called for one message after the other, before the handler. The function's
// role needs sqs:ChangeMessageVisibility. Without this option, or if the call
// fails, a message comes back after the queue's own visibility timeout. That holds
// too for a message that will never be allowed.
func WithHide(hide func(ctx context.Context, m events.SQSMessage, seconds int32)) SQSOption {
	if hide == nil {
		panic("limitlambda: WithHide: the function is nil")
	}
	return func(c *sqsConfig) { c.hide = hide }
}

// WithMessage completes what the gate's rules see of a message.
func WithMessage(describe func(events.SQSMessage, *gate.Request)) SQSOption {
	if describe == nil {
		panic("limitlambda: WithMessage: the function is nil")
	}
	return func(c *sqsConfig) { c.describe = describe }
}

// WrapSQS limits the messages of a queue's batches by the gate's rules. The handler
// gets those that are allowed; the others go back to the queue. The event source
// mapping needs ReportBatchItemFailures: without it, Lambda would delete them.
//
// Rules see a message as POST to "/" and the queue's name, with its string
// attributes as headers: {header.tenant}. The sender of a message writes these.
// A message has no address; WithMessage adds what else the program knows.
//
// Once the handler has answered, a message counts as answered with status 200, or
// with 500 if the handler reported it as failed; refund_on takes that. If the
// handler returns an error or panics, Lambda puts the whole batch back, and each
// message counts as broken off. Messages report no costs: a limit that settles keeps
// what it has charged.
//
// Of a FIFO queue, a message waits for the earlier ones of its group: if one is
// denied, the later ones go back uncounted.
//
// Each message has its places in flight until the handler returns. If one loses its
// place, the context of the batch ends.
//
// The batch waits for the turns of its messages in a leaky bucket. A turn after the
// function's deadline denies the message, whose charge stays.
//
// Each return to the queue counts as a receive: a redrive policy needs a
// maxReceiveCount that leaves room for it.
func WrapSQS(g *gate.Gate, handler SQSHandler, options ...SQSOption) SQSHandler {
	c := newSQSConfig(options)
	return c.wrap(handler, func(ctx context.Context, m *events.SQSMessage) (charge, context.Context, error) {
		d, err := g.Decide(ctx, c.request(m))
		if err != nil {
			return charge{}, ctx, err
		}
		return charge{d.Result, func(o gate.Outcome) { g.Finish(ctx, d, o) }}, g.Occupy(ctx, d), nil
	})
}

// WrapSQSLimiter limits the messages of a queue's batches by a limiter, as WrapSQS
// does by a gate. The key is what a function makes of a message. Nothing is
// refunded.
func WrapSQSLimiter(lim *slidegate.Limiter, key func(events.SQSMessage) string, handler SQSHandler, options ...SQSOption) SQSHandler {
	c := newSQSConfig(options)
	return c.wrap(handler, func(ctx context.Context, m *events.SQSMessage) (charge, context.Context, error) {
		r, work, finish, err := lim.Begin(ctx, key(*m), 1)
		return charge{r, func(gate.Outcome) { finish() }}, work, err
	})
}

func newSQSConfig(options []SQSOption) *sqsConfig {
	c := &sqsConfig{
		describe: func(events.SQSMessage, *gate.Request) {},
		hide:     func(context.Context, events.SQSMessage, int32) {},
	}
	for _, o := range options {
		o(c)
	}
	return c
}

// request returns what rules see of a message.
func (c *sqsConfig) request(m *events.SQSMessage) *gate.Request {
	headers := make(map[string][]string, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			headers[name] = []string{*a.StringValue}
		}
	}
	queue := m.EventSourceARN[strings.LastIndexByte(m.EventSourceARN, ':')+1:]
	r := &gate.Request{Method: http.MethodPost, Path: "/" + queue, Headers: headers}
	c.describe(*m, r)
	return r
}

// charge is the result for a message, and what finishes an allowed one.
type charge struct {
	slidegate.Result
	finish func(gate.Outcome)
}

// wrap limits the messages of a handler's batches.
func (c *sqsConfig) wrap(handler SQSHandler, decide func(context.Context, *events.SQSMessage) (charge, context.Context, error)) SQSHandler {
	return func(ctx context.Context, ev events.SQSEvent) (answer events.SQSEventResponse, err error) {
		b, whole := batch{held: map[string]bool{}, hide: c.hide}, false
		defer func() { b.finish(whole, answer.BatchItemFailures) }()
		for i := range ev.Records {
			if ctx, err = b.add(ctx, &ev.Records[i], decide); err != nil {
				return answer, err
			}
		}
		if len(b.allowed) > 0 {
			if err := clock.Sleep(ctx, b.delay); err != nil {
				return answer, err
			}
			ev.Records = b.allowed
			if answer, err = handler(ctx, ev); err != nil {
				return answer, err
			}
		}
		whole = true
		answer.BatchItemFailures = append(answer.BatchItemFailures, b.denied...)
		return answer, nil
	}
}

// batch is a batch of messages while it is decided.
type batch struct {
	hide    func(context.Context, events.SQSMessage, int32)
	allowed []events.SQSMessage
	denied  []events.SQSBatchItemFailure
	charged []charge        // of allowed; SQS may deliver a message twice in a batch
	delay   time.Duration   // until all of them have had their turn
	held    map[string]bool // groups of a FIFO queue with a denied message
}

// add decides a message. It returns the context to work under, which ends as well
// when the message loses its place in flight.
func (b *batch) add(
	ctx context.Context, m *events.SQSMessage, decide func(context.Context, *events.SQSMessage) (charge, context.Context, error),
) (context.Context, error) {
	group := m.Attributes["MessageGroupId"]
	if !strings.HasSuffix(m.EventSourceARN, ".fifo") {
		group = ""
	}
	if group != "" && b.held[group] {
		b.deny(m)
		return ctx, nil
	}
	c, work, err := decide(ctx, m)
	if err != nil {
		return ctx, err
	}
	if c.Allowed && !clock.EndsBefore(ctx, c.Delay) {
		b.allowed, b.charged, b.delay = append(b.allowed, *m), append(b.charged, c), max(b.delay, c.Delay)
		return work, nil
	}
	if c.Allowed {
		c.finish(gate.Outcome{}) // the charge stays, and places are given back
	}
	b.deny(m)
	b.held[group] = group != ""
	if wait := max(c.RetryAfter, c.Delay); wait > 0 { // below, waiting does not help
		b.hide(ctx, *m, int32(min((wait+time.Second-1)/time.Second, maxHidden)))
	}
	return ctx, nil
}

// maxHidden is the longest visibility timeout of SQS, in seconds.
const maxHidden = 12 * 60 * 60

func (b *batch) deny(m *events.SQSMessage) {
	b.denied = append(b.denied, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
}

// finish finishes the allowed messages by what the handler has answered. A batch
// that is not whole goes back to the queue.
func (b *batch) finish(whole bool, failed []events.SQSBatchItemFailure) {
	failures := map[string]bool{}
	for _, f := range failed {
		failures[f.ItemIdentifier] = true
	}
	for i, c := range b.charged {
		o := gate.Outcome{Status: http.StatusOK, Aborted: !whole}
		if !whole || failures[b.allowed[i].MessageId] {
			o.Status = http.StatusInternalServerError
		}
		c.finish(o)
	}
}
