package outage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// call is one call of DynamoDB on its way.
type call struct {
	environment *environment
	request     *request
	members     []*request // whose charges a write makes
	more        bool       // the write makes more charges than this one
	in          any
	sent        clock.Reading
	lost        bool // its answer is lost or too late
	over        bool // the store has been answered
	date        time.Time
	out         any
	err         error
	answered    chan struct{}
}

// name distinguishes the calls that a store makes at one time.
func (c *call) name() string { return fmt.Sprintf("%T %s", c.in, c.key()) }

func (c *call) key() string {
	switch in := c.in.(type) {
	case *dynamodb.UpdateItemInput:
		return keyOf(in.Key)
	case *dynamodb.GetItemInput:
		return keyOf(in.Key)
	case *dynamodb.DeleteItemInput:
		return keyOf(in.Key)
	}
	return ""
}

func keyOf(key map[string]types.AttributeValue) string {
	s, _ := key["k"].(*types.AttributeValueMemberS)
	return s.Value
}

type requestKey struct{}

// send sends a call and waits for its answer.
func send[Out any](ctx context.Context, e *environment, in any) (out *Out, err error) {
	r, _ := ctx.Value(requestKey{}).(*request)
	c := &call{environment: e, request: r, in: in, answered: make(chan struct{})}
	for _, caller := range dynamo.Callers(ctx) {
		member, _ := caller.Value(requestKey{}).(*request)
		c.members = append(c.members, member)
	}
	e.world.post(c)
	out, _ = c.out.(*Out)
	return out, c.err
}

// UpdateItem, GetItem and DeleteItem make an environment the client of its own
// store.
func (e *environment) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return send[dynamodb.UpdateItemOutput](ctx, e, in)
}

func (e *environment) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return send[dynamodb.GetItemOutput](ctx, e, in)
}

func (e *environment) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return send[dynamodb.DeleteItemOutput](ctx, e, in)
}

// dispatch draws the fate of a call: whether and when it takes effect,
// and when the store gets which answer.
func (w *world) dispatch(c *call) {
	f := w.plan.Network.draw(w, c)
	c.sent, c.lost = c.environment.reading(), f.failure != nil
	if !f.dropped {
		w.pending++
		w.queue.push(f.effect, func() {
			w.pending--
			w.apply(c)
		})
	}
	w.pending++
	w.queue.push(f.answer, func() {
		w.pending--
		w.answer(c, f.failure)
	})
}

// answer gives the store the outcome of its call, so that the store continues.
func (w *world) answer(c *call, failure error) {
	c.over = true
	if failure != nil {
		c.out, c.err = nil, failure
	} else {
		c.environment.clock.Observe(c.sent, c.date)
	}
	close(c.answered)
	w.settle()
}

// apply makes a call take effect.
func (w *world) apply(c *call) {
	ctx := context.Background()
	var out any
	var err error
	switch in := c.in.(type) {
	case *dynamodb.UpdateItemInput:
		w.mutation.ApplyToItem(in)
		out, err = w.table.UpdateItem(ctx, in)
		w.updated(c, err)
	case *dynamodb.GetItemInput:
		out, err = w.table.GetItem(ctx, in)
		w.count("reads", 1)
	case *dynamodb.DeleteItemInput:
		out, err = w.table.DeleteItem(ctx, in)
		w.count("resets", 1)
		w.counters[c.key()].restart(w)
	}
	if !c.over {
		c.out, c.err, c.date = out, err, serverDate(w.now)
	}
}

// Network describes the latency of calls to DynamoDB, and how often they fail,
// in shares of all calls.
type Network struct {
	Latency  time.Duration // one way, the least; on the average a quarter more
	Slow     float64       // takes up to a hundred times as long
	Deadline time.Duration // for all calls of a request together

	Throttled    float64       // refused and not done
	LostRequests float64       // not done, and never answered
	LostAnswers  float64       // done, but the connection breaks
	Stuck        float64       // done after the deadline
	StuckFor     time.Duration // by so much, on the average
}

// fate is the outcome of a call.
type fate struct {
	dropped bool  // it never takes effect
	effect  int64 // when it takes effect
	answer  int64 // when the store gets its answer
	failure error // the error that the store gets in place of the answer
}

var errReset = errors.New("connection reset by peer")

func (n *Network) draw(w *world, c *call) fate {
	deadline := max(w.now, c.request.trueNow+int64(n.Deadline))
	f := fate{effect: w.now + int64(n.latency(w))}
	f.answer = f.effect + int64(n.latency(w))
	switch u := w.Float64(); {
	case below(&u, n.Throttled):
		f.dropped = true
		f.failure = &types.ProvisionedThroughputExceededException{Message: aws.String("the table is throttled")}
	case below(&u, n.LostRequests):
		f.dropped, f.answer, f.failure = true, deadline, context.DeadlineExceeded
	case below(&u, n.LostAnswers):
		f.failure = errReset
	case below(&u, n.Stuck):
		f.effect = deadline + int64(w.exponential(n.StuckFor))
		f.answer, f.failure = deadline, context.DeadlineExceeded
	}
	if f.answer > deadline {
		f.answer, f.failure = deadline, context.DeadlineExceeded
	}
	return f
}

// below reports whether u falls into the next share of [0, 1), and takes that
// share off it.
func below(u *float64, share float64) bool {
	*u -= share
	return *u < 0
}

func (n *Network) latency(w *world) time.Duration {
	d := n.Latency + w.exponential(n.Latency/4)
	if w.chance(n.Slow) {
		d += time.Duration(w.Int64N(int64(100*n.Latency) + 1))
	}
	return d
}

// updated records the outcome of a write. The table may refuse it for its
// condition alone.
func (w *world) updated(c *call, err error) {
	w.count("writes", 1)
	k := w.counters[c.key()]
	if k != c.request.counter {
		w.count("pruning writes", 1) // nothing else writes a counter that the request is not about
	}
	refused := new(types.ConditionalCheckFailedException)
	switch {
	case err != nil && !errors.As(err, &refused):
		k.violated(w, "the table refuses a write as invalid: "+err.Error())
	case err != nil && k == c.request.counter:
		for _, member := range c.members {
			member.attempts++
		}
		k.note(w, "refused by %d", c.environment.number)
	case err != nil:
	case k != c.request.counter:
		k.stored(w, w.table.Item(k.key))
		k.note(w, "pruned by %d", c.environment.number)
	default:
		for i, member := range c.members {
			member.attempts++
			one := *c
			one.request, one.more = member, i+1 < len(c.members)
			k.charge(w, &one, w.table.Item(k.key))
		}
	}
}
