package dynamo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/store/breaker"
)

const (
	// connectTimeout bounds each TCP connection, and then its TLS handshake. A
	// command must answer within seconds even if nothing listens.
	connectTimeout = 2 * time.Second
	// maxConnections bounds the connections, including the ones that are being
	// dialed. net/http continues to dial for requests that have given up, so
	// connects that hang would pile up. Requests above the bound wait for a
	// connection that is free. 128 serve 20,000 calls a second at 6 ms each.
	maxConnections = 128
	// maxIdle bounds the connections that are kept between requests.
	maxIdle = 64
	// MaxLookups bounds the lookups under way in a table of rules. Those that hang
	// must leave connections to the counters.
	MaxLookups = maxConnections / 2
)

// Client is a DynamoDB client that corrects its clock by DynamoDB's answers.
type Client struct {
	*dynamodb.Client
	Clock   *Clock
	sender  *sender
	fast    *fastUpdate      // nil if the SDK makes every call
	breaker *breaker.Breaker // nil for none
}

// Transport returns the HTTP client of DynamoDB's clients, with the bounds above.
// Otherwise it is the SDK's default.
func Transport() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = connectTimeout
			t.MaxIdleConnsPerHost, t.MaxConnsPerHost = maxIdle, maxConnections
		})
}

// NewClient returns a client of its own with the settings of another, which it
// leaves as it is. The SDK never retries: a charge that was sent twice could
// count twice. now is time.Now.
func NewClient(like *dynamodb.Client, now func() time.Time) *Client {
	corrected, options := NewClock(clock.Machine(now)), like.Options()
	sender := &sender{options.HTTPClient, corrected.machine, func(string, time.Duration) {}}
	options.HTTPClient = sender
	fast := newFastUpdate(options, corrected)
	sdk := dynamodb.New(options, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = bufferedBodies{o.HTTPClient, fast}
		o.APIOptions = append(o.APIOptions, corrected.observeAll)
	})
	if fast != nil {
		fast.sdk = sdk
	}
	return &Client{Client: sdk, Clock: corrected, sender: sender, fast: fast}
}

// OnSent sets the function to which the client reports each request that it has
// sent: the operation, such as "UpdateItem", and the time until the answer or
// failure. Call it before the client is shared.
func (c *Client) OnSent(sent func(operation string, took time.Duration)) { c.sender.sent = sent }

// sender sends the requests of the SDK and those of fastUpdate, and reports them.
type sender struct {
	dynamodb.HTTPClient
	machine clock.Source
	sent    func(operation string, took time.Duration)
}

// Do sends a request.
func (s *sender) Do(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return s.HTTPClient.Do(r) // which sends nothing
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	began := s.machine().Mono
	answer, err := s.HTTPClient.Do(r)
	s.sent(operation, s.machine().Mono-began)
	return answer, err
}

// UpdateItem makes a call, mostly without the SDK's middleware. A call with
// options of its own goes through the SDK.
func (c *Client) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (out *dynamodb.UpdateItemOutput, err error) {
	if c.fast == nil || len(opts) > 0 {
		return c.Client.UpdateItem(ctx, in, opts...)
	}
	err = c.breaker.Do(ctx, func() (failed error) {
		out, failed = c.fast.update(ctx, in)
		return failed
	}, answered)
	return out, err
}

// Guarded returns a client whose calls go through a circuit breaker; c itself for
// nil. It shares the clock and the connections of c. While the breaker is open,
// calls fail with breaker.ErrOpen and nothing is sent. At most so many calls are
// under way; 0 for no bound, as for counters.
//
// A table of rules needs a breaker of its own and MaxLookups: clients cause lookups
// by made-up keys, and must not switch off the counters by them, neither through
// the breaker nor by taking all connections.
func (c *Client) Guarded(b *breaker.Breaker, most int) *Client {
	if b == nil {
		return c
	}
	slots := make(chan struct{}, most)
	guard := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("slidegate.Breaker", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			if most > 0 {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
				case <-ctx.Done():
					return out, metadata, context.Cause(ctx)
				}
			}
			err = b.Do(ctx, func() error {
				var failed error
				out, metadata, failed = next.HandleInitialize(ctx, in)
				return failed
			}, answered)
			return out, metadata, err
		}), middleware.Before)
	}
	guarded := dynamodb.New(c.Options(), func(o *dynamodb.Options) { o.APIOptions = append(slices.Clip(o.APIOptions), guard) })
	return &Client{Client: guarded, Clock: c.Clock, sender: c.sender, fast: c.fast, breaker: b}
}

// bufferedBodies sends the bodies of requests from its own memory. The SDK closes
// a body as soon as it has the head of the answer. If net/http still reads the
// body then, it closes the connection under the answer ("use of closed network
// connection"). The SDK relies on retries to hide that, but a charge must not be
// sent twice. Besides, net/http sends a body that it knows to be in memory in
// one packet with the header.
type bufferedBodies struct {
	dynamodb.HTTPClient
	fast *fastUpdate // captures successful requests; nil for none
}

// Do sends a request.
func (c bufferedBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := c.HTTPClient.Do(r)
	if err == nil && answer != nil && c.fast != nil && answer.StatusCode == http.StatusOK {
		c.fast.capture(r)
	}
	return answer, err
}

// observeAll adds a step next to the wire that reports the Date of every response
// to the clock, of successes and failures alike.
func (c *Clock) observeAll(stack *middleware.Stack) error {
	step := middleware.DeserializeMiddlewareFunc("slidegate.Date", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		sent := c.machine()
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if answer, ok := out.RawResponse.(*smithyhttp.Response); ok {
			c.observe(sent, answer.Header)
		}
		return out, metadata, err
	})
	return stack.Deserialize.Add(step, middleware.After)
}

// observe reports the Date of a response to the clock.
func (c *Clock) observe(sent clock.Reading, header http.Header) {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		c.Observe(sent, date)
	}
}
