package dynamo

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/clock"
)

const (
	// connectTimeout bounds each TCP connection, and then its TLS handshake. A
	// command must answer within seconds even if nothing listens.
	connectTimeout = 2 * time.Second
	// maxConnections bounds the connections, those that are being dialed
	// included: net/http goes on dialing for requests that have given up, so
	// that connects which hang would pile up. Requests above it wait for a
	// connection that is free. 128 take 20,000 calls a second at 6 ms each.
	maxConnections = 128
	// maxIdle bounds the connections that are kept between requests.
	maxIdle = 64
)

// Client is a DynamoDB client that corrects its clock by DynamoDB's answers.
type Client struct {
	*dynamodb.Client
	Clock *Clock
}

// Transport returns the HTTP client of DynamoDB's clients.
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
	corrected := NewClock(clock.Machine(now))
	return &Client{dynamodb.New(like.Options(), func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = plainBodies{o.HTTPClient}
		o.APIOptions = append(o.APIOptions, corrected.listen)
	}), corrected}
}

// Guarded returns a client whose calls go through a circuit breaker. It shares
// the clock.
func (c *Client) Guarded(b *breaker.Breaker) *Client {
	guard := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("slidegate.Breaker", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			err = b.Do(ctx, func() error {
				var failed error
				out, metadata, failed = next.HandleInitialize(ctx, in)
				return failed
			}, answered)
			return out, metadata, err
		}), middleware.Before)
	}
	return &Client{dynamodb.New(c.Options(), func(o *dynamodb.Options) { o.APIOptions = append(slices.Clip(o.APIOptions), guard) }), c.Clock}
}

// plainBodies hides that a request's body implements io.WriterTo. The SDK
// closes the body as soon as it has the head of the answer. If net/http still
// reads the body then, its WriteTo fails, and net/http closes the connection
// under the answer ("use of closed network connection"). The SDK relies on
// retries to hide that, but a charge must not be sent twice. A plain Read of a
// closed body ends it in good order.
type plainBodies struct{ dynamodb.HTTPClient }

// Do sends a request.
func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}

// listen adds a step next to the wire that reports the Date of every answer to
// the clock, of successes and failures alike.
func (c *Clock) listen(stack *middleware.Stack) error {
	step := middleware.DeserializeMiddlewareFunc("slidegate.Date", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		sent := c.machine()
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if answer, ok := out.RawResponse.(*smithyhttp.Response); ok {
			if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				c.Observe(sent, date)
			}
		}
		return out, metadata, err
	})
	return stack.Deserialize.Add(step, middleware.After)
}
