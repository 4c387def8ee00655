package dynamo_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
)

// overtaken is a busy table on which others act before the first transaction
// that is not refused.
type overtaken struct {
	*busy
	act func()
}

func (o *overtaken) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if len(o.reasons) == 0 {
		o.act()
	}
	return o.busy.TransactWriteItems(ctx, in, opts...)
}

// TestLastAnswerDeniesAGroup: the answer to the third attempt shows a full
// counter. That denies the group, and is no failure.
func TestLastAnswerDeniesAGroup(t *testing.T) {
	b, others := blocked(&busy{reasons: []string{"NC", "NC"}})
	table := &overtaken{b, func() {
		if err := others.Charge(t.Context(), epoch, minute("b", 10), &limit.Verdict{}); err != nil {
			t.Error(err)
		}
	}}
	store := dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	var vs [2]limit.Verdict
	err := store.ChargeAll(t.Context(), epoch, []*limit.Charge{minute("a", 1), minute("b", 1)}, []*limit.Verdict{&vs[0], &vs[1]})
	if err != nil || !vs[0].Allowed || vs[1].Allowed || len(b.reasons) != 0 {
		t.Errorf("%+v, error %v", vs, err)
	}
}
