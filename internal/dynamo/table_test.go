package dynamo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
)

// TestCreate makes a table in a real engine, and finds it there.
func TestCreate(t *testing.T) {
	client, ctx := dynamotest.Connect(t), context.Background()
	table := dynamo.CountersTable(dynamotest.Counters(t, client))
	if created, err := client.Create(ctx, table); err != nil || created {
		t.Errorf("created %v, error %v for a table that was there", created, err)
	}
}

// clerk answers for DynamoDB about one table, each operation with the next of
// its answers and in the end always with the last: a JSON object, or the code
// of an error. A call takes a millisecond.
type clerk struct {
	answers map[string][]string
	asked   []string          // the operations, in order
	bodies  map[string]string // what each was asked with
}

func (c *clerk) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond) // in the time of a bubble
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	c.asked, c.bodies[operation] = append(c.asked, operation), string(body)
	status, answer := http.StatusOK, "{}"
	if left := c.answers[operation]; len(left) > 0 {
		answer = left[0]
		c.answers[operation] = left[min(1, len(left)-1):]
	}
	if !strings.HasPrefix(answer, "{") {
		status, answer = http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#`+answer+`"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, err
}

// create asks the clerk for a table, and returns how long it took.
func (c *clerk) create(table dynamo.Table) (created bool, took time.Duration, err error) {
	c.bodies = map[string]string{}
	client := &dynamo.Client{Client: dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: c, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})}
	start := time.Now()
	created, err = client.Create(context.Background(), table)
	return created, time.Since(start), err
}

const active = `{"Table":{"TableStatus":"ACTIVE"}}`

// expires is an answer about a table's expiry.
func expires(status, attribute string) string {
	return `{"TimeToLiveDescription":{"TimeToLiveStatus":"` + status + `","AttributeName":"` + attribute + `"}}`
}

// TestCreateAsks shows what a table costs in calls: its expiry is switched on
// once, by the attribute that was asked for.
func TestCreateAsks(t *testing.T) {
	noAttribute := `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED"}}`
	for name, test := range map[string]struct {
		create, ttl string // the answers to CreateTable and DescribeTimeToLive
		asked       string
		created     bool
		err         string
	}{
		"a new table":                {"{}", expires("DISABLED", "ttl"), "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive", true, ""},
		"a table that was there":     {"ResourceInUseException", "{}", "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive", false, ""},
		"one that expires":           {"ResourceInUseException", expires("ENABLED", "ttl"), "CreateTable DescribeTable DescribeTimeToLive", false, ""},
		"one that soon will":         {"ResourceInUseException", expires("ENABLING", "ttl"), "CreateTable DescribeTable DescribeTimeToLive", false, ""},
		"one that expires otherwise": {"ResourceInUseException", expires("ENABLED", "until"), "CreateTable DescribeTable DescribeTimeToLive", false, "table counters: items expire by attribute until: want ttl"},
		"one that once did":          {"ResourceInUseException", expires("DISABLED", "until"), "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive", false, ""},
		"one by an unknown caller":   {"ResourceInUseException", noAttribute, "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive", false, ""},
		"no answer on its expiry":    {"{}", "AccessDeniedException", "CreateTable DescribeTable DescribeTimeToLive", true, dynamo.ErrNotPermitted.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &clerk{answers: map[string][]string{"CreateTable": {test.create}, "DescribeTable": {active}, "DescribeTimeToLive": {test.ttl}}}
			created, _, err := c.create(dynamo.CountersTable("counters"))
			if asked := strings.Join(c.asked, " "); asked != test.asked || created != test.created {
				t.Errorf("%s: created %v by %s", name, created, asked)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", name, err, test.err)
			}
		})
	}
}

// TestCreateThatCannotExpire: a table whose expiry is not switched on would
// grow for ever, so that is an error.
func TestCreateThatCannotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{answers: map[string][]string{"DescribeTable": {active}, "UpdateTimeToLive": {"AccessDeniedException"}}}
		if created, _, err := c.create(dynamo.CountersTable("counters")); !created || !errors.Is(err, dynamo.ErrNotPermitted) {
			t.Errorf("created %v, error %v", created, err)
		}
	})
}

// TestCreateBodies pins what is asked for: on demand, string keys, expiry where
// there is one.
func TestCreateBodies(t *testing.T) {
	for table, want := range map[dynamo.Table][]string{
		dynamo.CountersTable("counters"): {
			`{"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"TableName":"counters"}`,
			`{"TableName":"counters","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`,
		},
		{Name: "rules", Partition: "p", Sort: "s"}: {
			`{"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST",` +
				`"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],"TableName":"rules"}`,
			"",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &clerk{answers: map[string][]string{"DescribeTable": {active}}}
			if _, _, err := c.create(table); err != nil {
				t.Fatal(err)
			}
			if got := []string{c.bodies["CreateTable"], c.bodies["UpdateTimeToLive"]}; !slices.Equal(got, want) {
				t.Errorf("asked with\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if _, asked := c.bodies["DescribeTimeToLive"]; asked != (table.TTL != "") {
				t.Errorf("%s: asked for its expiry: %v", table.Name, asked)
			}
		})
	}
}

// TestCreateWaits has a table become active late, or never. Time is the
// bubble's: two minutes take no time.
func TestCreateWaits(t *testing.T) {
	const creating = `{"Table":{"TableStatus":"CREATING"}}`
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{answers: map[string][]string{"DescribeTable": {creating, active}}}
		if created, took, err := c.create(dynamo.CountersTable("counters")); !created || err != nil || took != 105*time.Millisecond {
			t.Errorf("created %v, error %v after %v, want the table after five calls and 100 ms", created, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{answers: map[string][]string{"DescribeTable": {creating}}}
		created, took, err := c.create(dynamo.CountersTable("counters"))
		if !created || err == nil || took < 119*time.Second || took > 120*time.Second {
			t.Errorf("created %v, error %v after %v, want an error after two minutes", created, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{answers: map[string][]string{"CreateTable": {"AccessDeniedException"}}}
		if created, _, err := c.create(dynamo.CountersTable("counters")); created || !errors.Is(err, dynamo.ErrNotPermitted) {
			t.Errorf("created %v, error %v", created, err)
		}
	})
}
