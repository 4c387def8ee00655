package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// update is an input with all that a charge has.
func update() *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: aws.String("counters"), Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "rule|\"é\\\"\n\x00\x1f\xff<|"}},
		ConditionExpression: aws.String("#n < :max"), UpdateExpression: aws.String("SET #n = :one, #l = :log"),
		ExpressionAttributeNames: map[string]string{"#n": "n", "#l": "l"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":one": &types.AttributeValueMemberN{Value: "1"}, ":max": &types.AttributeValueMemberN{Value: "9"},
			":log": &types.AttributeValueMemberB{Value: []byte{0, 1, 255}},
		},
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// TestFastUpdateRequest sends what the SDK sends: the same body and header fields,
// but for those of one request.
func TestFastUpdateRequest(t *testing.T) {
	e := dynamotest.NewEndpoint(t, nil)
	client := e.Client()
	for range 2 { // the first by the SDK
		if _, err := client.UpdateItem(t.Context(), update()); err != nil {
			t.Fatal(err)
		}
	}
	var bodies [2]any
	for i := range bodies {
		if err := json.Unmarshal([]byte(e.Bodies[i]), &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(bodies[0], bodies[1]) {
		t.Errorf("the SDK sends\n%s\nand fastUpdate\n%s", e.Bodies[0], e.Bodies[1])
	}
	sdk, direct := e.Requests[0], e.Requests[1]
	if direct.Header.Get("Amz-Sdk-Invocation-Id") != "" {
		t.Error("the second request is the SDK's")
	}
	for name := range maps.Keys(sdk.Header) {
		if own := []string{"Authorization", "Content-Length", "X-Amz-Date", "Amz-Sdk-Invocation-Id"}; !slices.Contains(own, name) &&
			!slices.Equal(sdk.Header[name], direct.Header[name]) {
			t.Errorf("%s is %q, of the SDK %q", name, direct.Header[name], sdk.Header[name])
		}
	}
	scope := regexp.MustCompile(`Credential=AKIDEXAMPLE/\d{8}/eu-north-1/dynamodb/aws4_request`)
	if got := direct.Header.Get("Authorization"); !scope.MatchString(got) || direct.URL.Path != sdk.URL.Path || direct.Host != sdk.Host {
		t.Errorf("authorization %q, path %s, host %s", got, direct.URL.Path, direct.Host)
	}
}

// TestFastUpdateAnswers compares what the SDK makes of an answer with what
// it directly.
func TestFastUpdateAnswers(t *testing.T) {
	answer := func(body string) http.HandlerFunc { return dynamotest.Fail(http.StatusOK, body) }
	fail := dynamotest.Fail
	for name, handler := range map[string]http.HandlerFunc{
		"an item":           answer(`{"Attributes":{"k":{"S":"key"},"aC":{"N":"12"},"aL":{"B":"AAH/"}}}`),
		"spaces":            answer(" { \"Attributes\" :\n{ \"k\" : { \"S\" : \"key\" } , \"n\":{\"N\":\"1\"}} } \n"),
		"escapes":           answer(`{"Attributes":{"k":{"S":"a\"b\\\u00e9"}}}`),
		"other types":       answer(`{"Attributes":{"k":{"L":[{"S":"x"}]},"b":{"BOOL":true}}}`),
		"more than an item": answer(`{"ConsumedCapacity":{"TableName":"counters"},"Attributes":{"k":{"S":"key"}}}`),
		"no attributes":     answer(`{"Attributes":{}}`),
		"nothing":           answer(`{}`),
		"no body":           answer(``),
		"no JSON":           answer(`<html>`),
		"a broken item":     answer(`{"Attributes":{"k":{"S":"key"}`),
		"a broken log":      answer(`{"Attributes":{"k":{"B":"***"}}}`),
		"two answers":       answer(`{"Attributes":{}}{}`),
		"a failed condition": fail(400, dynamotest.Error("ConditionalCheckFailedException",
			`"message":"The conditional request failed","Item":{"k":{"S":"key"},"n":{"N":"9"}}`)),
		"a failed condition without an item": fail(400, dynamotest.Error("ConditionalCheckFailedException", "")),
		"throttled": fail(400, dynamotest.Error("ProvisionedThroughputExceededException",
			`"message":"slow","ThrottlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn"}]`)),
		"a conflict": fail(400, dynamotest.Error("TransactionConflictException", "")),
		"no table":   fail(400, dynamotest.Error("ResourceNotFoundException", `"message":"no"`)),
		"a fault":    fail(500, `{}`), "a proxy": fail(503, `<html>`), "moved": fail(301, ``),
		"a length that no answer has": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(math.MaxInt64))
			dynamotest.Succeed(w, nil)
		},
		"an answer cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			dynamotest.Succeed(w, nil)
		},
		"a connection that breaks": dynamotest.Drop,
	} {
		t.Run(name, func(t *testing.T) {
			e := dynamotest.NewEndpoint(t, nil)
			client := e.Client(func(o *dynamodb.Options) {
				o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			})
			if _, err := client.UpdateItem(t.Context(), update()); err != nil {
				t.Fatal(err)
			}
			e.Set(handler)
			want, wantErr := client.Client.UpdateItem(t.Context(), update())
			got, err := client.UpdateItem(t.Context(), update())
			if n := e.Count(); n != 3 {
				t.Fatalf("%d requests, want 3: nothing is sent twice", n)
			}
			if (err == nil) != (wantErr == nil) || err != nil && withoutPorts(err) != withoutPorts(wantErr) {
				t.Fatalf("error\n%v, of the SDK\n%v", err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(got.Attributes, want.Attributes) {
				t.Errorf("item %v, of the SDK %v", got.Attributes, want.Attributes)
			}
			failed, wanted := new(types.ConditionalCheckFailedException), new(types.ConditionalCheckFailedException)
			if errors.As(err, &failed) && (!errors.As(wantErr, &wanted) || !reflect.DeepEqual(failed.Item, wanted.Item)) {
				t.Errorf("the condition failed with the item %v, of the SDK %v", failed.Item, wanted.Item)
			}
		})
	}
}

func withoutPorts(err error) string {
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(err.Error(), "address")
}

// TestFastUpdateEnds: a call of a context that has ended sends nothing, and reports
// nothing as sent.
func TestFastUpdateEnds(t *testing.T) {
	e, sent := dynamotest.NewEndpoint(t, nil), 0
	client := e.Client()
	_, _ = client.UpdateItem(t.Context(), update())
	client.OnSent(func(string, time.Duration) { sent++ })
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err := client.UpdateItem(ctx, update())
	if !errors.Is(dynamo.Translate(err, "counters"), dynamo.ErrTimeout) || e.Count() != 1 || sent != 0 {
		t.Errorf("error %v; %d requests, and %d reported as sent", err, e.Count(), sent)
	}
}

// rotating gives credentials that change.
type rotating struct{ id string }

func (r *rotating) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: r.id, SecretAccessKey: "secret"}, nil
}

// TestFastUpdateCredentials has the SDK make the first call under other credentials,
// which may belong to another address.
func TestFastUpdateCredentials(t *testing.T) {
	e, keys := dynamotest.NewEndpoint(t, nil), &rotating{"FIRST"}
	client := e.Client(func(o *dynamodb.Options) { o.Credentials = keys })
	for i, bySDK := range []bool{true, false, true, false} {
		if i == 2 {
			keys.id = "SECOND"
		}
		if _, err := client.UpdateItem(t.Context(), update()); err != nil {
			t.Fatal(err)
		}
		r := e.Requests[i]
		if !strings.Contains(r.Header.Get("Authorization"), keys.id+"/") || (r.Header.Get("Amz-Sdk-Invocation-Id") != "") != bySDK {
			t.Errorf("call %d: %v", i, r.Header)
		}
	}
}

// TestFastUpdateCopiesNothingOfOneCall has the SDK make calls with header fields that
// are true of one call alone: its deadline, by a server's clock that is ahead,
// and the trace of a Lambda's invocation.
func TestFastUpdateCopiesNothingOfOneCall(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793")
	e, keys := dynamotest.NewEndpoint(t, nil), &rotating{"FIRST"}
	e.Set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		dynamotest.Succeed(w, r)
	})
	client := e.Client(func(o *dynamodb.Options) { o.Credentials = keys })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, keys.id = range []string{"FIRST", "SECOND", "SECOND"} {
		if _, err := client.UpdateItem(ctx, update()); err != nil {
			t.Fatal(err)
		}
	}
	sdk, direct := e.Requests[1].Header, e.Requests[2].Header
	if !strings.Contains(sdk.Get("Amz-Sdk-Request"), "ttl=") || sdk.Get("X-Amzn-Trace-Id") == "" {
		t.Errorf("the SDK sends %v: the test shows nothing", sdk)
	}
	if got := direct.Get("Amz-Sdk-Request"); got != "attempt=1; max=1" || direct.Get("X-Amzn-Trace-Id") != "" {
		t.Errorf("fastUpdate sends %v", direct)
	}
}

// TestFastUpdateChecksum has an answer name a checksum. The SDK compares it too, but
// only logs that it is wrong.
func TestFastUpdateChecksum(t *testing.T) {
	for name, test := range map[string]struct {
		sum     string
		ignored bool
		fails   bool
	}{
		"right": {sum: fmt.Sprint(crc32.ChecksumIEEE([]byte(`{"Attributes":{}}`)))}, "wrong": {sum: "1", fails: true},
		"no number": {sum: "x", fails: true}, "ignored": {sum: "1", ignored: true},
	} {
		e := dynamotest.NewEndpoint(t, nil)
		client := e.Client(func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = test.ignored })
		_, _ = client.UpdateItem(t.Context(), update())
		e.Set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Crc32", test.sum)
			dynamotest.Succeed(w, nil)
		})
		if _, err := client.UpdateItem(t.Context(), update()); (err != nil) != test.fails || e.Count() != 2 {
			t.Errorf("%s: error %v, %d requests", name, err, e.Count())
		}
	}
}

// rewriting is an HTTP client that changes a header field of requests.
type rewriting struct {
	http.Client
	name, value string
}

func (c *rewriting) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set(c.name, c.value)
	return c.Client.Do(r)
}

// TestFastUpdateTemplate has the SDK make calls that are no template: of
// another operation, in another format, or signed otherwise.
func TestFastUpdateTemplate(t *testing.T) {
	for name, value := range map[string]string{
		"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/cbor", "Authorization": "Bearer token",
	} {
		e := dynamotest.NewEndpoint(t, nil)
		client := e.Client(func(o *dynamodb.Options) { o.HTTPClient = &rewriting{name: name, value: value} })
		for range 2 {
			if _, err := client.UpdateItem(t.Context(), update()); err != nil {
				t.Fatal(err)
			}
		}
		if e.Requests[1].Header.Get("Amz-Sdk-Invocation-Id") == "" {
			t.Errorf("a call like one with %s %s", name, value)
		}
	}
}

// TestFastUpdateIsObservedOnce has answers take 0.7 s on their way back. Their
// dates contradict a clock that takes them for sent when they were received.
func TestFastUpdateIsObservedOnce(t *testing.T) {
	var mu sync.Mutex
	now, ahead := time.Unix(1_700_000_040, 900_000_000), time.Duration(0)
	machine := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	e := dynamotest.NewEndpoint(t, nil)
	client := dynamo.NewClient(dynamodb.New(e.Options()), machine)
	_, _ = client.UpdateItem(t.Context(), update())
	e.Set(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		w.Header().Set("Date", now.Add(ahead).UTC().Format(http.TimeFormat))
		now = now.Add(700 * time.Millisecond)
		mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`)
	})
	for _, ahead = range []time.Duration{0, time.Hour} {
		for range 10 {
			_, _ = client.UpdateItem(t.Context(), update())
		}
		off := client.Clock.Now().Sub(machine())
		if wrong := (off - ahead).Abs(); wrong > time.Second || ahead == 0 && wrong > 0 {
			t.Errorf("the clock is %v ahead, want %v", off, ahead)
		}
	}
}

type interceptor struct{}

func (interceptor) BeforeExecution(context.Context, *smithyhttp.InterceptorContext) error { return nil }

// failover finds the addresses of calls.
type failover struct{ dynamodb.EndpointResolverV2 }

// TestNoFastUpdate has the SDK make every call of a client with middleware or
// endpoints of its own, and every call that package itemjson cannot write.
func TestNoFastUpdate(t *testing.T) {
	ours := func(*dynamodb.Options) {}
	for name, test := range map[string]struct {
		change func(*dynamodb.Options)
		input  func(*dynamodb.UpdateItemInput)
		opts   []func(*dynamodb.Options)
	}{
		"middleware": {change: func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
		}},
		"traced":      {change: func(o *dynamodb.Options) { o.TracerProvider = struct{ tracing.NopTracerProvider }{} }},
		"measured":    {change: func(o *dynamodb.Options) { o.MeterProvider = struct{ metrics.NopMeterProvider }{} }},
		"intercepted": {change: func(o *dynamodb.Options) { o.Interceptors.AddBeforeExecution(interceptor{}) }},
		"skewed":      {change: func(o *dynamodb.Options) { o.DisableClockSkewCorrection = true }},
		"endpoints":   {change: func(o *dynamodb.Options) { o.EndpointResolverV2 = &failover{o.EndpointResolverV2} }},
		"deprecated endpoints": {change: func(o *dynamodb.Options) {
			reflect.ValueOf(o).Elem().FieldByName("EndpointResolver").Set(reflect.ValueOf(dynamodb.EndpointResolverFromURL(*o.BaseEndpoint)))
		}},
		"compressed":        {change: func(o *dynamodb.Options) { o.EnableAcceptEncodingGzip = true }},
		"logged":            {change: func(o *dynamodb.Options) { o.ClientLogMode = aws.LogRetries }},
		"options of a call": {change: ours, opts: []func(*dynamodb.Options){ours}},
		"capacity":          {change: ours, input: func(in *dynamodb.UpdateItemInput) { in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal }},
	} {
		e := dynamotest.NewEndpoint(t, nil)
		client := e.Client(test.change)
		for range 3 {
			in := update()
			if test.input != nil {
				test.input(in)
			}
			if _, err := client.UpdateItem(t.Context(), in, test.opts...); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range e.Requests {
			if r.Header.Get("Amz-Sdk-Invocation-Id") == "" {
				t.Errorf("%s: a request that is not the SDK's", name)
			}
		}
	}
}
