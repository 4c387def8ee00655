package dynamo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/clock"
)

// TestConnectBounds checks the client's parts: two seconds for a connection,
// and bodies of its own.
func TestConnectBounds(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "test")
	}
	client, err := Connect(context.Background(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	own, ok := client.Options().HTTPClient.(ownBodies)
	if !ok {
		t.Fatalf("the client is a %T, which sends the SDK's bodies", client.Options().HTTPClient)
	}
	if got := own.HTTPClient.(*awshttp.BuildableClient).GetDialer().Timeout; got != 2*time.Second {
		t.Errorf("a connection may take %v, want 2s", got)
	}
}

// recorder records the request that it should send.
type recorder struct{ got *http.Request }

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	r.got = request
	return nil, nil
}

// closable is a body that cannot be read once it is closed, as the SDK's.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Read(b []byte) (int, error) {
	if c.closed {
		return 0, errors.New("read after close")
	}
	return c.Reader.Read(b)
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// TestOwnBodies sends a body that outlives the SDK's. A request without a body
// stays so.
func TestOwnBodies(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{"no body": nil, "an empty one": http.NoBody} {
		var sent recorder
		if _, err := (ownBodies{&sent, nil}).Do(&http.Request{Body: body}); err != nil || sent.got.Body != body {
			t.Errorf("%s became %#v, error %v", name, sent.got.Body, err)
		}
	}
	var sent recorder
	body := &closable{Reader: strings.NewReader("text")}
	if _, err := (ownBodies{&sent, nil}).Do(&http.Request{Body: body}); err != nil {
		t.Fatal(err)
	}
	body.Close()
	if text, err := io.ReadAll(sent.got.Body); string(text) != "text" || err != nil {
		t.Errorf("the body is %q, error %v", text, err)
	}
	if _, err := (ownBodies{&sent, nil}).Do(&http.Request{Body: body}); err == nil {
		t.Error("a body that cannot be read is sent")
	}
}

// TestListen reports answers with a date, without one, and failures to the
// clock. The answer itself is passed on unchanged.
func TestListen(t *testing.T) {
	errWire := errors.New("from the wire")
	dated := &smithyhttp.Response{Response: &http.Response{Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}}
	for name, test := range map[string]struct {
		answer    any
		confirmed bool
	}{
		"a dated answer": {dated, true},
		"no answer":      {nil, false},
		"no HTTP answer": {"hello", false},
	} {
		corrected, stack := NewClock(clock.Machine(time.Now)), middleware.NewStack(name, smithyhttp.NewStackRequest)
		if err := corrected.listen(stack); err != nil {
			t.Fatal(err)
		}
		wire := middleware.HandlerFunc(func(context.Context, any) (any, middleware.Metadata, error) {
			var metadata middleware.Metadata
			metadata.Set("cost", 1)
			return test.answer, metadata, errWire
		})
		_, metadata, err := middleware.DecorateHandler(wire, stack).Handle(context.Background(), nil)
		if corrected.Confirmed() != test.confirmed || metadata.Get("cost") != 1 || !errors.Is(err, errWire) {
			t.Errorf("%s: confirmed %v, metadata %v, error %v", name, corrected.Confirmed(), metadata, err)
		}
	}
}
