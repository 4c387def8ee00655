package session

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/redis"
)

// TestNow sets the machine's clock back by an hour a second after the start.
// Counters in this process go on. A table's do too, as long as no answer of
// DynamoDB contradicts them. For Redis, whose clock decides, the machine's
// clock is as it is.
func TestNow(t *testing.T) {
	start := time.Now().Add(-24 * time.Hour).Round(0)
	for name, test := range map[string]struct {
		where Locations
		want  time.Time // zero for the machine's clock
	}{
		"memory":                       {Locations{}, start.Add(time.Second)},
		"memory, and rules in a table": {Locations{RulesTable: "rules"}, start.Add(time.Second)},
		"DynamoDB":                     {Locations{CountersTable: "counters"}, start.Add(time.Second)},
		"Redis":                        {Locations{Redis: &redis.Address{}}, time.Time{}},
	} {
		at := clock.Reading{Wall: start}
		machine := func() clock.Reading { return at }
		s := Session{Locations: test.where, process: clock.NewProcess(machine, func(clock.Step) {})}
		if test.where.Redis == nil {
			s.client = &dynamo.Client{Clock: dynamo.NewClock(machine)}
		}
		at = clock.Reading{Wall: start.Add(time.Second - time.Hour), Mono: time.Second}
		got := s.Now()
		if test.want.IsZero() && time.Since(got).Abs() > time.Minute || !test.want.IsZero() && !got.Equal(test.want) {
			t.Errorf("%s: the time is %v, want %v", name, got, test.want)
		}
		if local := s.LocalNow(); !local.Equal(start.Add(time.Second)) {
			t.Errorf("%s: the time of counters in this process is %v, want a second after the start", name, local)
		}
	}
}

// TestProbeSetsTheClock: after the probe of a table, a client whose machine is an
// hour ahead has DynamoDB's time.
func TestProbeSetsTheClock(t *testing.T) {
	behind := -time.Hour
	dynamoDB := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(behind).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte("{}")) // no such item
	}))
	defer dynamoDB.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamoDB.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	client, err := connect(t.Context(), func(ctx context.Context, client *dynamo.Client) error {
		return probeCounters(ctx, client, "counters")
	})
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Until(client.Clock.Now()) - behind; off.Abs() > 2*time.Second {
		t.Errorf("the client's clock differs from DynamoDB's by %v", off)
	}
}
