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
	// readSize and writeSize are DynamoDB's limits for BatchGetItem and
	// BatchWriteItem.
	readSize, writeSize = 100, 25
	// writesAtOnce leaves requests their share of the 1,000 small writes that a
	// partition of DynamoDB takes in a second.
	writesAtOnce = 4
	// batchTime bounds one call in real time, for all of the SDK's attempts:
	// their pauses take at most 37 s.
	batchTime = time.Minute
	// noteTime bounds writing the history of an import, in real time. An import
	// that was cancelled writes it too.
	noteTime = 5 * time.Second
)

// ImportOverrides sets the documents of many keys of a rule, whatever their
// revisions. Grants stay, and every override gets the note. ImportOverrides
// holds all overrides in memory and checks them before it writes the first: it
// refuses a repeated key, a grant (see Grant), and an override of another rule.
//
// The import is not one transaction: four goroutines write 25 items at a time,
// in no order, and repeat items that DynamoDB does not take. If the import
// fails or the context ends, written overrides stay, and the error says how
// many they are. Importing the same again does no harm. The history gets one
// entry. A grant is lost if it is given between the moments at which the import
// reads the key's grants and writes them back.
//
// ImportOverrides calls progress, if not nil, with the number of written
// overrides, from one goroutine at a time.
func (t *Table) ImportOverrides(ctx context.Context, rule string, all iter.Seq[Override], note Note, progress func(written int)) error {
	overrides, err := importable(rule, all, note)
	if err != nil || len(overrides) == 0 {
		return err
	}
	run := &importing{Table: t, progress: progress}
	err = run.all(ctx, overrides)
	e := Event{Note: note, Kind: OverridesImported, Rule: rule, Written: run.written, Total: len(overrides)}
	if err != nil {
		e.Failure = err.Error()
		err = fmt.Errorf("%d of %d overrides are imported; import them again: %w", run.written, len(overrides), err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if noteErr := t.transact(ctx, e); noteErr != nil {
		return errors.Join(err, fmt.Errorf("the history has no entry for the import: %w", noteErr))
	}
	return err
}

// importable checks all overrides of an import, and completes them.
func importable(rule string, all iter.Seq[Override], note Note) ([]Override, error) {
	var overrides []Override
	seen := map[string]bool{}
	for o := range all {
		at := fmt.Sprintf("override %d of rule %s, key %q", len(overrides)+1, rule, o.Key)
		switch {
		case o.Rule != "" && o.Rule != rule:
			return nil, fmt.Errorf("%s: it belongs to rule %s", at, o.Rule)
		case seen[o.Key]:
			return nil, fmt.Errorf("%s: the key occurs twice; keep one of them", at)
		case o.Document == "":
			return nil, fmt.Errorf("%s: the document is empty; leave the key out", at)
		case len(o.Grants) > 0:
			return nil, fmt.Errorf("%s: grants cannot be imported; give them one by one (`slidegate grant`)", at)
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

type importing struct {
	*Table
	progress func(written int)

	mu      sync.Mutex
	written int
}

// all writes all overrides, several batches at a time. It stops at the first
// failure.
func (run *importing) all(ctx context.Context, overrides []Override) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(writesAtOnce)
	for batch := range slices.Chunk(overrides, readSize) {
		work.Go(func() error {
			err := run.addGrants(ctx, batch)
			for few := range slices.Chunk(batch, writeSize) {
				if err != nil {
					break
				}
				err = run.write(ctx, few)
			}
			return err
		})
	}
	return work.Wait()
}

func (run *importing) write(ctx context.Context, batch []Override) error {
	var writes []types.WriteRequest
	for _, o := range batch {
		i, err := o.item(o.When)
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

// addGrants reads the grants of up to 100 keys of a rule, and adds them to their
// overrides.
func (run *importing) addGrants(ctx context.Context, batch []Override) error {
	rule, keys, byKey := batch[0].Rule, make([]item, len(batch)), map[string]*Override{}
	for n := range batch {
		keys[n], byKey[batch[n].Key] = key(overridePartition+rule, batch[n].Key), &batch[n]
	}
	return untilDone(ctx, len(keys), func(ctx context.Context) (left int, err error) {
		out, err := run.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{run.name: {
				Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("s, grants"),
			}},
		}, repeating)
		if err != nil {
			return 0, dynamo.Translate(err, run.name)
		}
		for _, found := range out.Responses[run.name] {
			var o Override
			if err = unmarshal(found, &o); err == nil {
				err = checkGrants(o.Grants)
			}
			if err != nil {
				return 0, run.unreadable(rule, found, err)
			}
			byKey[o.Key].Grants = o.Grants
		}
		keys = out.UnprocessedKeys[run.name].Keys
		return len(keys), nil
	})
}

func (run *importing) wrote(n int) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.written += n
	if run.progress != nil {
		run.progress(run.written)
	}
}

// untilDone repeats a call, with pauses, while items are left. It fails with
// dynamo.ErrThrottled after ten calls in a row without progress.
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
			return fmt.Errorf("DynamoDB did not take %d items in %d attempts: %w", left, maxAttempts, dynamo.ErrThrottled)
		}
		if err := pause(ctx, idle); err != nil {
			return err
		}
		items = left
	}
}

// repeating lets the SDK repeat a failed call. Sending the writes of an import
// twice does no harm; a transaction must not be repeated.
func repeating(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) { s.MaxAttempts, s.MaxBackoff = maxAttempts, longestPause })
}
