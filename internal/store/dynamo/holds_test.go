package dynamo_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// TestZeroCostNamesNoHoldThatItHasNotOpened reserves nothing yet (a cost of 0 that
// settles) while a snapshot shows no room, and another process has just made some.
func TestZeroCostNamesNoHoldThatItHasNotOpened(t *testing.T) {
	ctx := context.Background()
	engine, table := newTable(t)
	store := func() *dynamo.Store {
		return dynamo.New(engine, table, dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	a, b := store(), store()
	l := limit.Limit{Capacity: 1000, Window: time.Hour, Granularity: time.Minute}
	charge := func(id uint64, cost int64) *limit.Charge {
		return &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{cost},
			Hold: limit.Opening{ID: id, For: time.Minute, Most: 1}}
	}
	var first, v limit.Verdict
	if err := a.Charge(ctx, epoch, charge(1, 1), &first); err != nil || first.Receipt.Hold != 1 {
		t.Fatal(err, first)
	}
	if err := b.Settle(ctx, epoch, charge(1, 1), &first.Receipt, []int64{0}); err != nil {
		t.Fatal(err)
	}
	if err := a.Charge(ctx, epoch.Add(500*time.Millisecond), charge(2, 0), &v); err != nil || !v.Allowed {
		t.Fatal(err, v)
	}
	if v.Receipt.Hold != 0 {
		if err := a.Settle(ctx, epoch.Add(time.Second), charge(2, 0), &v.Receipt, []int64{500}); err != nil {
			t.Errorf("the verdict names hold %d, which nothing has opened: settling 500 units by it: %v", v.Receipt.Hold, err)
		}
	}
}

// TestPlainChargeKeepsTheLifeOfPlaces charges a counter of places for 6 hours and of
// a window of a minute by a process without a snapshot, and takes no place
// (Reserve(ctx, key, 1, 0) of a Limiter). DynamoDB must not delete the item meanwhile.
func TestPlainChargeKeepsTheLifeOfPlaces(t *testing.T) {
	ctx := context.Background()
	engine, table := newTable(t)
	store := func() *dynamo.Store {
		return dynamo.New(engine, table, dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	limits := []limit.Limit{
		{Name: "a", Capacity: 1000, Window: time.Minute, Granularity: time.Second},
		{Name: "b", Algorithm: limit.InFlight, Capacity: 2, Window: 6 * time.Hour},
	}
	ttl := func() string {
		out, err := engine.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: protocol.PrimaryKey(key), ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item[protocol.AttributeTTL].(*types.AttributeValueMemberN).Value
	}
	var v limit.Verdict
	place := &limit.Charge{Key: key, Limits: limits, Costs: []int64{1, 1}, Hold: limit.Opening{ID: 1, For: 6 * time.Hour, Most: 2}}
	if err := store().Charge(ctx, epoch, place, &v); err != nil || !v.Allowed {
		t.Fatal(err, v)
	}
	before := ttl()
	if err := store().Charge(ctx, epoch, &limit.Charge{Key: key, Limits: limits, Costs: []int64{1, 0}}, &v); err != nil || !v.Allowed {
		t.Fatal(err, v)
	}
	if after := ttl(); after < before {
		t.Errorf("a plain charge shortens the ttl from %s to %s: the item, and the place in it, can go hours before the place ends", before, after)
	}
}

// TestMoreEndedPlacesThanOneWriteRemoves lowers a capacity from 100 to 5 after all
// holders have crashed. One write removes at most 60 of their places: of 64 those that
// one charge needs, but not those of five at once, and of 90 neither.
func TestMoreEndedPlacesThanOneWriteRemoves(t *testing.T) {
	later := epoch.Add(time.Hour)
	place := func(id uint64, capacity int64) *limit.Charge {
		l := limit.Limit{Algorithm: limit.InFlight, Capacity: capacity, Window: time.Minute}
		return &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{1}, Hold: limit.Opening{ID: id, For: l.Window, Most: capacity}}
	}
	for name, admitted := range map[string]func(*testing.T, *dynamo.Store) int{
		"one call": func(t *testing.T, s *dynamo.Store) (admitted int) {
			for id := range uint64(6) {
				var v limit.Verdict
				if err := s.Charge(t.Context(), later, place(1000+id, 5), &v); err != nil {
					t.Error(err)
				} else if v.Allowed {
					admitted++
				}
			}
			return admitted
		},
		"calls at once": func(t *testing.T, s *dynamo.Store) (admitted int) {
			var calls sync.WaitGroup
			verdicts := make([]limit.Verdict, 6)
			for i := range verdicts {
				calls.Go(func() {
					if err := s.Charge(t.Context(), later, place(1000+uint64(i), 5), &verdicts[i]); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			for i := range verdicts {
				if verdicts[i].Allowed {
					admitted++
				}
			}
			return admitted
		},
		"transactions": func(t *testing.T, s *dynamo.Store) (admitted int) {
			other := &limit.Charge{Key: "other", Limits: []limit.Limit{{Capacity: 100, Window: time.Hour, Granularity: time.Minute}}, Costs: []int64{1}}
			for id := range uint64(6) {
				vs := []*limit.Verdict{{}, {}}
				if err := s.ChargeAll(t.Context(), later, []*limit.Charge{place(1000+id, 5), other}, vs); err != nil {
					t.Error(err)
				} else if vs[0].Allowed {
					admitted++
				}
			}
			return admitted
		},
	} {
		for _, crashed := range []uint64{64, 90} {
			synctest.Test(t, func(t *testing.T) {
				table := newSlow()
				open := func() *dynamo.Store {
					return dynamo.New(&table.Double, "counters", dynamo.Options{Wall: func() time.Time { return later }})
				}
				for id := range crashed {
					var v limit.Verdict
					if err := open().Charge(t.Context(), epoch, place(1+id, 100), &v); err != nil || !v.Allowed {
						t.Fatal(id, err, v)
					}
				}
				if got := admitted(t, open()); got != 5 {
					t.Errorf("%s after %d have crashed: admitted %d of 6, want 5", name, crashed, got)
				}
			})
		}
	}
}
