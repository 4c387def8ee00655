package limitgrpc_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitgrpc"
)

// The methods of the health service: a call, and a stream.
const (
	check = "/grpc.health.v1.Health/Check"
	watch = "/grpc.health.v1.Health/Watch"
)

// caller makes calls to a health service on bufconn.
type caller struct {
	t      *testing.T
	client grpc_health_v1.HealthClient
}

// serve starts a server, and a client of it. Within a bubble of synctest, time
// passes while all wait.
func serve(t *testing.T, server []grpc.ServerOption, client ...grpc.DialOption) *caller {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	s := grpc.NewServer(server...)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:health", append(client,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if err := errors.Join(conn.Close(), <-served); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return &caller{t, grpc_health_v1.NewHealthClient(conn)}
}

// limited returns a server's options for both kinds of methods.
func limited(lim *slidegate.Limiter, options ...limitgrpc.Option) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.UnaryInterceptor(limitgrpc.UnaryServerInterceptor(lim, options...)),
		grpc.StreamInterceptor(limitgrpc.StreamServerInterceptor(lim, options...)),
	}
}

// waiting returns a client's options for both kinds of methods.
func waiting(lim *slidegate.Limiter, options ...limitgrpc.Option) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(limitgrpc.UnaryClientInterceptor(lim, options...)),
		grpc.WithStreamInterceptor(limitgrpc.StreamClientInterceptor(lim, options...)),
	}
}

// call makes one call, or opens a stream and reads its first message. It
// returns the header and the error.
func (c *caller) call(ctx context.Context, method string) (md metadata.MD, err error) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if method == check {
		_, err = c.client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&md))
		return md, err
	}
	stream, err := c.client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return nil, err
	}
	if md, err = stream.Header(); err == nil {
		_, err = stream.Recv()
	}
	return md, err
}

func (c *caller) want(ctx context.Context, method string, want codes.Code) (metadata.MD, *status.Status) {
	c.t.Helper()
	md, err := c.call(ctx, method)
	if got := status.Code(err); got != want {
		c.t.Errorf("%s: code %v, want %v: %v", method, got, want, err)
	}
	return md, status.Convert(err)
}

func newLimiter(t *testing.T, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// retryDelay returns what a status says about retries; slidegate.Never if it
// says nothing.
func retryDelay(s *status.Status) time.Duration {
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.GetRetryDelay().AsDuration()
		}
	}
	return slidegate.Never
}

// TestServer: the limit is for both kinds of methods, and the answer has its
// numbers.
func TestServer(t *testing.T) {
	for _, method := range []string{check, watch} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := serve(t, limited(newLimiter(t, slidegate.FixedWindow(2, time.Minute))))
				for _, step := range []struct {
					wait                                time.Duration
					code                                codes.Code
					limit, remaining, reset, retryAfter string
				}{ // a bubble starts at midnight
					{0, codes.OK, "2", "1", "60", ""},
					{500 * time.Millisecond, codes.OK, "2", "0", "60", ""},
					{18 * time.Second, codes.ResourceExhausted, "2", "0", "42", "42"},
					{41500 * time.Millisecond, codes.OK, "2", "1", "60", ""},
				} {
					time.Sleep(step.wait)
					md, s := c.want(t.Context(), method, step.code)
					for key, want := range map[string]string{
						limitgrpc.MetadataLimit: step.limit, limitgrpc.MetadataRemaining: step.remaining,
						limitgrpc.MetadataReset: step.reset, limitgrpc.MetadataRetryAfter: step.retryAfter,
					} {
						if got := first(md, key); got != want {
							t.Errorf("%v: %s: %q, want %q", step, key, got, want)
						}
					}
					if got := retryDelay(s); step.code != codes.OK && got != 41500*time.Millisecond {
						t.Errorf("RetryInfo: %v", got)
					}
				}
			})
		})
	}
}

func first(md metadata.MD, key string) string {
	if v := md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// TestServerOptions: keys have the limit to themselves, and a cost of 0 passes.
func TestServerOptions(t *testing.T) {
	lim := newLimiter(t, slidegate.FixedWindow(2, time.Hour))
	byMethod := limitgrpc.WithKey(func(_ context.Context, fullMethod string) string { return fullMethod })
	c := serve(t, limited(lim, byMethod, limitgrpc.WithCost(func(_ context.Context, fullMethod string) int64 {
		return map[string]int64{check: 2, watch: 0}[fullMethod]
	})))
	c.want(t.Context(), check, codes.OK)
	c.want(t.Context(), check, codes.ResourceExhausted)
	for range 5 {
		if md, _ := c.want(t.Context(), watch, codes.OK); first(md, limitgrpc.MetadataLimit) != "" {
			t.Errorf("a call of no units has numbers: %v", md)
		}
	}
	if _, s := serve(t, limited(lim, limitgrpc.WithCost(func(context.Context, string) int64 { return 3 }))).
		want(t.Context(), check, codes.ResourceExhausted); retryDelay(s) != slidegate.Never {
		t.Errorf("the answer to a call that can never pass says to retry: %v", s)
	}
}

// TestServerDelay: calls wait for their turn in a leaky bucket, unless they would
// end before.
func TestServerDelay(t *testing.T) {
	for _, method := range []string{check, watch} {
		synctest.Test(t, func(t *testing.T) {
			c := serve(t, limited(newLimiter(t, slidegate.LeakyBucket(10, time.Second, 5))))
			start := time.Now()
			for i := range 3 {
				c.want(t.Context(), method, codes.OK)
				if got, want := time.Since(start), time.Duration(i)*100*time.Millisecond; got != want {
					t.Errorf("%s %d after %v, want %v", method, i, got, want)
				}
			}
			soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			before := time.Now()
			c.want(soon, method, codes.DeadlineExceeded)
			if got := time.Since(before); got >= 50*time.Millisecond {
				t.Errorf("%s: failed after %v: it did not fail at once", method, got)
			}
		})
	}
}

// failing returns a limiter whose store is full of other keys, so that it
// decides nothing.
func failing(t *testing.T) *slidegate.Limiter {
	t.Helper()
	lim := newLimiter(t, slidegate.FixedWindow(1, time.Hour), slidegate.WithName("full"),
		slidegate.WithStore(slidegate.NewMemory(1)), slidegate.FailError())
	for i := range 10_000 { // far more than the store keeps, so that each of its shards is full
		if _, err := lim.Allow(t.Context(), strconv.Itoa(i)); err != nil && !errors.Is(err, slidegate.ErrUndecided) {
			t.Fatal(err)
		}
	}
	return lim
}

// TestNoDecision: a limiter that fails gives Unavailable to both sides, and no
// word about its store to clients.
func TestNoDecision(t *testing.T) {
	lim := failing(t)
	for _, method := range []string{check, watch} {
		_, s := serve(t, limited(lim)).want(t.Context(), method, codes.Unavailable)
		if got := s.Message(); got != "the rate limiter did not decide" {
			t.Errorf("%s: a server says %q", method, got)
		}
		_, err := serve(t, nil, waiting(lim)...).call(t.Context(), method)
		if !errors.Is(err, slidegate.ErrUndecided) || status.Code(err) != codes.Unavailable {
			t.Errorf("%s: a client fails with %v", method, err)
		}
	}
	_, err := limitgrpc.UnaryServerInterceptor(lim)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: check}, nil)
	if !errors.Is(err, slidegate.ErrUndecided) {
		t.Errorf("the error of an interceptor wraps no cause: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = limitgrpc.UnaryServerInterceptor(lim)(ended, nil, &grpc.UnaryServerInfo{FullMethod: check}, nil)
	if status.Code(err) != codes.Canceled {
		t.Errorf("a call that has ended: %v", err)
	}
}

// TestClient: calls wait until the limit allows them. One that would wait past
// its deadline fails at once, and the server does not get it.
func TestClient(t *testing.T) {
	for _, method := range []string{check, watch} {
		synctest.Test(t, func(t *testing.T) {
			lim, seen := newLimiter(t, slidegate.FixedWindow(1, time.Minute)), newLimiter(t, slidegate.FixedWindow(100, time.Hour))
			c := serve(t, limited(seen), waiting(lim)...)
			start := time.Now()
			for i := range 3 {
				c.want(t.Context(), method, codes.OK)
				if got, want := time.Since(start), time.Duration(i)*time.Minute; got != want {
					t.Errorf("%s %d after %v, want %v", method, i, got, want)
				}
			}
			soon, cancel := context.WithTimeout(t.Context(), 59*time.Second)
			defer cancel()
			before := time.Now()
			c.want(soon, method, codes.DeadlineExceeded)
			if got := time.Since(before); got != 0 {
				t.Errorf("%s: failed after %v: it did not fail at once", method, got)
			}
			hangsUp, cancel := context.WithCancel(t.Context())
			time.AfterFunc(30*time.Second, cancel)
			c.want(hangsUp, method, codes.Canceled)
			if got := time.Since(before); got != 30*time.Second {
				t.Errorf("%s: cancelled after %v", method, got)
			}
			if r, err := seen.Peek(t.Context(), "bufconn"); err != nil || r.Remaining != 97 {
				t.Errorf("%s: the server has %d units left of 100, after 3 calls: %v", method, r.Remaining, err)
			}
		})
	}
}

// TestClientOptions: the default key is the target; a cost of 0 does not wait.
func TestClientOptions(t *testing.T) {
	lim := newLimiter(t, slidegate.FixedWindow(1, time.Hour))
	c := serve(t, nil, waiting(lim)...)
	c.want(t.Context(), check, codes.OK)
	if r, err := lim.Peek(t.Context(), "passthrough:health"); err != nil || r.Remaining != 0 {
		t.Errorf("the key is not the target: %+v, %v", r, err)
	}
	for cost, want := range map[int64]codes.Code{0: codes.OK, 2: codes.ResourceExhausted} {
		byCost := limitgrpc.WithCost(func(context.Context, string) int64 { return cost })
		byKey := limitgrpc.WithKey(func(_ context.Context, fullMethod string) string { return fullMethod })
		serve(t, nil, waiting(lim, byCost, byKey)...).want(t.Context(), check, want)
	}
}

// TestByPeer lists what clients are counted by.
func TestByPeer(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		want string
	}{
		{nil, ""},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234}, "192.0.2.1"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:3:4:5:6"), Port: 1234}, "2001:db8:1:2::/64"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1234, Zone: "eth0"}, "fe80::/64"},
		{&net.UnixAddr{Name: "/run/api.sock", Net: "unix"}, "/run/api.sock"},
	} {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: c.addr})
		if got := limitgrpc.ByPeer(ctx, check); got != c.want {
			t.Errorf("%v: %q, want %q", c.addr, got, c.want)
		}
	}
	if got := limitgrpc.ByPeer(t.Context(), check); got != "" {
		t.Errorf("no peer: %q", got)
	}
}
