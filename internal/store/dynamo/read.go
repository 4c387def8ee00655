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

// maxReleases bounds the writes before a charge that remove ended holds. They suffice
// for the most that a counter may have.
const maxReleases = 20

// prepare decides as decide does. Before a charge that the snapshot allows, it removes
// the ended holds that the charge's own write could not, and decides again.
func (s *counters) prepare(
	ctx context.Context, now time.Time, c *limit.Charge, snapshot *protocol.Snapshot, v *limit.Verdict,
) (*protocol.Snapshot, error) {
	for range maxReleases {
		latest, err := s.decide(ctx, now, c, snapshot, v)
		release := protocol.PlanRelease(latest, c, now)
		if err != nil || !v.Allowed || release == nil {
			return latest, err
		}
		after, o, err := s.send(ctx, now, c, release)
		if err != nil || o == transactionConflict { // as the charge's own write would be
			return latest, err
		}
		snapshot = after
	}
	return s.decide(ctx, now, c, snapshot, v)
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
