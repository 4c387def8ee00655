package dynamo_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamo/protocol"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// TestCallWithOptions: a call with options of its own is the SDK's, with the
// SDK's answer.
func TestCallWithOptions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.UpdateItem" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write([]byte(`{"Attributes":{"a":{"N":"1"}}}`))
	}))
	defer server.Close()
	client := dynamo.NewClient(dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(server.URL), Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}), time.Now)
	in := &dynamodb.UpdateItemInput{TableName: aws.String("counters"), Key: protocol.PrimaryKey("k")}
	out, err := client.UpdateItem(t.Context(), in, func(o *dynamodb.Options) { o.Region = "eu-west-2" })
	if err != nil || len(out.Attributes) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// TestPeekFarAhead: to look at a counter that a clock far ahead has charged
// fails as a charge of it does.
func TestPeekFarAhead(t *testing.T) {
	table := dynamomodel.New("counters", "k")
	store := func() *dynamo.Store {
		return dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }, Confirmed: func() bool { return true }})
	}
	var v limit.Verdict
	if err := store().Charge(t.Context(), epoch.Add(time.Hour), minute("k", 1), &v); err != nil {
		t.Fatal(err)
	}
	if err := store().Peek(t.Context(), epoch, minute("k", 1), &v); !errors.Is(err, dynamo.ErrAhead) {
		t.Errorf("error %v", err)
	}
}
