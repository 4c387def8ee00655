package sim

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// twoCounters is the usual method of limiters, as a baseline: counters of two
// fixed windows, with the older one weighted by how much of it a window that
// ends now still covers. It reads both, and adds to the newer one without a
// condition.
type twoCounters struct{ *environment }

func (t *twoCounters) charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	l := &c.Limits[0]
	key := map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: c.Key}}
	got, err := t.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return err
	}
	window := now.UnixNano() / int64(l.Window)
	name := func(window int64) string { return "w" + strconv.FormatInt(window, 36) }
	passed := float64(now.UnixNano()%int64(l.Window)) / float64(l.Window)
	used := math.Ceil(float64(number(got.Item, name(window-1)))*(1-passed)) + float64(number(got.Item, name(window)))
	if v.Allowed = used+float64(c.Costs[0]) <= float64(l.Capacity); !v.Allowed {
		return nil
	}
	_, err = t.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: key,
		UpdateExpression:         aws.String("SET #n = if_not_exists(#n, :zero) + :cost REMOVE #old"),
		ExpressionAttributeNames: map[string]string{"#n": name(window), "#old": name(window - 2)},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":zero": &types.AttributeValueMemberN{Value: "0"},
			":cost": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.Costs[0], 10)},
		},
	})
	return err
}

// wrote logs an addition that the table has made.
func (t *twoCounters) wrote(w *world, c *call) {
	p := c.request.parts[0]
	of := charging{&p.charge.Limits[0], p.charge.Costs[0], 0, c.request.now, c.request.trueNow, w.now, !c.lost}
	w.peak(p.counter.logs[0].peak(&of))
}

// Edge returns a world without faults whose clients know where windows end: one
// limit of 100 a minute, a burst at every border, and enough requests in
// between. Any method can be measured in it.
func Edge(seed uint64) *Plan {
	return &Plan{
		Name: "edge", Share: 1, Seed: mix(seed, 0), Environments: 50,
		Network: Network{Latency: 2 * time.Millisecond, Deadline: 250 * time.Millisecond},
		Subjects: []Subject{{
			Limits: []limit.Limit{{Capacity: 100, Window: time.Minute, Granularity: time.Second}},
			Rate:   20, MaxCosts: []int64{1}, Edges: true, Active: 3 * time.Minute, Pause: 3 * time.Minute,
		}},
	}
}
