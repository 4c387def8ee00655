package ruletable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/ruletable"
)

var epoch = time.Unix(1_700_000_040, 0).UTC()

func document(capacity int) []byte {
	return fmt.Appendf(nil, "rules: [{name: r, key: 'ip:{ip}', limits: [{capacity: %d, window: 60s}]}]", capacity)
}

func version(capacity int) ruletable.Version {
	return ruletable.Version{Document: document(capacity), Who: "ada", When: epoch, Why: "launch week"}
}

func newTable(t *testing.T) (*dynamo.Client, string) {
	t.Helper()
	client := dynamotest.Connect(t)
	return client, dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
}

func TestPublish(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), context.Background()
	if _, err := table.Current(ctx); !errors.Is(err, ruletable.ErrNone) {
		t.Errorf("error %v, want ErrNone", err)
	}
	for want := int64(1); want <= 3; want++ {
		if got, err := table.Publish(ctx, version(int(want))); err != nil || got != want {
			t.Fatalf("published version %d, error %v; want %d", got, err, want)
		}
	}
	if got, err := table.Current(ctx); err != nil || got != 3 {
		t.Errorf("version %d in force, error %v", got, err)
	}
	old, err := table.Get(ctx, 1)
	if _, err := table.Get(ctx, 4); !errors.Is(err, ruletable.ErrNoVersion) {
		t.Errorf("error %v for a version that is not there", err)
	}
	if err != nil || !bytes.Equal(old.Document, document(1)) || old.Who != "ada" || old.Why != "launch week" || !old.When.Equal(epoch) {
		t.Errorf("version 1 is %+v, error %v", old, err)
	}
}

// racing runs another publisher at a chosen moment of the first one's work.
type racing struct {
	ruletable.API
	puts int
	at   int
	race func()
}

func (r *racing) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if r.puts++; r.puts == r.at {
		r.race()
	}
	return r.API.PutItem(ctx, in, opts...)
}

func TestTwoPublishers(t *testing.T) {
	for at := 1; at <= 2; at++ { // before the version is put, before the pointer is moved
		client, name := newTable(t)
		other, ctx := ruletable.New(client, name), context.Background()
		for _, published := range []bool{false, true} {
			first := ruletable.New(&racing{API: client, at: at, race: func() {
				if _, err := other.Publish(ctx, version(77)); err != nil {
					t.Error(err)
				}
			}}, name)
			if _, err := first.Publish(ctx, version(1)); !errors.Is(err, ruletable.ErrConflict) {
				t.Errorf("overtaken before write %d, table in use %v: error %v, want ErrConflict", at, published, err)
			}
			current, err := other.Current(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := other.Get(ctx, current); err != nil || !bytes.Equal(v.Document, document(77)) {
				t.Errorf("in force is %+v, error %v; want the other publisher's", v, err)
			}
		}
	}
}

// TestLeftOver publishes after a publisher that died between its two steps.
func TestLeftOver(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), context.Background()
	dying := ruletable.New(&racing{API: client, at: 2, race: func() { panic("dies") }}, name)
	func() {
		defer func() { _ = recover() }()
		_, _ = dying.Publish(ctx, version(1))
	}()
	if _, err := table.Current(ctx); !errors.Is(err, ruletable.ErrNone) {
		t.Errorf("error %v: a version was in force before its pointer", err)
	}
	if got, err := table.Publish(ctx, version(2)); err != nil || got != 2 {
		t.Errorf("published version %d, error %v; want 2", got, err)
	}
}

func TestTooLarge(t *testing.T) {
	client, name := newTable(t)
	noise := make([]byte, 400_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for what, v := range map[string]ruletable.Version{
		"noise":                     {Document: noise},
		"four megabytes of nothing": {Document: make([]byte, 4<<20+1)},
		"a long story":              {Document: document(1), Why: strings.Repeat("because ", 50_000)},
	} {
		_, err := ruletable.New(client, name).Publish(context.Background(), v)
		if !errors.Is(err, ruletable.ErrTooLarge) {
			t.Errorf("%s: error %v, want ErrTooLarge", what, err)
		}
	}
}

func TestNoTable(t *testing.T) {
	table := ruletable.New(dynamotest.Connect(t), "no-such-table")
	if _, err := table.Publish(context.Background(), version(1)); !errors.Is(err, dynamo.ErrNoTable) {
		t.Errorf("error %v, want ErrNoTable", err)
	}
}

// counting is a table that can fail, and counts what is read of it. Refreshes run beside requests, so it locks.
type counting struct {
	ruletable.API
	mu    sync.Mutex
	reads int
	err   error
}

func (c *counting) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.mu.Lock()
	c.reads++
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.API.GetItem(ctx, in, opts...)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

func (c *counting) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// capacity asks the source until it has the capacity wanted: a refresh runs beside the request that starts it.
func capacity(t *testing.T, source *ruletable.Source, now time.Time, want int64) {
	t.Helper()
	var got int64
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		set, err := source.Rules(context.Background(), now)
		if err != nil {
			t.Fatal(err)
		}
		if got = set.Rules[0].Limits[0].Capacity; got == want {
			return
		}
	}
	t.Fatalf("capacity %d, want %d", got, want)
}

func TestSource(t *testing.T) {
	client, name := newTable(t)
	api, ctx := &counting{API: client}, context.Background()
	reports := make(chan error, 100)
	source := ruletable.NewSource(ruletable.New(api, name), func(err error) { reports <- err })
	if _, err := source.Rules(ctx, epoch); !errors.Is(err, ruletable.ErrNone) {
		t.Fatalf("error %v, want ErrNone", err)
	}
	publisher := ruletable.New(client, name)
	publish := func(v ruletable.Version) {
		t.Helper()
		if _, err := publisher.Publish(ctx, v); err != nil {
			t.Fatal(err)
		}
	}
	publish(version(1))
	capacity(t, source, epoch, 1)
	reads := api.count()
	for range 1000 {
		capacity(t, source, epoch.Add(9*time.Second), 1)
	}
	if n := api.count() - reads; n != 0 {
		t.Errorf("%d reads within ten seconds", n)
	}

	publish(version(2))
	capacity(t, source, epoch.Add(10*time.Second), 2)

	publish(ruletable.Version{Document: []byte("rules: [{}]")})
	capacity(t, source, epoch.Add(20*time.Second), 2)
	if err := <-reports; !strings.Contains(err.Error(), "version 3") {
		t.Errorf("reported %v: want the invalid version named", err)
	}

	api.fail(errors.New("no answer"))
	capacity(t, source, epoch.Add(30*time.Second), 2)
	if err := <-reports; !strings.Contains(err.Error(), "no answer") {
		t.Errorf("reported %v", err)
	}
	api.fail(nil)
	publish(version(4))
	capacity(t, source, epoch.Add(40*time.Second), 4)
}
