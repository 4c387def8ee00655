package dynamostore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/dynamostore"
)

var _ slidegate.Store = (*dynamostore.Store)(nil)

// TestExample runs the example on a real engine, and compares its output.
func TestExample(t *testing.T) {
	client := dynamotest.Connect(t)
	table = dynamotest.Name()
	t.Cleanup(func() { drop(t, client.Client, table) })
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	Example()
	os.Stdout = stdout
	got, err := os.ReadFile(file.Name())
	if want := "true 1\ntrue 0\nfalse 0\n"; string(got) != want || err != nil {
		t.Errorf("printed %q, error %v, want %q", got, err, want)
	}
}

func drop(t *testing.T, client *dynamodb.Client, table string) {
	if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		t.Error(err)
	}
}

// TestCreateTable has several processes create a table at once, and one again.
func TestCreateTable(t *testing.T) {
	client, name := dynamotest.Connect(t).Client, dynamotest.Name()
	t.Cleanup(func() { drop(t, client, name) })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := dynamostore.New(client, name).CreateTable(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := dynamostore.New(client, name).CreateTable(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil || got.Table.BillingModeSummary == nil || got.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("the table is not on demand: %+v, error %v", got, err)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "ttl" {
		t.Errorf("items do not expire by ttl: %+v, error %v", ttl, err)
	}
}

// client returns a user's client of a server, with changes to its options.
func client(server *httptest.Server, changes ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, changes...)
}

// serve starts a server that answers every call in the same way.
func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server
}

func limiter(t *testing.T, store slidegate.Store, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(append([]slidegate.Option{
		slidegate.SlidingWindow(2, time.Minute), slidegate.WithName("api"), slidegate.WithStore(store),
		slidegate.FailError(), slidegate.WithDeadline(10 * time.Second),
		slidegate.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// TestClientStaysAsItIs makes a store of a client that retries: the client goes
// on to retry, and the store sends each call once, by the client's settings.
func TestClientStaysAsItIs(t *testing.T) {
	var calls, seen atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if auth := r.Header.Get("Authorization"); !strings.Contains(auth, "Credential=id/") || !strings.Contains(auth, "/eu-central-1/") {
			t.Errorf("signed by %q", auth)
		}
		http.Error(w, "{}", http.StatusInternalServerError)
	})
	watch := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("the user's", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			seen.Add(1)
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	}
	atOnce := func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	}
	for name, change := range map[string]func(*dynamodb.Options){
		"by default":           func(o *dynamodb.Options) { o.Retryer = retry.NewStandard(atOnce) },
		"with attempts stated": func(o *dynamodb.Options) { o.Retryer, o.RetryMaxAttempts = retry.NewStandard(atOnce), 3 },
		"adaptive": func(o *dynamodb.Options) {
			o.Retryer = retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.StandardOptions = []func(*retry.StandardOptions){atOnce} })
		},
	} {
		users := client(server, change, func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, watch) })
		before := users.Options()
		lim := limiter(t, dynamostore.New(users, "counters"))
		for _, call := range []struct {
			of   string
			want int64
			make func() error
		}{
			{"store", 1, func() error { _, err := lim.Allow(t.Context(), "k"); return err }},
			{"store", 1, func() error { return lim.Reset(t.Context(), "k") }},
			{"user", 3, func() error { _, err := users.ListTables(t.Context(), &dynamodb.ListTablesInput{}); return err }},
		} {
			calls.Store(0)
			seen.Store(0)
			if err := call.make(); err == nil || calls.Load() != call.want || seen.Load() != 1 {
				t.Errorf("%s: the %s's call was sent %d times, want %d; passed %d user's steps, error %v",
					name, call.of, calls.Load(), call.want, seen.Load(), err)
			}
		}
		after := users.Options()
		if after.Retryer != before.Retryer || after.HTTPClient != before.HTTPClient || len(after.APIOptions) != len(before.APIOptions) {
			t.Errorf("%s: the user's client has other options", name)
		}
	}
}

// TestErrors lists the mistakes of a first start, and what the limiter says.
func TestErrors(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	fails := func(code string) *httptest.Server {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`"}`)
		})
	}
	closed := serve(t, nil)
	closed.Close()
	for name, test := range map[string]struct {
		client *dynamodb.Client
		want   error
		text   string
	}{
		"no table":      {client(fails("ResourceNotFoundException")), dynamo.ErrNoTable, "table counters: table does not exist in region eu-central-1 at "},
		"no permission": {client(fails("AccessDeniedException")), dynamo.ErrNotPermitted, "check the role's policy"},
		"no server":     {client(closed), dynamo.ErrUnreachable, "check the network"},
		"no region": {dynamodb.New(dynamodb.Options{Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}),
			dynamo.ErrNoRegion, "set AWS_REGION"},
		"no credentials": {client(closed, func(o *dynamodb.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("none found")
			})
		}), dynamo.ErrNoCredentials, "set AWS_PROFILE"},
		"slow credentials": {client(closed, func(o *dynamodb.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, context.DeadlineExceeded
			})
		}), dynamo.ErrCredentialsTimeout, "sign in first"},
	} {
		store := dynamostore.New(test.client, "counters")
		lim := limiter(t, store)
		_, allow := lim.Allow(t.Context(), "k")
		_, peek := lim.Peek(t.Context(), "k")
		for call, err := range map[string]error{"Allow": allow, "Peek": peek, "CreateTable": store.CreateTable(t.Context())} {
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %s: %v, want %v", name, call, err, test.want)
			}
			if call != "CreateTable" && !strings.HasPrefix(err.Error(), "slidegate: limiter api: table counters: ") {
				t.Errorf("%s: %s: %v does not name the limiter and the table", name, call, err)
			}
		}
	}
}

// TestNow has a server whose clock is an hour ahead of the machine's: the
// second answer corrects the store's clock, by which the limiter decides, and
// one line says so.
func TestNow(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusBadRequest)
	})
	var log bytes.Buffer
	store := dynamostore.New(client(server), "counters", dynamostore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	var decided slidegate.Event
	lim := limiter(t, store, slidegate.FailOpen(),
		slidegate.WithObserver(func(_ context.Context, e slidegate.Event) { decided = e }))
	for range 3 {
		if _, err := lim.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	for what, now := range map[string]time.Time{"store": store.Now(), "decision": decided.Time} {
		if ahead := time.Until(now); ahead < 59*time.Minute || ahead > 61*time.Minute {
			t.Errorf("the time of the %s is %v ahead, want an hour", what, ahead)
		}
	}
	if got := log.String(); strings.Count(got, "the machine's clock is wrong; limits go by DynamoDB's") != 1 {
		t.Errorf("logged\n%s", got)
	}
}

// TestCallerClock charges a counter by a clock a day ahead: an error by the
// store's own clock, and a denial by the callers'.
func TestCallerClock(t *testing.T) {
	engine := dynamotest.Connect(t)
	table := dynamotest.Counters(t, engine)
	tomorrow := time.Now().Add(24 * time.Hour)
	theirs := limiter(t, dynamostore.New(engine.Client, table, dynamostore.WithCallerClock()))
	for range 2 {
		if r, err := theirs.AllowAt(t.Context(), tomorrow, "k"); err != nil || !r.Allowed {
			t.Fatalf("%+v, error %v", r, err)
		}
	}
	if r, err := theirs.Allow(t.Context(), "k"); err != nil || r.Allowed || r.RetryAfter < 23*time.Hour {
		t.Errorf("by the callers' clock: %+v, error %v; want a denial for a day", r, err)
	}
	own := dynamostore.New(engine.Client, table)
	_ = limiter(t, own).Reset(t.Context(), "other") // confirms the clock
	if _, err := limiter(t, own).Allow(t.Context(), "k"); !errors.Is(err, dynamo.ErrAhead) {
		t.Errorf("by the store's clock: error %v, want %v", err, dynamo.ErrAhead)
	}
}

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
