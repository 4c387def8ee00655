package dynamostore_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/dynamostore"
)

// TestOutage: requests of a limiter wait for a table that swallows calls only
// until the breaker opens. All limiters on the store share it.
func TestOutage(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	proxy := servers.NewProxy(t, server.Listener.Addr().String())
	if err := proxy.Set(servers.Fault{Blackhole: true}); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	store := dynamostore.New(dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + proxy.Address), Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}), "counters", dynamostore.WithLogger(log))
	const deadline = 100 * time.Millisecond
	limiter := func(name string) *slidegate.Limiter {
		l, err := slidegate.New(slidegate.SlidingWindow(1000, time.Minute), slidegate.WithName(name), slidegate.WithStore(store),
			slidegate.WithDeadline(deadline), slidegate.FailLocal(1), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := limiter("first"), limiter("second")
	waited := 0
	started := time.Now()
	for n := range 200 {
		l := first
		if n%2 == 1 {
			l = second
		}
		before := time.Now()
		if r, err := l.Allow(t.Context(), "k"); err != nil || !r.Allowed || !r.Degraded {
			t.Fatalf("result %+v, error %v", r, err)
		}
		if time.Since(before) >= deadline {
			waited++
		}
	}
	// Five calls, one probe a second, and some that a busy machine held up.
	if most := 5 + int(time.Since(started)/time.Second) + 10; waited < 5 || waited > most {
		t.Errorf("%d of 200 requests waited in %v, want 5 to %d", waited, time.Since(started), most)
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "store does not answer") {
		t.Errorf("logged %q, want one line", got)
	}
}
