package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamomodel"
	"github.com/slidegate/slidegate/internal/limit"
)

var errAway = errors.New("the table is away")

// away is a table whose reads or writes fail.
type away struct {
	dynamo.API
	reads, writes, asked bool
}

func (a *away) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	a.asked = true
	if a.reads {
		return nil, errAway
	}
	return a.API.GetItem(ctx, in, opts...)
}

func (a *away) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if a.writes {
		return nil, errAway
	}
	return a.API.UpdateItem(ctx, in, opts...)
}

// TestWhileTheTableIsAway: a denial that is proven stands, whatever its age; all else is an error.
func TestWhileTheTableIsAway(t *testing.T) {
	at := func(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }
	confirmed := false
	a := &away{API: dynamomodel.New("counters", "k")}
	store := dynamo.New(a, "counters", dynamo.Options{
		Wall: func() time.Time { return epoch }, Confirmed: func() bool { return confirmed },
	})
	var v limit.Verdict
	charge := func(second int, cost int64) error {
		return store.Charge(context.Background(), at(second), minute("a", cost), &v)
	}
	if err := charge(30, 9); err != nil || !v.Allowed {
		t.Fatalf("%+v, error %v", v, err)
	}
	a.reads, a.writes = true, true
	if err := charge(31, 1); !errors.Is(err, errAway) {
		t.Errorf("a charge that there may be room for: error %v", err)
	}
	if err := charge(31, 2); err != nil || v.Allowed || a.asked {
		t.Errorf("a denial by a view: %+v, error %v, asked %v", v, err, a.asked)
	}
	if err := charge(42, 2); err != nil || v.Allowed || !a.asked {
		t.Errorf("a denial by an old view: %+v, error %v, asked %v", v, err, a.asked)
	}
	if err := store.Peek(context.Background(), at(42), minute("a", 1), &v); !errors.Is(err, errAway) {
		t.Errorf("a peek: error %v", err)
	}
	if err := charge(42, 0); !errors.Is(err, errAway) {
		t.Errorf("a charge of nothing: error %v", err)
	}
	if err := store.Settle(context.Background(), at(42), minute("a", 9), &v.Receipt, []int64{1}); !errors.Is(err, errAway) {
		t.Errorf("a settlement: error %v", err)
	}
	confirmed = true
	if err := charge(15, 1); !errors.Is(err, errAway) || v.Allowed && err == nil { // the counter seems far ahead, and cannot be looked at
		t.Errorf("a counter far ahead: %+v, error %v", v, err)
	}
	a.reads = false
	if err := charge(15, 1); !errors.Is(err, dynamo.ErrAhead) {
		t.Errorf("a counter far ahead: error %v", err)
	}
}

// TestCallsAreCounted counts what AWS charges for: each write of a transaction twice, refused ones too.
func TestCallsAreCounted(t *testing.T) {
	store := dynamo.New(dynamomodel.New("counters", "k"), "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	ctx, v := context.Background(), limit.Verdict{}
	step := func(what string, reads, writes int64, err error) {
		t.Helper()
		if r, w := store.Calls(); err != nil || r != reads || w != writes {
			t.Errorf("%s: %d reads and %d writes, error %v; want %d and %d", what, r, w, err, reads, writes)
		}
	}
	step("a charge", 0, 1, store.Charge(ctx, epoch, minute("a", 1), &v))
	step("a peek", 1, 1, store.Peek(ctx, epoch, minute("a", 1), &v))
	step("two at once", 1, 5, store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 1), minute("b", 1)}, []*limit.Verdict{{}, {}}))
	step("one of them free", 2, 7, store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 0), minute("b", 1)}, []*limit.Verdict{{}, {}}))
	step("a reset", 2, 8, store.Reset(ctx, "a"))
	step("a charge of a counter whose view went with it", 2, 9, store.Charge(ctx, epoch, minute("a", 1), &v))
}
