package subject

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/bench/compare/measure"
)

// methods are what limiters on DynamoDB usually do, written for this comparison
// with as few calls as the method allows.
type methods struct {
	client *dynamodb.Client
	table  string
	measure.Limit
}

func (d *Dynamo) methods(l measure.Limit) (*methods, *tally) {
	client, calls := d.client()
	return &methods{client, d.table, l}, calls
}

func (d *Dynamo) openFixed(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	m, calls := d.methods(l)
	return &measure.Limiter{Decide: fixed(l, m.add), Calls: calls.read}, nil
}

func (d *Dynamo) openTwo(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	m, calls := d.methods(l)
	both := func(ctx context.Context, newer, older string) (n, before int64, err error) {
		var reading error
		done := make(chan struct{})
		go func() {
			before, reading = m.number(ctx, older)
			close(done)
		}()
		n, err = m.add(ctx, newer)
		<-done
		return n, before, errors.Join(err, reading)
	}
	return &measure.Limiter{Decide: twoCounts(l, both), Calls: calls.read}, nil
}

// add increments the number of an item, and returns it.
func (m *methods) add(ctx context.Context, key string) (int64, error) {
	out, err := m.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: item(key), UpdateExpression: aws.String("ADD #n :one"),
		ExpressionAttributeNames:  map[string]string{"#n": "n"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		ReturnValues:              types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, err
	}
	return number(out.Attributes)
}

// number reads the number of an item; it is 0 for none.
func (m *methods) number(ctx context.Context, key string) (int64, error) {
	out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &m.table, Key: item(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, err
	}
	return number(out.Item)
}

// openSwapped keeps the time at which a bucket is full again.
func (d *Dynamo) openSwapped(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	m, calls := d.methods(l)
	interval := int64(l.Window) / l.Capacity
	return &measure.Limiter{Calls: calls.read, Decide: func(ctx context.Context, key string) (bool, error) {
		full, err := m.number(ctx, key)
		if err != nil {
			return false, err
		}
		now := time.Now().UnixNano()
		next := max(full, now) + interval
		if next-now > int64(l.Window) {
			return false, nil
		}
		return true, m.swap(ctx, key, full, next)
	}}, nil
}

// swap replaces the number of an item if it still is the old one.
func (m *methods) swap(ctx context.Context, key string, from, to int64) error {
	values := map[string]types.AttributeValue{":new": &types.AttributeValueMemberN{Value: strconv.FormatInt(to, 10)}}
	condition := "attribute_not_exists(#n)"
	if from != 0 {
		condition, values[":old"] = "#n = :old", &types.AttributeValueMemberN{Value: strconv.FormatInt(from, 10)}
	}
	_, err := m.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: item(key), UpdateExpression: aws.String("SET #n = :new"), ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{"#n": "n"}, ExpressionAttributeValues: values,
	})
	return err
}

func item(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}
}

func number(item map[string]types.AttributeValue) (int64, error) {
	n, ok := item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
