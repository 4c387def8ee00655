package dynamo_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// fakeTable answers the calls on one table. Each operation returns the next of
// its answers, and the last one from then on: a JSON object, or an error code.
// A call takes a millisecond.
type fakeTable struct {
	answers map[string][]string
	calls   []string          // the operations, in order
	bodies  map[string]string // the last body, by operation
}

func (c *fakeTable) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond) // by synctest's clock
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	c.calls, c.bodies[operation] = append(c.calls, operation), string(body)
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

// create creates a table, and returns how long it took.
func (c *fakeTable) create(table dynamo.Table) (created bool, took time.Duration, err error) {
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

// expires returns an answer to DescribeTimeToLive.
func expires(status, attribute string) string {
	return `{"TimeToLiveDescription":{"TimeToLiveStatus":"` + status + `","AttributeName":"` + attribute + `"}}`
}

// TestCreateCalls checks the calls of Create: it switches expiry on once, by
// the table's attribute.
func TestCreateCalls(t *testing.T) {
	const described = "CreateTable DescribeTable DescribeTimeToLive"
	const expiring = described + " UpdateTimeToLive"
	const again = expiring + " DescribeTimeToLive"
	noAttribute := `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED"}}`
	for name, test := range map[string]struct {
		create, ttl, update string // the answers to CreateTable, DescribeTimeToLive and UpdateTimeToLive
		calls               string
		created             bool
		err                 string
	}{
		"a new table":               {"{}", expires("DISABLED", "ttl"), "{}", expiring, true, ""},
		"an existing table":         {"ResourceInUseException", "{}", "{}", expiring, false, ""},
		"one that expires":          {"ResourceInUseException", expires("ENABLED", "ttl"), "{}", described, false, ""},
		"one that is enabling it":   {"ResourceInUseException", expires("ENABLING", "ttl"), "{}", described, false, ""},
		"one by another attribute":  {"ResourceInUseException", expires("ENABLED", "until"), "{}", described, false, "table counters: items expire by attribute until: want ttl"},
		"one that has disabled it":  {"ResourceInUseException", expires("DISABLED", "until"), "{}", expiring, false, ""},
		"one without an attribute":  {"ResourceInUseException", noAttribute, "{}", expiring, false, ""},
		"no permission to describe": {"{}", "AccessDeniedException", "{}", described, true, dynamo.ErrNotPermitted.Error()},
		"no permission to create":   {"AccessDeniedException", "", "{}", "CreateTable", false, dynamo.ErrNotPermitted.Error()},
		"no permission to expire":   {"{}", expires("DISABLED", "ttl"), "AccessDeniedException", again, true, dynamo.ErrNotPermitted.Error()},
		// Another process switches expiry on between two calls, so that DynamoDB refuses to do it again.
		"at once": {"{}", expires("DISABLED", "ttl") + "|" + expires("ENABLING", "ttl"), "ValidationException", again, true, ""},
		"at once by another attribute": {
			"{}", expires("DISABLED", "ttl") + "|" + expires("ENABLING", "until"), "ValidationException", again, true,
			"items expire by attribute until: want ttl",
		},
		"it is still off": {"{}", expires("DISABLED", "ttl"), "ValidationException", again, true, "ValidationException"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &fakeTable{answers: map[string][]string{
				"CreateTable": {test.create}, "DescribeTable": {active}, "UpdateTimeToLive": {test.update},
				"DescribeTimeToLive": strings.Split(test.ttl, "|"),
			}}
			created, _, err := c.create(dynamo.CountersTable("counters"))
			if calls := strings.Join(c.calls, " "); calls != test.calls || created != test.created {
				t.Errorf("%s: created %v, calls %s", name, created, calls)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", name, err, test.err)
			}
		})
	}
}

// TestCreateBodies checks the requests: on demand, string keys, and expiry if
// the table has one.
func TestCreateBodies(t *testing.T) {
	for table, want := range map[dynamo.Table][]string{
		dynamo.CountersTable("counters"): {
			`{"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST",` +
				`"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"TableName":"counters"}`,
			`{"TableName":"counters","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`,
		},
		{Name: "rules", Partition: "p", Sort: "s"}: {
			`{"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST",` +
				`"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],"TableName":"rules"}`,
			"",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &fakeTable{answers: map[string][]string{"DescribeTable": {active}}}
			if _, _, err := c.create(table); err != nil {
				t.Fatal(err)
			}
			if got := []string{c.bodies["CreateTable"], c.bodies["UpdateTimeToLive"]}; !slices.Equal(got, want) {
				t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if _, described := c.bodies["DescribeTimeToLive"]; described != (table.TTL != "") {
				t.Errorf("%s: DescribeTimeToLive called: %v", table.Name, described)
			}
		})
	}
}

// TestCreateWaits has a table become active late, or never. synctest's clock
// makes two minutes take no time.
func TestCreateWaits(t *testing.T) {
	const creating = `{"Table":{"TableStatus":"CREATING"}}`
	synctest.Test(t, func(t *testing.T) {
		c := &fakeTable{answers: map[string][]string{"DescribeTable": {creating, active}}}
		if created, took, err := c.create(dynamo.CountersTable("counters")); !created || err != nil || took != 105*time.Millisecond {
			t.Errorf("created %v, error %v after %v, want the table after five calls and 100 ms", created, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &fakeTable{answers: map[string][]string{"DescribeTable": {creating}}}
		created, took, err := c.create(dynamo.CountersTable("counters"))
		if !created || err == nil || took < 119*time.Second || took > 120*time.Second {
			t.Errorf("created %v, error %v after %v, want an error after two minutes", created, err, took)
		}
	})
}
