package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// brokenBody fails as the body of net/http does: the request is cancelled first,
// and the error comes later.
type brokenBody struct{ cancel context.CancelFunc }

func (b brokenBody) Read([]byte) (int, error) {
	b.cancel()
	time.Sleep(time.Millisecond)
	return 0, os.ErrDeadlineExceeded
}

func (brokenBody) Close() error { return nil }

// reads is a transport that reads the body, and returns once the request is
// cancelled.
type reads struct{}

func (reads) RoundTrip(r *http.Request) (*http.Response, error) {
	go func() { _, _ = io.ReadAll(r.Body) }()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestCancelledByTheBody: a transport that returns before the read of the body
// does not hide that the client is too slow.
func TestCancelledByTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://backend/", brokenBody{cancel})
		if err != nil {
			t.Fatal(err)
		}
		response, err := patient{reads{}, time.Minute}.RoundTrip(r)
		if err == nil {
			response.Body.Close()
		}
		if !errors.Is(err, errBrokenUpload) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v, want that of the body", err)
		}
	})
}
