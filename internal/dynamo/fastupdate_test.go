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
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
)

// endpoint is a DynamoDB that answers as a test says, and keeps the requests.
type endpoint struct {
	*httptest.Server
	answer   http.HandlerFunc
	mu       sync.Mutex // an answer that is cut off goes on beside the test
	requests []*http.Request
	bodies   []string
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{answer: succeed}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.requests, e.bodies = append(e.requests, r), append(e.bodies, string(body))
		answer := e.answer
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) set(answer http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.requests)
}

func succeed(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"Attributes":{}}`) }

func (e *endpoint) options() dynamodb.Options {
	return dynamodb.Options{
		BaseEndpoint: &e.URL, Region: "eu-north-1", HTTPClient: awshttp.NewBuildableClient(),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "token"),
	}
}

func (e *endpoint) client(change func(*dynamodb.Options)) *dynamo.Client {
	return dynamo.NewClient(dynamodb.New(e.options(), change), time.Now)
}

// update is an input with all that a charge has.
func update() *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: aws.String("counters"), Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "rule|\"é\"\n\x00\xff<|"}},
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
	e := newEndpoint(t)
	client := e.client(func(*dynamodb.Options) {})
	for range 2 { // the first by the SDK
		if _, err := client.UpdateItem(t.Context(), update()); err != nil {
			t.Fatal(err)
		}
	}
	var bodies [2]any
	for i := range bodies {
		if err := json.Unmarshal([]byte(e.bodies[i]), &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(bodies[0], bodies[1]) {
		t.Errorf("the SDK sends\n%s\nand fastUpdate\n%s", e.bodies[0], e.bodies[1])
	}
	sdk, direct := e.requests[0], e.requests[1]
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
	fail := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-Requestid", "request")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	answer := func(body string) http.HandlerFunc { return fail(http.StatusOK, body) }
	const prefix = `{"__type":"com.amazonaws.dynamodb.v20120810#`
	for name, handler := range map[string]http.HandlerFunc{
		"an item":                            answer(`{"Attributes":{"k":{"S":"key"},"aC":{"N":"12"},"aL":{"B":"AAH/"}}}`),
		"spaces":                             answer(" { \"Attributes\" :\n{ \"k\" : { \"S\" : \"key\" } , \"n\":{\"N\":\"1\"}} } \n"),
		"escapes":                            answer(`{"Attributes":{"k":{"S":"a\"b\\\u00e9"}}}`),
		"other types":                        answer(`{"Attributes":{"k":{"L":[{"S":"x"}]},"b":{"BOOL":true}}}`),
		"more than an item":                  answer(`{"ConsumedCapacity":{"TableName":"counters"},"Attributes":{"k":{"S":"key"}}}`),
		"no attributes":                      answer(`{"Attributes":{}}`),
		"nothing":                            answer(`{}`),
		"no body":                            answer(``),
		"no JSON":                            answer(`<html>`),
		"a broken item":                      answer(`{"Attributes":{"k":{"S":"key"}`),
		"a broken log":                       answer(`{"Attributes":{"k":{"B":"***"}}}`),
		"two answers":                        answer(`{"Attributes":{}}{}`),
		"a failed condition":                 fail(400, prefix+`ConditionalCheckFailedException","message":"The conditional request failed","Item":{"k":{"S":"key"},"n":{"N":"9"}}}`),
		"a failed condition without an item": fail(400, prefix+`ConditionalCheckFailedException"}`),
		"throttled":                          fail(400, prefix+`ProvisionedThroughputExceededException","message":"slow","ThrottlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn"}]}`),
		"a conflict":                         fail(400, prefix+`TransactionConflictException"}`),
		"no table":                           fail(400, prefix+`ResourceNotFoundException","message":"no"}`),
		"a fault":                            fail(500, `{}`), "a proxy": fail(503, `<html>`), "moved": fail(301, ``),
		"a right checksum": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(`{"Attributes":{}}`))))
			succeed(w, nil)
		},
		"a length that no answer has": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(math.MaxInt64))
			succeed(w, nil)
		},
		"an answer cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			succeed(w, nil)
		},
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			client := e.client(func(o *dynamodb.Options) {
				o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			})
			if _, err := client.UpdateItem(t.Context(), update()); err != nil {
				t.Fatal(err)
			}
			e.set(handler)
			want, wantErr := client.Client.UpdateItem(t.Context(), update())
			got, err := client.UpdateItem(t.Context(), update())
			if n := e.count(); n != 3 {
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

// TestFastUpdateEnds ends the context of a call.
func TestFastUpdateEnds(t *testing.T) {
	e := newEndpoint(t)
	client := e.client(func(*dynamodb.Options) {})
	_, _ = client.UpdateItem(t.Context(), update())
	e.set(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client.UpdateItem(ctx, update())
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(dynamo.Translate(err, "counters"), dynamo.ErrTimeout) {
		t.Errorf("error %v", err)
	}
}
