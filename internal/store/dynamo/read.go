package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// decide evaluates the charge on a snapshot, and returns the snapshot that
// decided. An allowance still needs a write to prove it. A snapshot too old to
// deny is read again first. If the read fails, the denial stands, because the
// old snapshot proves it.
func (s *counters) decide(
	ctx context.Context, now time.Time, c *limit.Charge, snapshot *protocol.Snapshot, v *limit.Verdict,
) (*protocol.Snapshot, error) {
	err := s.evaluate(snapshot, c, now, v)
	if !tooOld(snapshot, c, now, err, v) {
		return snapshot, err
	}
	latest, failed := s.read(ctx, now, c)
	switch {
	case failed == nil:
		return latest, s.evaluate(latest, c, now, v)
	case err == nil:
		return snapshot, nil
	}
	return snapshot, failed
}

// read returns a snapshot of the item as it is now; nil if there is none. It is a
// consistent read, which costs twice as much as another one: an eventually
// consistent read could miss the refund or the reset that it is made for.
func (s *counters) read(ctx context.Context, now time.Time, c *limit.Charge) (*protocol.Snapshot, error) {
	s.reads.Add(1)
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(s.table), Key: protocol.PrimaryKey(c.Key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, Translate(err, s.table)
	}
	return s.keep(c, out.Item, now)
}
