package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
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
	// credentialTimeout bounds the search for credentials, which may run a
	// sign-in or another program.
	credentialTimeout = 30 * time.Second
)

// Client is a DynamoDB client that corrects its clock by DynamoDB's answers.
type Client struct {
	*dynamodb.Client
	Clock   *Clock
	direct  *direct          // nil if the SDK makes every call
	breaker *breaker.Breaker // nil for none
}

// Connect returns a client configured by the usual AWS variables and files. It
// fails with ErrNoRegion, ErrNoCredentials or ErrCredentialsTimeout; it does
// not call DynamoDB yet. now is time.Now.
func Connect(ctx context.Context, now func() time.Time) (*Client, error) {
	bounded, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	transport := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = connectTimeout
			t.MaxIdleConnsPerHost, t.MaxConnsPerHost = maxIdle, maxConnections
		})
	// The calls return every error, so the SDK's own log would only repeat
	// them.
	cfg, err := config.LoadDefaultConfig(bounded, config.WithHTTPClient(transport), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, ErrNoRegion
	}
	if _, err := cfg.Credentials.Retrieve(bounded); err != nil {
		reason := ErrNoCredentials
		if bounded.Err() != nil {
			reason = ErrCredentialsTimeout
		}
		return nil, fmt.Errorf("%w (%w)", reason, err)
	}
	return NewClient(dynamodb.NewFromConfig(cfg), now), nil
}

// NewClient returns a client of its own with the settings of another, which it
// leaves as it is. The SDK never retries: a charge that was sent twice could
// count twice. now is time.Now.
func NewClient(like *dynamodb.Client, now func() time.Time) *Client {
	corrected := NewClock(clock.Machine(now))
	d := newDirect(like.Options(), corrected)
	sdk := dynamodb.New(like.Options(), func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = ownBodies{o.HTTPClient, d}
		o.APIOptions = append(o.APIOptions, corrected.listen)
	})
	if d != nil {
		d.sdk = sdk
	}
	return &Client{Client: sdk, Clock: corrected, direct: d}
}

// UpdateItem makes a call, mostly without the SDK's middleware.
func (c *Client) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (out *dynamodb.UpdateItemOutput, err error) {
	if c.direct == nil || len(opts) > 0 {
		return c.Client.UpdateItem(ctx, in, opts...)
	}
	err = c.breaker.Do(ctx, func() (failed error) {
		out, failed = c.direct.update(ctx, in)
		return failed
	}, answered)
	return out, err
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
	guarded := dynamodb.New(c.Options(), func(o *dynamodb.Options) { o.APIOptions = append(slices.Clip(o.APIOptions), guard) })
	return &Client{Client: guarded, Clock: c.Clock, direct: c.direct, breaker: b}
}

// ownBodies sends the bodies of requests from memory of its own. The SDK closes
// a body as soon as it has the head of the answer. If net/http still reads the
// body then, it closes the connection under the answer ("use of closed network
// connection"). The SDK relies on retries to hide that, but a charge must not be
// sent twice. Besides, net/http sends a body that it knows to be in memory in
// one packet with the header.
type ownBodies struct {
	dynamodb.HTTPClient
	direct *direct // learns from requests that were answered
}

// Do sends a request.
func (c ownBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := c.HTTPClient.Do(r)
	if err == nil && answer != nil && c.direct != nil && answer.StatusCode == http.StatusOK {
		c.direct.learn(r)
	}
	return answer, err
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
			c.hear(sent, answer.Header)
		}
		return out, metadata, err
	})
	return stack.Deserialize.Add(step, middleware.After)
}

// hear reports the Date of an answer to the clock.
func (c *Clock) hear(sent clock.Reading, header http.Header) {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		c.Observe(sent, date)
	}
}
