package sim

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tamper changes the writes of every store on their way to the table, so that tests can show that the log is not blind. It
// is given the parts of a transaction too, as the updates that they are.
type Tamper func(*dynamodb.UpdateItemInput)

func (t Tamper) update(in *dynamodb.UpdateItemInput) {
	if t != nil {
		t(in)
	}
}

func (t Tamper) transaction(in *dynamodb.TransactWriteItemsInput) {
	for i := range in.TransactItems {
		if u := in.TransactItems[i].Update; t != nil && u != nil {
			t.part(u)
		}
	}
}

func (t Tamper) part(u *types.Update) {
	in := &dynamodb.UpdateItemInput{
		Key: u.Key, ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
	}
	t(in)
	u.ConditionExpression, u.UpdateExpression = in.ConditionExpression, in.UpdateExpression
}
