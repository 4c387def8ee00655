package dynamo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	// connectTimeout bounds each TCP connection: a command must answer within
	// seconds also where nothing listens.
	connectTimeout = 2 * time.Second
	// credentialTimeout bounds the search for credentials, which may be a
	// sign-in or another program.
	credentialTimeout = 30 * time.Second
)

// Client is a DynamoDB client that keeps its clock right by the answers it
// gets.
type Client struct {
	*dynamodb.Client
	Clock *Clock
}

// Connect returns a client made from the usual AWS variables and files. The SDK
// never retries on its own: a charge that was sent twice could be counted
// twice. It fails with ErrNoRegion, ErrNoCredentials or ErrCredentialsTimeout;
// it does not call DynamoDB yet.
func Connect(ctx context.Context, wall func() time.Time) (*Client, error) {
	bounded, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	transport := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
		WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = 64 })
	// The SDK's own log would stand beside the errors that its calls return.
	cfg, err := config.LoadDefaultConfig(bounded, config.WithHTTPClient(transport), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, ErrNoRegion
	}
	if _, err := cfg.Credentials.Retrieve(bounded); err != nil {
		return nil, credentialError(bounded, err)
	}
	clock := NewClock(wall)
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = plainBodies{o.HTTPClient}
		o.APIOptions = append(o.APIOptions, clock.listen)
	})
	return &Client{client, clock}, nil
}

func credentialError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", ErrCredentialsTimeout, err)
	}
	return fmt.Errorf("%w (%w)", ErrNoCredentials, err)
}

// plainBodies hides that a request's body can write itself. The SDK closes the
// body as soon as the answer's head is in; net/http, which may still be looking
// for the body's end by then, takes the body's WriteTo for failed and closes
// the connection under the answer ("use of closed network connection"). The SDK
// mends that by retrying; a charge must not be sent twice. A plain Read of a
// closed body ends it in good order.
type plainBodies struct{ dynamodb.HTTPClient }

// Do sends a request.
func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}

// listen adds a step next to the wire that shows the clock every answer,
// successes and failures alike.
func (c *Clock) listen(stack *middleware.Stack) error {
	step := middleware.DeserializeMiddlewareFunc("slidegate.Date", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		sent := c.wall()
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if answer, ok := out.RawResponse.(*smithyhttp.Response); ok {
			if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				c.Observe(sent, c.wall(), date)
			}
		}
		return out, metadata, err
	})
	return stack.Deserialize.Add(step, middleware.After)
}
