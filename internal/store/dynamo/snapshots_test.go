package dynamo

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// windows returns n sliding windows of two slots of a second.
func windows(n int) []limit.Limit {
	return slices.Repeat([]limit.Limit{{Capacity: 5, Window: 2 * time.Second, Granularity: time.Second}}, n)
}

// snapshotOf reads the snapshot of an item with these numbers and limits.
func snapshotOf(t *testing.T, generation string, limits []limit.Limit, numbers map[string]int64, readAt time.Time) *protocol.Snapshot {
	t.Helper()
	item := protocol.Item{"e": &types.AttributeValueMemberS{Value: generation}}
	for name, n := range numbers {
		item[name] = &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
	}
	snapshot, err := protocol.Read(item, limits, readAt)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// charged returns the snapshot of windows with these totals, all in slot 70.
func charged(t *testing.T, generation string, totals ...int64) *protocol.Snapshot {
	t.Helper()
	numbers := map[string]int64{}
	for i, total := range totals {
		prefix := string(rune('a' + i))
		numbers[prefix+"C"], numbers[prefix+"H"], numbers[prefix+"1y"] = total, 70, total
	}
	return snapshotOf(t, generation, windows(len(totals)), numbers, time.Time{})
}

// TestSnapshotsKeepTheLatest has answers overtake each other. The cache keeps
// the latest state of one generation, and of two generations the last one put.
func TestSnapshotsKeepTheLatest(t *testing.T) {
	before := charged(t, "generation", 4, 4)
	for name, test := range map[string]struct {
		then *protocol.Snapshot
		kept bool // whether the later snapshot is kept
	}{
		"the same":                              {charged(t, "generation", 4, 4), true},
		"less of the first":                     {charged(t, "generation", 3, 4), false},
		"less, in another generation":           {charged(t, "next", 1, 1), true},
		"never charged, but another generation": {snapshotOf(t, "next", windows(2), nil, time.Time{}), true},
	} {
		cache := newSnapshotCache(0)
		cache.put("k", before)
		cache.put("k", test.then)
		if got, _ := cache.cache.Get("k"); (got == test.then) != test.kept {
			t.Errorf("%s: kept %+v", name, got)
		}
	}
}

// TestSnapshotsFitTheCharge checks that a snapshot of another number of limits
// is not used.
func TestSnapshotsFitTheCharge(t *testing.T) {
	cache := newSnapshotCache(0)
	cache.put("k", snapshotOf(t, "generation", windows(2), nil, time.Time{}))
	for limits, want := range map[int]bool{1: false, 2: true, 3: false} {
		if got := cache.get(&limit.Charge{Key: "k", Limits: windows(limits)}); (got != nil) != want {
			t.Errorf("%d limits: %+v", limits, got)
		}
	}
	if got := cache.get(&limit.Charge{Key: "another", Limits: windows(2)}); got != nil {
		t.Errorf("another key: %+v", got)
	}
}

func TestSnapshotsAreBounded(t *testing.T) {
	snapshot := snapshotOf(t, "generation", windows(1), nil, time.Time{})
	for size, want := range map[int]int{-1: 10_000, 0: 10_000, 1: 1, 2_000: 2_000} {
		cache := newSnapshotCache(size)
		for i := range want + 100 {
			cache.put(strconv.Itoa(i), snapshot)
		}
		if got := cache.cache.Len(); got != want {
			t.Errorf("size %d: %d snapshots, want %d", size, got, want)
		}
	}
}

// TestRandomGeneration wants 96 bits, at six bits a character.
func TestRandomGeneration(t *testing.T) {
	a, b := randomGeneration(), randomGeneration()
	if len(a) != 16 || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}

// TestReasons cancels a transaction for one reason among others.
func TestReasons(t *testing.T) {
	for code, want := range map[string]error{"ThrottlingError": ErrThrottled, "ValidationError": ErrForeign, "AccessDeniedException": ErrNotPermitted} {
		failed := &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {}, {Code: aws.String(code)},
		}}
		if got := Translate(failed, "counters"); !errors.Is(got, want) || !errors.As(got, &failed) {
			t.Errorf("%s: %v", code, got)
		}
	}
	hot := []types.ThrottlingReason{{}, {Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}
	busy := []types.ThrottlingReason{{Reason: aws.String("TableWriteMaxOnDemandThroughputExceeded")}}
	for name, test := range map[string]struct{ err, want error }{
		"a hot key":              {&types.ThrottlingException{ThrottlingReasons: hot}, ErrHotKey},
		"a hot key, provisioned": {&types.ProvisionedThroughputExceededException{ThrottlingReasons: hot}, ErrHotKey},
		"a table at its maximum": {&types.ThrottlingException{ThrottlingReasons: busy}, ErrThrottled},
		"no reason":              {&types.ProvisionedThroughputExceededException{}, ErrThrottled},
	} {
		if got := Translate(test.err, "counters"); !errors.Is(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	plain := errors.New("something else")
	if got := Translate(plain, "counters"); !errors.Is(got, plain) || got.Error() != "table counters: something else" {
		t.Errorf("got %v", got)
	}
}

// environment returns the getenv of a Lambda with more variables.
func environment(more map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := more[name]; ok {
			return value
		}
		return map[string]string{
			"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
		}[name]
	}
}

// TestConnectBounds checks the client's parts: two seconds for a connection,
// and bodies of its own.
func TestConnectBounds(t *testing.T) {
	client, err := ConnectLambda(environment(nil), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	own, ok := client.Options().HTTPClient.(bufferedBodies)
	if !ok {
		t.Fatalf("the client is a %T, which sends the SDK's bodies", client.Options().HTTPClient)
	}
	if got := own.HTTPClient.(*sender).HTTPClient.(*awshttp.BuildableClient).GetDialer().Timeout; got != 2*time.Second {
		t.Errorf("a connection may take %v, want 2s", got)
	}
}

// TestConnectLambda checks where a Lambda's calls go, and how they are signed.
func TestConnectLambda(t *testing.T) {
	for name, test := range map[string]struct {
		more map[string]string
		url  string
	}{
		"a Lambda":            {nil, "https://dynamodb.eu-west-1.amazonaws.com/"},
		"FIPS":                {map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, "https://dynamodb-fips.eu-west-1.amazonaws.com/"},
		"IPv6":                {map[string]string{"AWS_USE_DUALSTACK_ENDPOINT": "true"}, "https://dynamodb.eu-west-1.api.aws/"},
		"an endpoint":         {map[string]string{"AWS_ENDPOINT_URL": "http://all"}, "http://all/"},
		"DynamoDB's endpoint": {map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "http://one", "AWS_ENDPOINT_URL": "http://all"}, "http://one/"},
	} {
		client, err := ConnectLambda(environment(test.more), time.Now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var sent recorder
		table := "t"
		_, _ = client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table}, func(o *dynamodb.Options) { o.HTTPClient = &sent })
		if got := sent.got.URL.String(); got != test.url {
			t.Errorf("%s: sent to %s, want %s", name, got, test.url)
		}
		signed := sent.got.Header.Get("Authorization")
		if sent.got.Header.Get("X-Amz-Security-Token") != "token" ||
			!strings.Contains(signed, "Credential=id/") || !strings.Contains(signed, "/eu-west-1/dynamodb/") {
			t.Errorf("%s: signed by %s, with headers %v", name, signed, sent.got.Header)
		}
	}
}

func TestConnectLambdaNeedsRegionAndCredentials(t *testing.T) {
	for name, want := range map[string]error{
		"AWS_REGION": ErrNoRegion, "AWS_ACCESS_KEY_ID": ErrNoCredentials, "AWS_SECRET_ACCESS_KEY": ErrNoCredentials,
	} {
		if _, err := ConnectLambda(environment(map[string]string{name: ""}), time.Now); !errors.Is(err, want) {
			t.Errorf("without %s: error %v, want %v", name, err, want)
		}
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
		if _, err := (bufferedBodies{&sent, nil}).Do(&http.Request{Body: body}); err != nil || sent.got.Body != body {
			t.Errorf("%s became %#v, error %v", name, sent.got.Body, err)
		}
	}
	var sent recorder
	body := &closable{Reader: strings.NewReader("text")}
	if _, err := (bufferedBodies{&sent, nil}).Do(&http.Request{Body: body}); err != nil {
		t.Fatal(err)
	}
	body.Close()
	if text, err := io.ReadAll(sent.got.Body); string(text) != "text" || err != nil {
		t.Errorf("the body is %q, error %v", text, err)
	}
	if _, err := (bufferedBodies{&sent, nil}).Do(&http.Request{Body: body}); err == nil {
		t.Error("a body that cannot be read is sent")
	}
}
