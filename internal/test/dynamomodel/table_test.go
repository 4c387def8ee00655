package dynamomodel_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

var _ dynamo.API = (*dynamomodel.Table)(nil)

func TestPutSetsTheKey(t *testing.T) {
	table := dynamomodel.New(tableName, "k")
	if err := table.Put("a", keyAttributes("b")); err != nil || !reflect.DeepEqual(table.Item("a"), keyAttributes("a")) {
		t.Errorf("got %v, %v", table.Item("a"), err)
	}
	for _, key := range []string{"", string(make([]byte, 2049))} {
		if err := table.Put(key, nil); code(err) != "ValidationException" {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	if err := table.Put("a", attributes{"a": nil}); code(err) != "ValidationException" || table.Item("a") == nil {
		t.Errorf("a missing value: %v, item %v", err, table.Item("a"))
	}
}

func getInput(key string) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyAttributes(key), ConsistentRead: aws.Bool(true)}
}

func TestGetItem(t *testing.T) {
	table := tableWith(t, item("a=1"))
	for key, want := range map[string]string{itemKey: "a=1", "another": "none"} {
		if out, err := table.GetItem(context.Background(), getInput(key)); err != nil || formatItem(out.Item) != want {
			t.Errorf("%s: %+v, %v, want %s", key, out, err, want)
		}
	}
	for name, change := range map[string]func(*dynamodb.GetItemInput){
		"an eventually consistent read": func(in *dynamodb.GetItemInput) { in.ConsistentRead = nil },
		"a projection":                  func(in *dynamodb.GetItemInput) { in.ProjectionExpression = aws.String("#a") },
		"names":                         func(in *dynamodb.GetItemInput) { in.ExpressionAttributeNames = map[string]string{"#a": "a"} },
		"an old projection":             func(in *dynamodb.GetItemInput) { in.AttributesToGet = []string{"a"} },
		"an empty key":                  func(in *dynamodb.GetItemInput) { in.Key = keyAttributes("") },
	} {
		in := getInput(itemKey)
		change(in)
		if _, err := table.GetItem(context.Background(), in); code(err) != "ValidationException" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func deleteInput() *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyAttributes(itemKey)}
}

func TestDeleteItem(t *testing.T) {
	table := tableWith(t, item("a=1"))
	conditional := deleteInput()
	conditional.ConditionExpression = aws.String("attribute_exists(#k)")
	if _, err := table.DeleteItem(context.Background(), conditional); code(err) != "ValidationException" || len(table.Keys()) != 1 {
		t.Errorf("a condition: %v, %d items", err, len(table.Keys()))
	}
	for range 2 { // the item need not exist
		if _, err := table.DeleteItem(context.Background(), deleteInput()); err != nil || len(table.Keys()) != 0 {
			t.Errorf("%v, %d items", err, len(table.Keys()))
		}
	}
}

func TestSize(t *testing.T) {
	item := map[string]types.AttributeValue{
		"k":  &types.AttributeValueMemberS{Value: "rule"},
		"aC": &types.AttributeValueMemberN{Value: "123"},
		"aL": &types.AttributeValueMemberB{Value: make([]byte, 10)},
	}
	if got := dynamomodel.Size(item); got != 1+4+2+3+2+10 {
		t.Errorf("%d bytes", got)
	}
}
