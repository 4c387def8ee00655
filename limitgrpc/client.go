package limitgrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/slidegate/slidegate"
)

// UnaryClientInterceptor holds back calls until the limits allow them, so that
// the client keeps within what the other side grants. The context bounds the
// wait. The call fails, and nothing is sent, with:
//   - [codes.DeadlineExceeded], at once, if its deadline is before its turn;
//   - [codes.Canceled] if it is cancelled while it waits;
//   - [codes.ResourceExhausted] if it costs more than the limits can ever hold;
//   - [codes.Unavailable] if there is no decision, because the limiter has the
//     policy [slidegate.FailError] and the store did not answer.
//
// A call without a deadline waits as long as it takes. Retries that gRPC makes by
// itself are not counted.
func UnaryClientInterceptor(lim *slidegate.Limiter, options ...Option) grpc.UnaryClientInterceptor {
	c := newConfig(options, nil)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if err := c.await(ctx, lim, method, cc); err != nil {
			return err
		}
		return invoker(ctx, method, req, reply, cc, opts...)
	}
}

// StreamClientInterceptor holds back the opening of streams, as
// [UnaryClientInterceptor] does calls. Their messages are not counted.
func StreamClientInterceptor(lim *slidegate.Limiter, options ...Option) grpc.StreamClientInterceptor {
	c := newConfig(options, nil)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if err := c.await(ctx, lim, method, cc); err != nil {
			return nil, err
		}
		return streamer(ctx, desc, cc, method, opts...)
	}
}

// await waits for the turn of a call.
func (c *config) await(ctx context.Context, lim *slidegate.Limiter, method string, cc *grpc.ClientConn) error {
	cost := c.cost(ctx, method)
	if cost == 0 {
		return nil
	}
	key := cc.Target()
	if c.key != nil {
		key = c.key(ctx, method)
	}
	err := lim.WaitN(ctx, key, cost)
	_, bounded := ctx.Deadline()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, slidegate.ErrNever):
		return status.Error(codes.ResourceExhausted, slidegate.ErrNever.Error())
	case ctx.Err() == nil && bounded && errors.Is(err, context.DeadlineExceeded): // the deadline is before the turn
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return noDecision(ctx, err)
}
