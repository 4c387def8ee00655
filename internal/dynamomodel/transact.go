package dynamomodel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// TransactWriteItems makes up to 100 writes to as many items, all or none. If
// one of them cannot be made it is a *types.TransactionCanceledException with a
// reason for each, in order. A ClientRequestToken is refused: the model keeps
// no record of earlier requests.
func (t *Table) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := checkTransaction(ctx, in); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arena.reset()
	writes, err := t.parseTransaction(in.TransactItems)
	if err != nil {
		return nil, err
	}
	if err := canceled(t.evaluateAll(writes)); err != nil {
		return nil, err
	}
	for _, w := range writes {
		t.commit(w)
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func checkTransaction(ctx context.Context, in *dynamodb.TransactWriteItemsInput) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case in == nil:
		return invalid("no request")
	case in.ClientRequestToken != nil:
		return unmodelled("ClientRequestToken")
	case len(in.TransactItems) == 0 || len(in.TransactItems) > maxTransacted:
		return invalid("Value at 'transactItems' failed to satisfy constraint: Member must have length from 1 to %d, not %d",
			maxTransacted, len(in.TransactItems))
	}
	return checkMetrics(in.ReturnItemCollectionMetrics)
}

// parseTransaction checks the writes as far as it can be done without the
// items.
func (t *Table) parseTransaction(members []types.TransactWriteItem) ([]*write, error) {
	writes, seen := make([]*write, len(members)), map[string]bool{}
	for i := range members {
		w, err := t.parseMember(&members[i])
		if err != nil {
			return nil, err
		}
		if seen[w.key] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[w.key] = true
		writes[i] = w
	}
	return writes, nil
}

func (t *Table) parseMember(m *types.TransactWriteItem) (*write, error) {
	given := 0
	for _, is := range []bool{m.Update != nil, m.Delete != nil, m.ConditionCheck != nil, m.Put != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	case m.Update != nil:
		return t.parseUpdate(m.Update)
	case m.Delete != nil:
		return t.parseDelete(m.Delete)
	case m.ConditionCheck != nil:
		return t.parseCheck(m.ConditionCheck)
	}
	return t.parsePut(m.Put)
}

func (t *Table) parseUpdate(u *types.Update) (*write, error) {
	if u.UpdateExpression == nil {
		return nil, invalid("The update expression is missing")
	}
	return t.parse(&request{
		table: u.TableName, key: u.Key, condition: u.ConditionExpression, update: u.UpdateExpression,
		names: u.ExpressionAttributeNames, values: u.ExpressionAttributeValues, onFailure: u.ReturnValuesOnConditionCheckFailure,
	}, updates)
}

func (t *Table) parseDelete(d *types.Delete) (*write, error) {
	return t.parse(&request{
		table: d.TableName, key: d.Key, condition: d.ConditionExpression,
		names: d.ExpressionAttributeNames, values: d.ExpressionAttributeValues, onFailure: d.ReturnValuesOnConditionCheckFailure,
	}, erases)
}

func (t *Table) parseCheck(c *types.ConditionCheck) (*write, error) {
	if c.ConditionExpression == nil {
		return nil, invalid("The condition expression is missing")
	}
	return t.parse(&request{
		table: c.TableName, key: c.Key, condition: c.ConditionExpression,
		names: c.ExpressionAttributeNames, values: c.ExpressionAttributeValues, onFailure: c.ReturnValuesOnConditionCheckFailure,
	}, checks)
}

func (t *Table) parsePut(p *types.Put) (*write, error) {
	made, err := t.newItem(p.Item)
	if err != nil {
		return nil, err
	}
	w, err := t.parse(&request{
		table: p.TableName, key: attributes{t.partitionKey: made.attributes[t.partitionKey]}, condition: p.ConditionExpression,
		names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, onFailure: p.ReturnValuesOnConditionCheckFailure,
	}, puts)
	if err == nil {
		w.item = made
	}
	return w, err
}

// evaluateAll computes each write, or the reason why it cannot be made. It
// changes no item.
func (t *Table) evaluateAll(writes []*write) []types.CancellationReason {
	reasons := make([]types.CancellationReason, len(writes))
	for i, w := range writes {
		before := t.attributes(w.key)
		if !w.allowed(before) {
			reasons[i] = types.CancellationReason{
				Code: aws.String("ConditionalCheckFailed"), Message: aws.String(conditionFailed), Item: w.shown(before),
			}
			continue
		}
		reasons[i] = types.CancellationReason{Code: aws.String("None")}
		var refusal smithy.APIError
		if errors.As(t.compute(w), &refusal) {
			reasons[i] = types.CancellationReason{Code: aws.String("ValidationError"), Message: aws.String(refusal.ErrorMessage())}
		}
	}
	return reasons
}

// canceled returns the failure of a transaction, nil if there is no reason for
// one.
func canceled(reasons []types.CancellationReason) error {
	codes, failed := make([]string, len(reasons)), false
	for i := range reasons {
		codes[i] = *reasons[i].Code
		failed = failed || codes[i] != "None"
	}
	if !failed {
		return nil
	}
	return &types.TransactionCanceledException{
		Message: aws.String(fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]",
			strings.Join(codes, ", "))),
		CancellationReasons: reasons,
	}
}
