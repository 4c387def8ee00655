// Package dynamotest gives tests new tables in a real DynamoDB engine: the one
// at AWS_ENDPOINT_URL, which `make test` sets after it has started the
// emulator.
package dynamotest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

const howTo = `no DynamoDB engine to test against: AWS_ENDPOINT_URL is not set.
"make test" starts one for the whole suite; for some tests: localstack/with.sh go test ./internal/store/dynamo`

// Connect returns a client of the engine. If there is none, it fails the test
// and says how to start one.
func Connect(t testing.TB) *dynamo.Client {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL") == "" && os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") == "" {
		t.Fatal(howTo)
	}
	for name, value := range map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		if os.Getenv(name) == "" {
			t.Setenv(name, value)
		}
	}
	client, err := awsconfig.Connect(context.Background(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Counters creates a table of counters, and returns its name. The table is
// deleted when the test ends.
func Counters(t testing.TB, client *dynamo.Client) string {
	t.Helper()
	table := dynamo.CountersTable(Name())
	table.TTL = "" // engines delete expired items by the real clock, and tests use other clocks
	return Create(t, client, table)
}

// Name returns a new name for a table.
func Name() string { return "slidegate-test-" + strings.ToLower(rand.Text()) } // also of a bucket

// Create creates a table, and returns its name. The table is deleted when the
// test ends.
func Create(t testing.TB, client *dynamo.Client, table dynamo.Table) string {
	t.Helper()
	ctx := context.Background()
	if _, err := client.Create(ctx, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
			t.Error(err)
		}
	})
	return table.Name
}

// Send makes a call.
type Send[Output any] = func() (*Output, error)

// Double is a client of a table whose calls a test observes, changes, delays or
// fails. Each function gets a call, and send, which makes it; nil makes it as
// it is.
type Double struct {
	dynamo.API
	Update   func(context.Context, *dynamodb.UpdateItemInput, Send[dynamodb.UpdateItemOutput]) (*dynamodb.UpdateItemOutput, error)
	Get      func(context.Context, Send[dynamodb.GetItemOutput]) (*dynamodb.GetItemOutput, error)
	Transact func(Send[dynamodb.TransactWriteItemsOutput]) (*dynamodb.TransactWriteItemsOutput, error)
}

// UpdateItem passes the call to d.Update.
func (d *Double) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	send := func() (*dynamodb.UpdateItemOutput, error) { return d.API.UpdateItem(ctx, in, opts...) }
	if d.Update == nil {
		return send()
	}
	return d.Update(ctx, in, send)
}

// GetItem passes the call to d.Get.
func (d *Double) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	send := func() (*dynamodb.GetItemOutput, error) { return d.API.GetItem(ctx, in, opts...) }
	if d.Get == nil {
		return send()
	}
	return d.Get(ctx, send)
}

// TransactWriteItems passes the call to d.Transact.
func (d *Double) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	send := func() (*dynamodb.TransactWriteItemsOutput, error) { return d.API.TransactWriteItems(ctx, in, opts...) }
	if d.Transact == nil {
		return send()
	}
	return d.Transact(send)
}
