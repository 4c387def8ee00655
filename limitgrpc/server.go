package limitgrpc

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/request"
)

// Keys of the metadata in the header of every answer that a limit decided. The
// numbers of a limit are absent if the store did not answer.
const (
	MetadataLimit      = "ratelimit-limit"     // units in the window: "100"
	MetadataRemaining  = "ratelimit-remaining" // units left: "3"
	MetadataReset      = "ratelimit-reset"     // seconds until the key is unused, rounded up: "41"
	MetadataRetryAfter = "retry-after"         // of a denial: seconds until the call would be allowed, rounded up
)

// UnaryServerInterceptor denies calls above the limits, before their handler
// runs. The client gets:
//   - [codes.ResourceExhausted] with an [errdetails.RetryInfo] for a denied call.
//     A call that costs more than the limits can ever hold has no RetryInfo.
//   - [codes.Unavailable] if there is no decision, because the limiter has the
//     policy [slidegate.FailError] and the store did not answer.
//   - [codes.DeadlineExceeded] at once if its deadline is before its turn in a
//     leaky bucket. Other calls wait for their turn.
func UnaryServerInterceptor(lim *slidegate.Limiter, options ...Option) grpc.UnaryServerInterceptor {
	c := newConfig(options, ByPeer)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		setHeader := func(md metadata.MD) { _ = grpc.SetHeader(ctx, md) } // fails if there is no client to tell
		work, finish, err := c.admit(ctx, lim, info.FullMethod, setHeader)
		if err != nil {
			return nil, err
		}
		defer finish()
		return handler(work, req)
	}
}

// StreamServerInterceptor denies streams above the limits when they open, with
// the codes of [UnaryServerInterceptor]. Their messages are not counted.
func StreamServerInterceptor(lim *slidegate.Limiter, options ...Option) grpc.StreamServerInterceptor {
	c := newConfig(options, ByPeer)
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		setHeader := func(md metadata.MD) { _ = stream.SetHeader(md) }
		work, finish, err := c.admit(stream.Context(), lim, info.FullMethod, setHeader)
		if err != nil {
			return err
		}
		defer finish()
		return handler(srv, &working{stream, work})
	}
}

// working is a stream whose context ends when it loses its place in flight.
type working struct {
	grpc.ServerStream
	work context.Context
}

func (w *working) Context() context.Context { return w.work }

// ByPeer is the address of the client without its port, and the /64 network of
// an IPv6 address, because a client may have a whole one. Behind a proxy that is
// the proxy's address, which all clients share: give [WithKey] then.
func ByPeer(ctx context.Context, _ string) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	addr := request.ParseAddr(p.Addr.String())
	if !addr.IsValid() { // a Unix socket
		return p.Addr.String()
	}
	return string(request.AppendNetwork(nil, addr, request.NetworkBits))
}

// admit charges a call, and returns the status of one that must not go on. Another
// call works under a context that ends when it loses its place in flight, which
// finish gives back.
func (c *config) admit(
	ctx context.Context, lim *slidegate.Limiter, method string, setHeader func(metadata.MD),
) (work context.Context, finish func(), err error) {
	cost := c.cost(ctx, method)
	if cost == 0 {
		return ctx, func() {}, nil
	}
	r, work, finish, err := lim.Begin(ctx, c.key(ctx, method), cost)
	if err != nil {
		return nil, nil, noDecision(ctx, err)
	}
	setHeader(header(&r))
	if !r.Allowed {
		return nil, nil, denial(&r)
	}
	if err = delay(work, r.Delay); err != nil {
		finish()
	}
	return work, finish, err
}

// header returns the metadata of a decision.
func header(r *slidegate.Result) metadata.MD {
	md := metadata.MD{}
	if !r.Degraded {
		md.Set(MetadataLimit, strconv.FormatInt(r.Limit, 10))
		md.Set(MetadataRemaining, strconv.FormatInt(r.Remaining, 10))
		md.Set(MetadataReset, seconds(r.ResetAfter))
	}
	if !r.Allowed && r.RetryAfter != slidegate.Never {
		md.Set(MetadataRetryAfter, seconds(r.RetryAfter))
	}
	return md
}

// seconds rounds up, so that no client comes back too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// denial returns the error of a denied call.
func denial(r *slidegate.Result) error {
	if r.RetryAfter == slidegate.Never {
		return status.Error(codes.ResourceExhausted, "the call costs more than the rate limit can ever allow")
	}
	s := status.New(codes.ResourceExhausted, "rate limit exceeded: retry in "+seconds(r.RetryAfter)+" s")
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.RetryAfter)}); err == nil { // it can be encoded
		s = detailed
	}
	return s.Err()
}

// delay waits for the turn of a call in a leaky bucket, or fails at once if the
// call would end before.
func delay(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return status.Errorf(codes.DeadlineExceeded, "the rate limit allows the call in %s s, after its deadline", seconds(d))
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
