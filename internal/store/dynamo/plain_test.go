package dynamo_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// sent is a table that notes the calls for it: those that prune last, because they go
// on beside others. With hold, a write waits for it.
type sent struct {
	*dynamomodel.Table
	mu           sync.Mutex
	calls, prune strings.Builder
	hold         chan struct{}
}

// text returns the calls since it was called last.
func (s *sent) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.calls.Reset()
	defer s.prune.Reset()
	return s.calls.String() + s.prune.String()
}

func (s *sent) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := &s.calls
	if strings.HasPrefix(*in.UpdateExpression, "REMOVE") {
		to = &s.prune
	}
	fmt.Fprintf(to, "  UpdateItem %s, returns %s and %s\n", keyOf(in.Key), in.ReturnValues, in.ReturnValuesOnConditionCheckFailure)
	s.note(to, in.ConditionExpression, in.UpdateExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	return s.Table.UpdateItem(ctx, in, opts...)
}

func (s *sent) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	fmt.Fprintf(&s.calls, "  GetItem %s, consistent %v\n", keyOf(in.Key), *in.ConsistentRead)
	return s.Table.GetItem(ctx, in, opts...)
}

func (s *sent) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	for i := range in.TransactItems {
		u := in.TransactItems[i].Update
		fmt.Fprintf(&s.calls, "  TransactWriteItems %s, returns %s\n", keyOf(u.Key), u.ReturnValuesOnConditionCheckFailure)
		s.note(&s.calls, u.ConditionExpression, u.UpdateExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues)
	}
	return s.Table.TransactWriteItems(ctx, in, opts...)
}

func keyOf(key map[string]types.AttributeValue) string {
	return key["k"].(*types.AttributeValueMemberS).Value
}

func (*sent) note(to *strings.Builder, condition, update *string, names map[string]string, values map[string]types.AttributeValue) {
	if condition != nil {
		fmt.Fprintf(to, "    if %s\n", *condition)
	}
	fmt.Fprintf(to, "    %s\n   ", *update)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(to, " %s=%s", name, names[name])
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch v := values[name].(type) {
		case *types.AttributeValueMemberN:
			fmt.Fprintf(to, " %s=%s", name, v.Value)
		case *types.AttributeValueMemberS:
			fmt.Fprintf(to, " %s=%q", name, v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(to, " %s=0x%x", name, v.Value)
		default:
			fmt.Fprintf(to, " %s=%T", name, v)
		}
	}
	to.WriteString("\n")
}

// TestPlainWrites compares the requests of charges that open no hold with those of
// the versions before there were holds, which wrote testdata/plain.txt.
func TestPlainWrites(t *testing.T) {
	window := limit.Limit{Name: "window", Capacity: 20, Window: 10 * time.Second, Granularity: time.Second}
	narrow := limit.Limit{Name: "few", Capacity: 5, Window: 2 * time.Second, Granularity: time.Second}
	fixed := limit.Limit{Name: "hour", Algorithm: limit.FixedWindow, Capacity: 1<<32 - 1, Window: time.Hour, Granularity: time.Hour}
	weighted := limit.Limit{Name: "weighted", Algorithm: limit.SlidingWindowCounter, Capacity: 20, Window: time.Minute, Granularity: time.Minute}
	log := limit.Limit{Name: "log", Algorithm: limit.SlidingWindowLog, Capacity: 5, Window: 10 * time.Second, Granularity: limit.Exact}
	token := limit.Limit{Name: "token", Algorithm: limit.TokenBucket, Capacity: 10, Window: 10 * time.Second, Burst: 5}
	leaky := limit.Limit{Name: "leaky", Algorithm: limit.LeakyBucket, Capacity: 10, Window: 10 * time.Second, Burst: 5}
	// Each step charges at a second of the trace: "5:2,1" takes 2 of the first limit
	// and 1 of the second. "cold" is a process of its own, "settle -1" corrects the
	// charge before, "other" charges another key, "reset" deletes the counter.
	var calls strings.Builder
	for _, test := range []struct {
		name   string
		limits []limit.Limit
		trace  string
	}{
		{"a window", []limit.Limit{window}, "0:3; 0:2; 1:1; 4:1; 40:1; 40:21; cold 41:1; cold 41:1; 42:0; 42:1"},
		{"a window without room", []limit.Limit{narrow}, "0:5; 0:1; 1:1; cold 1:1; 2:1; 12:1; 24:6; 24:5"},
		{"a window of another capacity", []limit.Limit{narrow, window}, "0:5,20; cold 12:1,1; 40:1,1; cold 40:5,1"},
		{"a reset", []limit.Limit{window}, "0:3; reset; 0:3; settle -1; reset; settle -1; settle 2"},
		{"settlements", []limit.Limit{window}, "0:3; settle -1; 0:3; settle 4; 1:3; settle -3; cold 1:2; settle -1; 30:1; settle 0; 60:0; settle 7"},
		{"pruning", []limit.Limit{window}, "cold 0:1; cold 1:1; cold 2:1; cold 3:1; cold 4:1; cold 5:1; cold 6:1; cold 7:1; 40:1; other 40; 41:1"},
		{"an hour", []limit.Limit{fixed}, "0:4294967295; settle -4294967290; 1:7; 4000:1; settle 4294967295"},
		{"weighted windows", []limit.Limit{weighted}, "0:3; 30:2; 70:1; settle -1; settle 1; 300:1; cold 301:1"},
		{"a log", []limit.Limit{log}, "0:1; 1:2; 2:3; 3:2; cold 4:1; 12:1; 40:5"},
		{"a token bucket", []limit.Limit{token}, "0:1; 0:4; 0:1; 1:1; cold 1:1; 30:2; cold 30:2"},
		{"a leaky bucket", []limit.Limit{leaky}, "0:1; 0:2; settle -2; 1:1; settle -1; cold 1:4; 30:2"},
		{
			"several limits", []limit.Limit{window, fixed, log, token, weighted},
			"0:1,2,1,1,3; 0:1,0,1,0,0; 1:0,1,0,0,0; settle 0,-1,0,0,0; 30:3,3,3,3,3; settle 1,-2,0,0,-3; cold 31:1,1,1,1,1; 31:25,1,1,1,1",
		},
	} {
		fmt.Fprintf(&calls, "%s\n", test.name)
		plainTrace(t, &calls, test.limits, test.trace)
	}
	plainTogether(t, &calls, window, token)
	golden.Check(t, "testdata/plain.txt", calls.String())
}

func plainStore(table *sent) *dynamo.Store {
	n := 0
	return dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }, NewGeneration: func() string {
		n++
		return fmt.Sprint("life", n)
	}})
}

func plainTrace(t *testing.T, calls *strings.Builder, limits []limit.Limit, trace string) {
	t.Helper()
	table := &sent{Table: dynamomodel.New("counters", "k")}
	warm := plainStore(table)
	made, last, at := limit.Charge{}, limit.Verdict{}, epoch
	for step := range strings.SplitSeq(trace, "; ") {
		store, words := warm, strings.TrimPrefix(step, "cold ")
		if words != step {
			store = plainStore(table)
		}
		c := limit.Charge{Key: key, Limits: limits, Costs: make([]int64, len(limits))}
		what, rest, _ := strings.Cut(words, " ")
		var v limit.Verdict
		var err error
		switch what {
		case "reset":
			table.Delete(key)
		case "settle":
			err = store.Settle(t.Context(), at, &made, &last.Receipt, numbers(t, rest))
		case "other":
			c.Key, c.Costs[0] = key+"2", 1
			err = store.Charge(t.Context(), at, &c, &v)
		default:
			seconds, costs, _ := strings.Cut(what, ":")
			at = epoch.Add(time.Duration(numbers(t, seconds)[0]) * time.Second)
			c.Costs = numbers(t, costs)
			if err = store.Charge(t.Context(), at, &c, &v); v.Allowed {
				made, last = c, v
			}
		}
		fmt.Fprintf(calls, " %s: allowed %v, error %v\n%s", step, v.Allowed, err, table.text())
	}
}

func numbers(t *testing.T, words string) (ns []int64) {
	t.Helper()
	for word := range strings.SplitSeq(words, ",") {
		var n int64
		if _, err := fmt.Sscan(word, &n); err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		ns = append(ns, n)
	}
	return ns
}

// plainTogether makes transactions, and charges that wait and share a write.
func plainTogether(t *testing.T, calls *strings.Builder, limits ...limit.Limit) {
	t.Helper()
	table := &sent{Table: dynamomodel.New("counters", "k")}
	store := plainStore(table)
	calls.WriteString("transactions of two keys\n")
	for n, costs := range [][2]int64{{1, 1}, {2, 0}, {0, 2}, {1, 2}, {30, 1}} {
		a := limit.Charge{Key: key, Limits: limits, Costs: []int64{costs[0], 1}}
		b := limit.Charge{Key: key + "2", Limits: limits, Costs: []int64{costs[1], 0}}
		vs := []*limit.Verdict{{}, {}}
		err := store.ChargeAll(t.Context(), epoch.Add(time.Duration(7*n)*time.Second), []*limit.Charge{&a, &b}, vs)
		fmt.Fprintf(calls, " %d: allowed %v and %v, error %v\n%s", costs, vs[0].Allowed, vs[1].Allowed, err, table.text())
	}
	calls.WriteString("five charges, four of which wait for the first\n")
	synctest.Test(t, func(t *testing.T) {
		table := &sent{Table: dynamomodel.New("counters", "k"), hold: make(chan struct{})}
		store := plainStore(table)
		for n := range 5 {
			go func() {
				c, v := limit.Charge{Key: key, Limits: limits, Costs: []int64{int64(n + 1), 1}}, limit.Verdict{}
				if err := store.Charge(context.Background(), epoch, &c, &v); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		close(table.hold)
		synctest.Wait()
		calls.WriteString(table.text())
	})
	calls.WriteString("a lease\n")
	leased := limit.Charge{Key: key + "3", Limits: limits[:1], Costs: []int64{1}, Lease: 5}
	for n := range 7 {
		var v limit.Verdict
		if err := store.Charge(t.Context(), epoch.Add(time.Duration(n)*100*time.Millisecond), &leased, &v); err != nil {
			t.Error(err)
		}
	}
	calls.WriteString(table.text())
}
