package outage

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
