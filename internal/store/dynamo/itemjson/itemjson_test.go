package itemjson

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestAttributes reads the answers that DynamoDB gives to charges. The SDK takes
// several times as long.
func TestAttributes(t *testing.T) {
	for body, want := range map[string]map[string]types.AttributeValue{
		`{}`:                               nil,
		`{"Attributes":{"a b":{"S":" "}}}`: {"a b": attribute("S", " ")},
		`{"Attributes":{}}`:                {},
		`{"Attributes":{"k":{"S":"rule|user:1|00000000"},"aC":{"N":"12"},"aL":{"B":"AAH/"},"aT":{"N":"1700000040000000000"}}}`: {
			"k": attribute("S", "rule|user:1|00000000"), "aC": attribute("N", "12"), "aL": attribute("B", "AAH/"), "aT": attribute("N", "1700000040000000000"),
		},
		" { \"Attributes\" :\n{ \"a\" : { \"N\" : \"1\" } ,\t\"b\":{\"N\":\"2\"}} }\r\n": {"a": attribute("N", "1"), "b": attribute("N", "2")},
	} {
		if got, ok := Attributes([]byte(body)); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", body, got, ok)
		}
	}
}

// TestUpdate refuses inputs with fields that it does not write.
func TestUpdate(t *testing.T) {
	for name, change := range map[string]func(*dynamodb.UpdateItemInput){
		"no table":         func(in *dynamodb.UpdateItemInput) { in.TableName = nil },
		"old updates":      func(in *dynamodb.UpdateItemInput) { in.AttributeUpdates = map[string]types.AttributeValueUpdate{} },
		"an old operator":  func(in *dynamodb.UpdateItemInput) { in.ConditionalOperator = types.ConditionalOperatorOr },
		"an old condition": func(in *dynamodb.UpdateItemInput) { in.Expected = map[string]types.ExpectedAttributeValue{} },
		"capacity":         func(in *dynamodb.UpdateItemInput) { in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal },
		"metrics": func(in *dynamodb.UpdateItemInput) {
			in.ReturnItemCollectionMetrics = types.ReturnItemCollectionMetricsSize
		},
		"a key of other types": func(in *dynamodb.UpdateItemInput) { in.Key["k"] = &types.AttributeValueMemberBOOL{} },
	} {
		in := &dynamodb.UpdateItemInput{TableName: aws.String("counters"), Key: map[string]types.AttributeValue{"k": attribute("S", "key")}}
		if _, ok := Update(in); !ok {
			t.Fatal("an input without these fields is refused")
		}
		change(in)
		if body, ok := Update(in); ok {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestText writes any text as JSON, as ASCII or not.
func TestText(t *testing.T) {
	for _, text := range []string{`"`, `\`, "é", "\xff", "\x1f"} {
		var out struct{ TableName string }
		body, ok := Update(&dynamodb.UpdateItemInput{TableName: &text})
		if err := json.Unmarshal(body, &out); !ok || err != nil || out.TableName != strings.ToValidUTF8(text, "\ufffd") || !utf8.Valid(body) {
			t.Errorf("%q: %s, error %v", text, body, err)
		}
	}
}

// FuzzAttributes reads any body. What Attributes reads, encoding/json reads too.
func FuzzAttributes(f *testing.F) {
	for _, body := range []string{
		`{"Attributes":{"k":{"S":"key"},"aC":{"N":"12"},"aL":{"B":"AAH/"}}}`, `{}`, `{"Attributes":{}}`, ``, `{"Attributes":`,
		"\t{\"Attributes\" : {\"a\":{\"N\":\"1\"} , \"b\" : {\"N\":\"2\"}}}\r\n", `{"Attributes":{"a":{"N":"1"},}}`,
		`{"Attributes":{"a":{"S":"\u0041"}}}`, `{"Attributes":{"a":{"BOOL":true}}}`, `{"Attributes":{}}{}`, `{"Other":{}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, ok := Attributes([]byte(body))
		if !ok || !utf8.ValidString(body) {
			return
		}
		var want struct{ Attributes map[string]map[string]string }
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if len(got) != len(want.Attributes) {
			t.Fatalf("%q: %d attributes, want %d", body, len(got), len(want.Attributes))
		}
		for name, value := range want.Attributes {
			for kind, text := range value {
				if !reflect.DeepEqual(got[name], attribute(kind, text)) {
					t.Errorf("%q: %s is %#v", body, name, got[name])
				}
			}
		}
	})
}

func attribute(kind, text string) types.AttributeValue {
	switch kind {
	case "N":
		return &types.AttributeValueMemberN{Value: text}
	case "S":
		return &types.AttributeValueMemberS{Value: text}
	}
	b, _ := base64.StdEncoding.DecodeString(text)
	return &types.AttributeValueMemberB{Value: b}
}

// TestUpdateBody writes inputs with no field, and with empty maps; package dynamo
// compares one with every field to what the SDK sends.
func TestUpdateBody(t *testing.T) {
	empty := dynamodb.UpdateItemInput{
		TableName: aws.String("t"), ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: map[string]types.AttributeValue{},
	}
	for want, in := range map[string]*dynamodb.UpdateItemInput{
		`{"TableName":"t","Key":{}}`: {TableName: aws.String("t")},
		`{"TableName":"t","Key":{},"ExpressionAttributeNames":{},"ExpressionAttributeValues":{}}`: &empty,
	} {
		if body, ok := Update(in); !ok || string(body) != want {
			t.Errorf("%s, %t; want %s", body, ok, want)
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
