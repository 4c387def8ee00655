package dynamomodel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// TransactWriteItems makes up to 100 writes to as many items, all or none. If
// one of them cannot be made it is a *types.TransactionCanceledException with a
// reason for each, in order. It refuses a ClientRequestToken, because the model
// keeps no record of earlier requests.
func (t *Table) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := checkCall(ctx, in, "TransactItems"); err != nil {
		return nil, err
	}
	if n := len(in.TransactItems); n == 0 || n > maxTransacted {
		return nil, invalid("Value at 'transactItems' failed to satisfy constraint: Member must have length from 1 to %d, not %d",
			maxTransacted, n)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	writes, err := t.parseTransaction(in.TransactItems)
	if err != nil {
		return nil, err
	}
	reasons := make([]error, len(writes))
	for i, w := range writes {
		reasons[i] = t.evaluate(w)
	}
	if errors.Join(reasons...) != nil {
		return nil, canceled(reasons)
	}
	for _, w := range writes {
		t.commit(w)
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// parseTransaction checks everything that does not depend on the items.
func (t *Table) parseTransaction(members []types.TransactWriteItem) ([]*write, error) {
	writes, keys := make([]*write, len(members)), map[string]bool{}
	for i := range members {
		w, err := t.parseMember(&members[i])
		if err != nil {
			return nil, err
		}
		if keys[w.key] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		keys[w.key] = true
		writes[i] = w
	}
	return writes, nil
}

func (t *Table) parseMember(m *types.TransactWriteItem) (*write, error) {
	if err := checkFields(reflect.ValueOf(m).Elem(), "Update"); err != nil {
		return nil, err
	}
	switch {
	case m.Update == nil:
		return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	case m.Update.UpdateExpression == nil:
		return nil, invalid("The update expression is missing")
	}
	return t.parse(m.Update)
}

// canceled returns the failure of a transaction. Each write has its error, or
// nil.
func canceled(writes []error) error {
	codes, reasons := make([]string, len(writes)), make([]types.CancellationReason, len(writes))
	for i, err := range writes {
		codes[i] = "None"
		if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			codes[i], reasons[i].Message, reasons[i].Item = "ConditionalCheckFailed", failed.Message, failed.Item
		} else if impossible, ok := errors.AsType[smithy.APIError](err); ok {
			codes[i], reasons[i].Message = "ValidationError", aws.String(impossible.ErrorMessage())
		}
		reasons[i].Code = &codes[i]
	}
	return &types.TransactionCanceledException{
		Message: aws.String(fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]",
			strings.Join(codes, ", "))),
		CancellationReasons: reasons,
	}
}
