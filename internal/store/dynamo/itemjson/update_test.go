package itemjson

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestUpdateBody writes inputs with every field, with none, and with empty maps.
func TestUpdateBody(t *testing.T) {
	key := map[string]types.AttributeValue{"k": attribute("S", "key"), "n": attribute("N", "-7"), "b": attribute("B", "AAH/")}
	type object = map[string]any
	for name, test := range map[string]struct {
		in   dynamodb.UpdateItemInput
		want object
	}{
		"every field": {
			dynamodb.UpdateItemInput{
				TableName: aws.String("counters"), Key: key, ConditionExpression: aws.String("#a = :a"), UpdateExpression: aws.String("SET #a = :b"),
				ExpressionAttributeNames:            map[string]string{"#a": "a", "#b": `"b"`},
				ExpressionAttributeValues:           map[string]types.AttributeValue{":a": attribute("N", "1")},
				ReturnValues:                        types.ReturnValueAllNew,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			},
			object{
				"TableName": "counters", "Key": object{"k": object{"S": "key"}, "n": object{"N": "-7"}, "b": object{"B": "AAH/"}},
				"ConditionExpression": "#a = :a", "UpdateExpression": "SET #a = :b",
				"ExpressionAttributeNames":  object{"#a": "a", "#b": `"b"`},
				"ExpressionAttributeValues": object{":a": object{"N": "1"}},
				"ReturnValues":              "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
			},
		},
		"no field": {dynamodb.UpdateItemInput{TableName: aws.String("t")}, object{"TableName": "t", "Key": object{}}},
		"empty maps": {
			dynamodb.UpdateItemInput{
				TableName: aws.String(""), ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: map[string]types.AttributeValue{},
			},
			object{"TableName": "", "Key": object{}, "ExpressionAttributeNames": object{}, "ExpressionAttributeValues": object{}},
		},
	} {
		body, ok := Update(&test.in)
		var got object
		if err := json.Unmarshal(body, &got); !ok || err != nil {
			t.Errorf("%s: %s, %t, %v", name, body, ok, err)
		} else if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFailuresStay: a mistake is not forgotten when the rest can be read or
// written.
func TestFailuresStay(t *testing.T) {
	for _, body := range []string{
		`"Attributes":{}}`, `{Attributes":{}}`, `{"Attributes"{}}`, `{"Attributes":{}`, `{"Attributes":"a":{"N":"1"}}`,
		`{"Attributes":{"a"{"N":"1"}}}`, `{"Attributes":{"a":"N":"1"}}}`, `{"Attributes":{"a":{"N""1"}}}`, `{"Attributes":{"a":{"N":"1"}`,
		`{"Attributes":{"a":{"B":"!"}}}`, `{"Attributes":{"a":{"B":"!"},"b":{"N":"1"}}}`, `{"Attributes":{"a":{"X":"1"},"b":{"N":"1"}}}`,
		`{"Attributes":{"a":{"N":"1","b":{"N":"1"}}}`, `{"Attributes":{"a":{"N":"1"}"b":{"N":"1"}}}`, `{"Attributes":{"a\n":{"N":"1"}}}`,
		`{"Attributes":{"a":{"S":"\u0041"}}}`, "{\"Attributes\":{\"a\":{\"S\":\"\n\"}}}",
		`{"Attributes":{"a":{"S":"x`, `{"Attributes":{"a"{"B":"AAH/"}}}`, `{} x`, `{"Other":{}}`,
	} {
		if item, ok := Attributes([]byte(body)); ok {
			t.Errorf("%s: %v", body, item)
		}
	}
	key := map[string]types.AttributeValue{"list": &types.AttributeValueMemberL{}}
	for range 10 { // in any order
		key["k"] = attribute("S", "é")
		if body, ok := Update(&dynamodb.UpdateItemInput{TableName: aws.String("t"), Key: key}); ok {
			t.Errorf("wrote %s", body)
		}
	}
}
