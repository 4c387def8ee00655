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

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// correct settles and wants this many writes and no error.
func (w *world) correct(name string, of limit.Receipt, slot, delta, writes int64) {
	w.t.Helper()
	w.calls(name)
	if err := w.settle(name, of, slot, delta); err != nil {
		w.t.Fatalf("%s at slot %d, %+d: %v", name, slot, delta, err)
	}
	w.cost(name, 0, writes)
}

// TestExtraChargeOfZeroCost settles charges of zero cost upwards. The units are
// charged now, to the current generation, because the receipt names none.
func TestExtraChargeOfZeroCost(t *testing.T) {
	w := newWorld(t, 9, 10)
	nothing := limit.Receipt{}
	nothing.Slots[0] = w.time(7).Unix()
	w.correct("A", nothing, 2, -1, 0) // was not charged, so nothing is to refund
	w.correct("A", nothing, 2, 1, 1)  // creates the item
	w.must(true, "B", 5, 1)
	w.correct("A", nothing, 3, 1, 2) // fails once, and reads slot 5 from the answer
	w.correct("A", nothing, 4, 1, 1) // has slot 5 in its snapshot
	w.correct("C", nothing, 6, 1, 1)
	for slot, want := range map[int64]int64{2: 1, 3: 0, 4: 0, 5: 3, 6: 1, 7: 0} {
		if got := w.slot(slot); got != want {
			t.Errorf("slot %d has %d units, want %d", slot, got, want)
		}
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
		client := dynamotest.NewEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = date
			w.WriteHeader(http.StatusBadRequest)
		}).Client()
		store := dynamo.New(client, "counters", dynamo.Options{Wall: time.Now})
		for range 3 {
			if err := store.Reset(context.Background(), "k"); err == nil {
				t.Error("status 400 is no error")
			}
		}
		if now := client.Clock.Now(); client.Clock.Confirmed() || time.Since(now).Abs() > time.Minute {
			t.Errorf("date %q: the clock is at %v, confirmed %v", date, now, client.Clock.Confirmed())
		}
	}
}
