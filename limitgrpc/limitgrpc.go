// Package limitgrpc limits gRPC calls: servers deny calls above a limit, and
// clients wait for their turn.
//
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(limitgrpc.UnaryServerInterceptor(lim)),
//		grpc.StreamInterceptor(limitgrpc.StreamServerInterceptor(lim)))
//
// A stream counts once, when it opens, whatever it then sends. Calls and streams
// have places [slidegate.InFlight] until their handlers return. If a call loses its
// place, its context ends.
package limitgrpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Option sets up an interceptor.
type Option func(*config)

// config is what options fill in.
type config struct {
	key  func(ctx context.Context, fullMethod string) string
	cost func(ctx context.Context, fullMethod string) int64
}

// WithKey says what calls are counted by: calls with equal keys share the
// limits. A full method is such as "/shop.Orders/List". The default is [ByPeer]
// on servers, and the target of the connection in clients.
//
// A server must not count by what a client may make up, such as unverified
// metadata: each new key has the limits to itself.
//
//	limitgrpc.WithKey(func(ctx context.Context, fullMethod string) string {
//		return user(ctx) + fullMethod // each user has the limits for each method
//	})
func WithKey(key func(ctx context.Context, fullMethod string) string) Option {
	return func(c *config) { c.key = key }
}

// WithCost says how many units a call takes. The default is 1. A call of 0 units
// passes without a look at the limits, such as a health check.
func WithCost(cost func(ctx context.Context, fullMethod string) int64) Option {
	return func(c *config) { c.cost = cost }
}

// newConfig returns what options fill in; key is the default.
func newConfig(options []Option, key func(context.Context, string) string) config {
	c := config{key, func(context.Context, string) int64 { return 1 }}
	for _, o := range options {
		o(&c)
	}
	return c
}

// undecided is the error of a call that the limiter did not decide. The other
// side gets the code and a message; interceptors of this side can unwrap the
// cause, which may name hosts and tables.
type undecided struct{ cause error }

func (u *undecided) Error() string { return u.GRPCStatus().Message() + ": " + u.cause.Error() }

func (u *undecided) Unwrap() error { return u.cause }

// GRPCStatus is what gRPC sends.
func (u *undecided) GRPCStatus() *status.Status {
	return status.New(codes.Unavailable, "the rate limiter did not decide")
}

// noDecision returns the status of a call without a decision: that of its
// context if the call has ended, else Unavailable.
func noDecision(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return &undecided{err}
}
