package dynamo_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestNothingIsSentTwice answers with the errors that the SDK retries by
// default. A charge sent again could be counted twice.
func TestNothingIsSentTwice(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a server error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) },
		"throttled": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`))
		},
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			answer(w, r)
		}))
		t.Setenv("AWS_ENDPOINT_URL", server.URL)
		store := dynamo.New(dynamotest.Connect(t), "counters", dynamo.Options{Wall: time.Now})
		c := &limit.Charge{Key: key, Limits: []limit.Limit{{Capacity: 1, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1}}
		err := store.Charge(context.Background(), epoch, c, &limit.Verdict{})
		if n := calls.Load(); err == nil || n != 1 {
			t.Errorf("%s: sent %d times, error %v; want once, and an error", name, n, err)
		}
		server.Close()
	}
}

// TestConnectionsAreKept makes 65 calls at once, twice. The second round reuses
// 64 connections and opens one.
func TestConnectionsAreKept(t *testing.T) {
	const calls = 65
	var made atomic.Int64
	var arrived sync.WaitGroup // no connection is free again before all calls are there
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		_, _ = w.Write([]byte("{}"))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	store := dynamo.New(dynamotest.Connect(t), "counters", dynamo.Options{Wall: time.Now})
	for _, want := range []int64{calls, calls + 1} {
		arrived.Add(calls)
		var round sync.WaitGroup
		for range calls {
			round.Go(func() {
				if err := store.Reset(context.Background(), "k"); err != nil {
					t.Error(err)
				}
			})
		}
		if round.Wait(); made.Load() != want {
			t.Errorf("%d connections opened so far, want %d", made.Load(), want)
		}
	}
}

// TestMissingDates answers without a date, or with a malformed one: the clock
// stays as it is.
func TestMissingDates(t *testing.T) {
	for _, date := range [][]string{nil, {"soon"}, {""}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = date
			w.WriteHeader(http.StatusBadRequest)
		}))
		t.Setenv("AWS_ENDPOINT_URL", server.URL)
		client := dynamotest.Connect(t)
		store := dynamo.New(client, "counters", dynamo.Options{Wall: time.Now})
		for range 3 {
			if err := store.Reset(context.Background(), "k"); err == nil {
				t.Error("status 400 is no error")
			}
		}
		if now := client.Clock.Now(); client.Clock.Confirmed() || time.Since(now).Abs() > time.Minute {
			t.Errorf("date %q: the clock is at %v, confirmed %v", date, now, client.Clock.Confirmed())
		}
		server.Close()
	}
}
