package limitgrpc_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitgrpc"
	"github.com/slidegate/slidegate/limittest"
)

// opened is a stream of a client.
type opened struct {
	grpc.ServerStream
	ctx context.Context
}

func (o *opened) Context() context.Context { return o.ctx }

func (o *opened) SetHeader(metadata.MD) error { return nil }

// both makes a call, and opens a stream, whose handlers do the same.
func both(ctx context.Context, lim *slidegate.Limiter, handle func(context.Context) error) map[string]func() error {
	return map[string]func() error{
		"a call": func() error {
			_, err := limitgrpc.UnaryServerInterceptor(lim)(ctx, nil, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) { return nil, handle(ctx) })
			return err
		},
		"a stream": func() error {
			return limitgrpc.StreamServerInterceptor(lim)(nil, &opened{ctx: ctx}, &grpc.StreamServerInfo{}, func(_ any, s grpc.ServerStream) error { return handle(s.Context()) })
		},
	}
}

// TestPlaces: calls and streams have their places until their handlers return.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.InFlight(1, time.Minute), slidegate.WithClock(time.Now))
		beside := both(t.Context(), lim, func(context.Context) error { return nil })
		for name, call := range both(t.Context(), lim, func(context.Context) error {
			time.Sleep(time.Hour)
			for other, call := range beside {
				if err := call(); status.Code(err) != codes.ResourceExhausted {
					t.Errorf("%s beside another: %v", other, err)
				}
			}
			return errors.New("failed")
		}) {
			if err := call(); err == nil || err.Error() != "failed" {
				t.Errorf("%s: %v", name, err)
			}
			if err := beside[name](); err != nil {
				t.Errorf("%s after another: %v", name, err)
			}
		}
	})
}

// TestLostPlace: the context of a call or a stream ends when it loses its place.
func TestLostPlace(t *testing.T) {
	for _, name := range []string{"a call", "a stream"} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, slidegate.InFlight(1, time.Minute), slidegate.WithClock(time.Now), slidegate.WithName("work"),
				slidegate.WithLogger(slog.New(slog.DiscardHandler)), slidegate.WithStore(limittest.NewStore(limittest.Count(), limittest.Fail(slidegate.ErrClosed))))
			err := both(t.Context(), lim, func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})[name]()
			if !errors.Is(err, slidegate.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestPlaceOfDelayedCall: a call that would end before its turn has no place.
func TestPlaceOfDelayedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.InFlight(1, time.Minute), slidegate.LeakyBucket(1, time.Minute, 9), slidegate.WithClock(time.Now))
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i, want := range []codes.Code{codes.OK, codes.DeadlineExceeded, codes.DeadlineExceeded} {
			if err := both(soon, lim, func(context.Context) error { return nil })["a call"](); status.Code(err) != want {
				t.Errorf("call %d: %v, want %v", i, err, want)
			}
		}
	})
}
