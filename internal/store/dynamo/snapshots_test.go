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

// TestSnapshotsFitTheCharge checks that a snapshot of another number of limits
// is not used, and that of two the newer one stays, whichever is put last.
func TestSnapshotsFitTheCharge(t *testing.T) {
	cache := newSnapshotCache()
	cache.put("k", snapshotOf(t, "generation", windows(2), nil, time.Time{}))
	for limits, want := range map[int]bool{1: false, 2: true, 3: false} {
		if got := cache.get(&limit.Charge{Key: "k", Limits: windows(limits)}); (got != nil) != want {
			t.Errorf("%d limits: %+v", limits, got)
		}
	}
	if got := cache.get(&limit.Charge{Key: "another", Limits: windows(2)}); got != nil {
		t.Errorf("another key: %+v", got)
	}
	of := func(generation string, units int64) *protocol.Snapshot {
		return snapshotOf(t, generation, windows(1), map[string]int64{"aC": units, "aH": 70, "a1y": units}, time.Time{})
	}
	newest, next := of("generation", 4), of("next", 1)
	for _, test := range []struct{ put, want *protocol.Snapshot }{{of("generation", 2), nil}, {newest, newest}, {of("generation", 3), newest}, {next, next}} {
		cache.put("one", test.put)
		if got := cache.get(&limit.Charge{Key: "one", Limits: windows(1)}); test.want != nil && got != test.want {
			t.Errorf("after %+v: %+v", test.put, got)
		}
	}
}

func TestSnapshotsAreBounded(t *testing.T) {
	cache, snapshot := newSnapshotCache(), snapshotOf(t, "generation", windows(1), nil, time.Time{})
	for i := range maxSnapshots + 100 {
		cache.put(strconv.Itoa(i), snapshot)
	}
	if got := cache.cache.Len(); got != maxSnapshots {
		t.Errorf("%d snapshots, want %d", got, maxSnapshots)
	}
}

// TestRandomGeneration wants 96 bits, at six bits a character.
func TestRandomGeneration(t *testing.T) {
	a, b := randomGeneration(), randomGeneration()
	if len(a) != 16 || a == b {
		t.Errorf("got %q and %q", a, b)
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
