package dynamotest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// Send makes a call.
type Send[Output any] = func() (*Output, error)

// Double is a client of a table whose calls a test observes, changes, delays or
// fails. Each function gets a call, and send, which makes it; nil makes it as
// it is.
type Double struct {
	dynamo.API
	Update   func(context.Context, *dynamodb.UpdateItemInput, Send[dynamodb.UpdateItemOutput]) (*dynamodb.UpdateItemOutput, error)
	Get      func(context.Context, Send[dynamodb.GetItemOutput]) (*dynamodb.GetItemOutput, error)
	Transact func(Send[dynamodb.TransactWriteItemsOutput]) (*dynamodb.TransactWriteItemsOutput, error)
}

// UpdateItem passes the call to d.Update.
func (d *Double) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	send := func() (*dynamodb.UpdateItemOutput, error) { return d.API.UpdateItem(ctx, in, opts...) }
	if d.Update == nil {
		return send()
	}
	return d.Update(ctx, in, send)
}

// GetItem passes the call to d.Get.
func (d *Double) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	send := func() (*dynamodb.GetItemOutput, error) { return d.API.GetItem(ctx, in, opts...) }
	if d.Get == nil {
		return send()
	}
	return d.Get(ctx, send)
}

// TransactWriteItems passes the call to d.Transact.
func (d *Double) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	send := func() (*dynamodb.TransactWriteItemsOutput, error) { return d.API.TransactWriteItems(ctx, in, opts...) }
	if d.Transact == nil {
		return send()
	}
	return d.Transact(send)
}
