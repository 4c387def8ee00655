package dynamomodel_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

const (
	tableName = "counters"
	itemKey   = "the key"
)

type attributes = map[string]types.AttributeValue

func num(n string) types.AttributeValue  { return &types.AttributeValueMemberN{Value: n} }
func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

var long = strings.Repeat("x", 390_000)

// values returns the values of placeholders that are not their own number or
// word.
func values() attributes {
	return attributes{
		":half": num("0.5"), ":minus1": num("-1"), ":bytes": &types.AttributeValueMemberB{Value: []byte{1, 2}},
		":max": num("99999999999999999999999999999999999999"), ":nan": num("NaN"), ":long": text(long),
	}
}

var (
	nameRefs  = regexp.MustCompile(`#\w+`)
	valueRefs = regexp.MustCompile(`:\w+`)
	numeric   = regexp.MustCompile(`^-?\d`)
)

// value returns the value of a placeholder: :5 is the number 5, :x the string
// "x".
func value(placeholder string) types.AttributeValue {
	if v, ok := values()[placeholder]; ok {
		return v
	}
	return scalar(placeholder[1:])
}

func scalar(s string) types.AttributeValue {
	if numeric.MatchString(s) {
		return num(s)
	}
	return text(s)
}

// item parses attributes such as "a=1 b=x"; "none" is no item.
func item(text string) attributes {
	if text == "none" {
		return nil
	}
	made := attributes{}
	for field := range strings.FieldsSeq(text) {
		name, v, _ := strings.Cut(field, "=")
		made[name] = scalar(v)
		if strings.HasPrefix(v, ":") {
			made[name] = value(v)
		}
	}
	return made
}

func keyAttributes(key string) attributes { return attributes{"k": text(key)} }

// updateInput returns an update with exactly the placeholders that its
// expressions refer to: #a is the attribute a.
func updateInput(condition, update string) *dynamodb.UpdateItemInput {
	table := tableName
	in := &dynamodb.UpdateItemInput{
		TableName: &table, Key: keyAttributes(itemKey), ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	if update != "" {
		in.UpdateExpression = &update
	}
	for _, ref := range nameRefs.FindAllString(condition+" "+update, -1) {
		if in.ExpressionAttributeNames == nil {
			in.ExpressionAttributeNames = map[string]string{}
		}
		in.ExpressionAttributeNames[ref] = ref[1:]
	}
	for _, ref := range valueRefs.FindAllString(condition+" "+update, -1) {
		if in.ExpressionAttributeValues == nil {
			in.ExpressionAttributeValues = attributes{}
		}
		in.ExpressionAttributeValues[ref] = value(ref)
	}
	return in
}

// failer is the common part of *testing.T, *testing.B and *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
}

// tableWith returns a table with one item, or with none for nil.
func tableWith(t failer, initial attributes) *dynamomodel.Table {
	t.Helper()
	table := dynamomodel.New(tableName, "k")
	if initial != nil {
		if err := table.Put(itemKey, initial); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// formatItem formats an item without its key, in the order of its attributes;
// "none" for no item.
func formatItem(stored attributes) string {
	if stored == nil {
		return "none"
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if name != "k" {
			fields = append(fields, name+"="+formatValue(stored[name]))
		}
	}
	return strings.Join(fields, " ")
}

func formatValue(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberS:
		return v.Value
	}
	for placeholder, known := range values() {
		if reflect.DeepEqual(known, v) {
			return placeholder
		}
	}
	return "?"
}

func update(api dynamo.API, in *dynamodb.UpdateItemInput) (attributes, error) {
	out, err := api.UpdateItem(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// code returns an error's code, empty for no error.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return err.Error()
}

// message returns the message of an error of the API.
func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return "no error of the API"
}
