package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

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
		"a right checksum": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(`{"Attributes":{}}`))))
			dynamotest.Succeed(w, nil)
		},
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

// TestFastUpdateEnds ends the context of a call.
func TestFastUpdateEnds(t *testing.T) {
	e := dynamotest.NewEndpoint(t, nil)
	client := e.Client()
	_, _ = client.UpdateItem(t.Context(), update())
	e.Set(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client.UpdateItem(ctx, update())
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(dynamo.Translate(err, "counters"), dynamo.ErrTimeout) {
		t.Errorf("error %v", err)
	}
}
