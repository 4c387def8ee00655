package dynamo_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// rotating gives credentials that change.
type rotating struct{ id string }

func (r *rotating) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: r.id, SecretAccessKey: "secret"}, nil
}

// TestDirectCredentials has the SDK make the first call under other credentials,
// which may belong to another address.
func TestDirectCredentials(t *testing.T) {
	e, keys := newEndpoint(t), &rotating{"FIRST"}
	client := e.client(func(o *dynamodb.Options) { o.Credentials = keys })
	for i, bySDK := range []bool{true, false, true, false} {
		if i == 2 {
			keys.id = "SECOND"
		}
		if _, err := client.UpdateItem(t.Context(), update()); err != nil {
			t.Fatal(err)
		}
		r := e.requests[i]
		if !strings.Contains(r.Header.Get("Authorization"), keys.id+"/") || (r.Header.Get("Amz-Sdk-Invocation-Id") != "") != bySDK {
			t.Errorf("call %d: %v", i, r.Header)
		}
	}
}

// TestDirectCopiesNothingOfOneCall has the SDK make calls with header fields that
// are true of one call alone: its deadline, by a server's clock that is ahead,
// and the trace of a Lambda's invocation.
func TestDirectCopiesNothingOfOneCall(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793")
	e, keys := newEndpoint(t), &rotating{"FIRST"}
	e.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		succeed(w, r)
	})
	client := e.client(func(o *dynamodb.Options) { o.Credentials = keys })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, keys.id = range []string{"FIRST", "SECOND", "SECOND"} {
		if _, err := client.UpdateItem(ctx, update()); err != nil {
			t.Fatal(err)
		}
	}
	sdk, direct := e.requests[1].Header, e.requests[2].Header
	if !strings.Contains(sdk.Get("Amz-Sdk-Request"), "ttl=") || sdk.Get("X-Amzn-Trace-Id") == "" {
		t.Errorf("the SDK sends %v: the test shows nothing", sdk)
	}
	if got := direct.Get("Amz-Sdk-Request"); got != "attempt=1; max=1" || direct.Get("X-Amzn-Trace-Id") != "" {
		t.Errorf("direct sends %v", direct)
	}
}

// failover finds the addresses of calls.
type failover struct{ dynamodb.EndpointResolverV2 }

// TestNotDirect has the SDK make every call of a client with middleware or
// endpoints of its own, and every call that package itemjson cannot write.
func TestNotDirect(t *testing.T) {
	ours := func(*dynamodb.Options) {}
	for name, test := range map[string]struct {
		change func(*dynamodb.Options)
		input  func(*dynamodb.UpdateItemInput)
		opts   []func(*dynamodb.Options)
	}{
		"middleware": {change: func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
		}},
		"endpoints": {change: func(o *dynamodb.Options) { o.EndpointResolverV2 = &failover{o.EndpointResolverV2} }},
		"deprecated endpoints": {change: func(o *dynamodb.Options) {
			reflect.ValueOf(o).Elem().FieldByName("EndpointResolver").Set(reflect.ValueOf(dynamodb.EndpointResolverFromURL(*o.BaseEndpoint)))
		}},
		"compressed":        {change: func(o *dynamodb.Options) { o.EnableAcceptEncodingGzip = true }},
		"logged":            {change: func(o *dynamodb.Options) { o.ClientLogMode = aws.LogRetries }},
		"options of a call": {change: ours, opts: []func(*dynamodb.Options){ours}},
		"another type": {change: ours, input: func(in *dynamodb.UpdateItemInput) {
			in.ExpressionAttributeValues[":one"] = &types.AttributeValueMemberBOOL{Value: true}
		}},
		"capacity": {change: ours, input: func(in *dynamodb.UpdateItemInput) { in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal }},
	} {
		e := newEndpoint(t)
		client := e.client(test.change)
		for range 3 {
			in := update()
			if test.input != nil {
				test.input(in)
			}
			if _, err := client.UpdateItem(t.Context(), in, test.opts...); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range e.requests {
			if r.Header.Get("Amz-Sdk-Invocation-Id") == "" {
				t.Errorf("%s: a request that is not the SDK's", name)
			}
		}
	}
}
