package dynamo_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestDialsAreBounded has 100 clients call an address that takes connections and
// never answers the TLS handshake. Each call gives up after 50 ms, and net/http
// goes on with its dial.
func TestDialsAreBounded(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	proxy := servers.NewProxy(t, server.Listener.Addr().String())
	if err := proxy.Set(servers.Fault{Blackhole: true}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "https://"+proxy.Address)
	store := dynamo.New(dynamotest.Connect(t), "counters", dynamo.Options{Wall: time.Now})
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			for range 6 {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				var v limit.Verdict
				if store.Charge(ctx, epoch, minute("a", 1), &v) == nil {
					t.Error("a charge succeeded")
				}
				cancel()
			}
		})
	}
	clients.Wait()
	const most = 2 * 128 // the proxy counts both sides
	if open := proxy.Most(); open > most || open == 0 {
		t.Errorf("%d connections were open at once, want at most %d", open, most)
	}
}
