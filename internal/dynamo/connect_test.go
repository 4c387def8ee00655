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
)

// TestConnectBounds looks at what the client is made of: a connection has two
// seconds, and bodies are plain.
func TestConnectBounds(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "test")
	}
	client, err := Connect(context.Background(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	plain, ok := client.Options().HTTPClient.(plainBodies)
	if !ok {
		t.Fatalf("requests go through a %T: their bodies may write themselves", client.Options().HTTPClient)
	}
	if got := plain.HTTPClient.(*awshttp.BuildableClient).GetDialer().Timeout; got != 2*time.Second {
		t.Errorf("a connection has %v, want 2s", got)
	}
}

// recorder keeps the request that it is asked to send.
type recorder struct{ got *http.Request }

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	r.got = request
	return nil, nil
}

// TestPlainBodies hides that a body can write itself, and nothing else of it:
// no body stays none.
func TestPlainBodies(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{"no body": nil, "an empty one": http.NoBody} {
		var sent recorder
		if _, err := (plainBodies{&sent}).Do(&http.Request{Body: body}); err != nil || sent.got.Body != body {
			t.Errorf("%s became %#v, error %v", name, sent.got.Body, err)
		}
	}
	var sent recorder
	if _, err := (plainBodies{&sent}).Do(&http.Request{Body: io.NopCloser(strings.NewReader("text"))}); err != nil {
		t.Fatal(err)
	}
	_, writes := sent.got.Body.(io.WriterTo)
	if text, err := io.ReadAll(sent.got.Body); writes || string(text) != "text" || err != nil {
		t.Errorf("the body reads %q, error %v, writes itself: %v", text, err, writes)
	}
}

// TestListen shows the clock what comes back from the wire: an answer with a
// date, or no answer at all. Whatever it is goes on as it came.
func TestListen(t *testing.T) {
	errWire := errors.New("from the wire")
	dated := &smithyhttp.Response{Response: &http.Response{Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}}
	for name, test := range map[string]struct {
		answer    any
		confirmed bool
	}{
		"a dated answer":     {dated, true},
		"no answer":          {nil, false},
		"an answer of sorts": {"hello", false},
	} {
		clock, stack := NewClock(time.Now), middleware.NewStack(name, smithyhttp.NewStackRequest)
		if err := clock.listen(stack); err != nil {
			t.Fatal(err)
		}
		wire := middleware.HandlerFunc(func(context.Context, any) (any, middleware.Metadata, error) {
			var metadata middleware.Metadata
			metadata.Set("cost", 1)
			return test.answer, metadata, errWire
		})
		_, metadata, err := middleware.DecorateHandler(wire, stack).Handle(context.Background(), nil)
		if clock.Confirmed() != test.confirmed || metadata.Get("cost") != 1 || !errors.Is(err, errWire) {
			t.Errorf("%s: confirmed %v, metadata %v, error %v", name, clock.Confirmed(), metadata, err)
		}
	}
}
