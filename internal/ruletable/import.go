package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/slidegate/slidegate/internal/dynamo"
)

const (
	// readSize and writeSize are the most that one BatchGetItem and one BatchWriteItem take.
	readSize, writeSize = 100, 25
	// writesAtOnce is few: a partition of DynamoDB takes 1,000 small writes a second, and requests need theirs.
	writesAtOnce = 4
	// batchTime bounds one call in real time: the SDK's attempts, 37 s apart at most, and some time for an answer.
	batchTime = time.Minute
	// noteTime bounds the writing of an import's history, in real time, also when the import was cancelled.
	noteTime = 5 * time.Second
)

// ImportOverrides sets the documents of many keys of a rule, whatever is stored; grants stay, and the note becomes that of
// every override. All of them are checked, and held in memory, before the first is written: a key twice, a grant (Grant
// gives them) or an override of another rule refuses the import whole.
//
// It is not one transaction: 25 at a time, four times at once, in no order; what the table does not take is sent again with
// pauses. If it breaks off half-way, by failure or because the context ends, what was written stays and the error says how
// much that is; to import the same again does no harm. The history has one entry for all of it. A grant given in the
// moment between reading a key's grants and writing them back is lost.
//
// progress, if not nil, is told how many are written, by one goroutine at a time.
func (t *Table) ImportOverrides(ctx context.Context, rule string, all iter.Seq[Override], note Note, progress func(written int)) error {
	overrides, err := importable(rule, all, note)
	if err != nil || len(overrides) == 0 {
		return err
	}
	run := &importing{Table: t, rule: rule, note: note, progress: progress}
	err = run.all(ctx, overrides)
	e := Event{Note: note, Kind: OverridesImported, Rule: rule, Written: run.written, Total: len(overrides)}
	if err != nil {
		e.Failure = err.Error()
		err = fmt.Errorf("%d of %d overrides are imported; import them again: %w", run.written, len(overrides), err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if noteErr := t.transact(ctx, e); noteErr != nil {
		return errors.Join(err, fmt.Errorf("the import is not in the history: %w", noteErr))
	}
	return err
}

// importable checks what is to be imported.
func importable(rule string, all iter.Seq[Override], note Note) ([]Override, error) {
	var overrides []Override
	seen := map[string]bool{}
	for o := range all {
		at := fmt.Sprintf("override %d of rule %s, key %q", len(overrides)+1, rule, o.Key)
		switch {
		case o.Rule != "" && o.Rule != rule:
			return nil, fmt.Errorf("%s: it is of rule %s", at, o.Rule)
		case seen[o.Key]:
			return nil, fmt.Errorf("%s: the key was there before; keep one of them", at)
		case o.Document == "":
			return nil, fmt.Errorf("%s: an empty document says nothing; leave it out", at)
		case len(o.Grants) > 0:
			return nil, fmt.Errorf("%s: grants are not imported; give them one by one (`slidegate grant`)", at)
		}
		o.Rule, o.Note = rule, note
		if _, err := o.item(note.When); err != nil {
			return nil, err
		}
		seen[o.Key] = true
		overrides = append(overrides, o)
	}
	return overrides, nil
}

// importing is one import under way.
type importing struct {
	*Table
	rule     string
	note     Note
	progress func(written int)

	mu      sync.Mutex
	written int
}

// all writes all overrides, a few batches at once. It stops at the first failure.
func (run *importing) all(ctx context.Context, overrides []Override) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(writesAtOnce)
	for batch := range slices.Chunk(overrides, readSize) {
		work.Go(func() error {
			grants, err := run.grants(ctx, batch)
			for few := range slices.Chunk(batch, writeSize) {
				if err != nil {
					break
				}
				err = run.write(ctx, few, grants)
			}
			return err
		})
	}
	return work.Wait()
}

// write writes up to 25 overrides with the grants that their keys have.
func (run *importing) write(ctx context.Context, batch []Override, grants map[string][]Grant) error {
	var writes []types.WriteRequest
	for _, o := range batch {
		o.Grants = grants[o.Key]
		i, err := o.item(run.note.When)
		if err != nil {
			return err
		}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
	}
	return untilDone(ctx, len(writes), func(ctx context.Context) (left int, err error) {
		out, err := run.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{run.name: writes},
		}, repeating)
		if err != nil {
			return 0, dynamo.Translate(err, run.name)
		}
		run.wrote(len(writes) - len(out.UnprocessedItems[run.name]))
		writes = out.UnprocessedItems[run.name]
		return len(writes), nil
	})
}

// grants reads the grants of up to 100 keys.
func (run *importing) grants(ctx context.Context, batch []Override) (map[string][]Grant, error) {
	keys := make([]item, len(batch))
	for n, o := range batch {
		keys[n] = key(overridePartition+run.rule, o.Key)
	}
	all := map[string][]Grant{}
	err := untilDone(ctx, len(keys), func(ctx context.Context) (left int, err error) {
		out, err := run.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{run.name: {
				Keys: keys, ConsistentRead: aws.Bool(true),
				ProjectionExpression:     aws.String("#s, #grants"),
				ExpressionAttributeNames: map[string]string{"#s": attrSort, "#grants": attrGrants},
			}},
		}, repeating)
		if err != nil {
			return 0, dynamo.Translate(err, run.name)
		}
		for _, found := range out.Responses[run.name] {
			o := Override{Rule: run.rule, Key: text(found, attrSort)}
			if all[o.Key], err = grantsOf(found); err != nil {
				return 0, run.errorf("%w", o.unreadable(err))
			}
		}
		keys = out.UnprocessedKeys[run.name].Keys
		return len(keys), nil
	})
	return all, err
}

// wrote counts what is written.
func (run *importing) wrote(n int) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.written += n
	if run.progress != nil {
		run.progress(run.written)
	}
}

// untilDone makes a call again while it leaves something undone, with pauses, until it has done nothing ten times in a
// row: then the table is throttled.
func untilDone(ctx context.Context, items int, call func(context.Context) (left int, err error)) error {
	for idle := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		bounded, cancel := context.WithTimeout(ctx, batchTime)
		left, err := call(bounded)
		cancel()
		if err != nil || left == 0 {
			return err
		}
		if idle++; left < items {
			idle = 1
		}
		if idle == maxAttempts {
			return fmt.Errorf("%d items are not taken after %d attempts: %w", left, maxAttempts, dynamo.ErrThrottled)
		}
		if err := pause(ctx, idle); err != nil {
			return err
		}
		items = left
	}
}

// repeating has the SDK repeat a call that failed for a moment. The writes of an import may be sent twice; those of a
// transaction, like charges, are sent once.
func repeating(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts, s.MaxBackoff = maxAttempts, longestPause })
}
