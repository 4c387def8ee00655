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

	"github.com/slidegate/slidegate/internal/store/dynamo"
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

// Imported says how many overrides of an import are in place.
type Imported struct {
	Written   int `json:"written"`
	Unchanged int `json:"unchanged,omitempty"` // the table had the same document
}

// ImportOverrides sets the documents of many keys of a rule, whatever their
// revisions. Grants stay, and every override that it writes gets the note. One
// that has the same document already stays as it is, with its own note.
// ImportOverrides holds all overrides in memory and checks them before it writes
// the first: it refuses a repeated key, a grant (see Grant), and an override of
// another rule.
//
// The import is not one transaction. Its line in the history comes first, as
// unfinished; then four goroutines write 25 items at a time, in no order, and
// repeat items that DynamoDB does not take; at last the line gets the numbers.
// If the import fails or the process dies, written overrides stay. Importing
// the same again resumes: it writes the others. A grant is lost if it is given
// between the moments at which the import reads the key's grants and writes
// them back.
//
// ImportOverrides calls progress, if not nil, with the number of overrides in
// place, from one goroutine at a time.
func (t *Table) ImportOverrides(ctx context.Context, rule string, all iter.Seq[Override], note Note, progress func(done int)) (Imported, error) {
	overrides, err := importable(rule, all, note)
	if err != nil || len(overrides) == 0 {
		return Imported{}, err
	}
	e := Event{Note: note, Kind: OverridesImported, Rule: rule, Total: len(overrides), Unfinished: true}
	line := e.key()
	if err := t.record(ctx, line, &e); err != nil {
		return Imported{}, fmt.Errorf("nothing is imported, because the history takes no entry: %w", err)
	}
	run := &importing{Table: t, progress: progress}
	err = run.all(ctx, overrides)
	e.Written, e.Unchanged, e.Unfinished = run.done.Written, run.done.Unchanged, false
	if err != nil {
		e.Failure = err.Error()
		err = fmt.Errorf("%d of %d overrides are imported; import them again, which writes the others: %w",
			e.Written+e.Unchanged, len(overrides), err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if noteErr := t.record(ctx, line, &e); noteErr != nil {
		err = errors.Join(err, fmt.Errorf("the history shows the import as unfinished: %w", noteErr))
	}
	return run.done, err
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
	progress func(done int)

	mu   sync.Mutex
	done Imported
}

// all writes all overrides, several batches at a time. It stops at the first
// failure.
func (run *importing) all(ctx context.Context, overrides []Override) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(writesAtOnce)
	for batch := range slices.Chunk(overrides, readSize) {
		work.Go(func() error {
			changed, err := run.changed(ctx, batch)
			for few := range slices.Chunk(changed, writeSize) {
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
		run.count(Imported{Written: len(writes) - len(out.UnprocessedItems[run.name])})
		writes = out.UnprocessedItems[run.name]
		return len(writes), nil
	})
}

// changed reads what the table has for up to 100 keys of a rule. It returns the
// overrides without those that the table has already, and adds their grants.
func (run *importing) changed(ctx context.Context, batch []Override) ([]Override, error) {
	rule, keys, byKey := batch[0].Rule, make([]item, len(batch)), map[string]*Override{}
	for n := range batch {
		keys[n], byKey[batch[n].Key] = key(overridePartition+rule, batch[n].Key), &batch[n]
	}
	same := map[string]bool{}
	err := untilDone(ctx, len(keys), func(ctx context.Context) (left int, err error) {
		out, err := run.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{run.name: {
				Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("s, grants, document, revision"),
			}},
		}, repeating)
		if err != nil {
			return 0, dynamo.Translate(err, run.name)
		}
		for _, found := range out.Responses[run.name] {
			next := byKey[sortKey(found)]
			if next.Grants, err = grantsOf(found); err != nil {
				return 0, run.unreadable(rule, found, err)
			}
			stored, err := run.overrideOf(rule, found)
			same[next.Key] = err == nil && stored.Document == next.Document
		}
		keys = out.UnprocessedKeys[run.name].Keys
		return len(keys), nil
	})
	if err != nil {
		return nil, err
	}
	changed := slices.DeleteFunc(slices.Clone(batch), func(o Override) bool { return same[o.Key] })
	run.count(Imported{Unchanged: len(batch) - len(changed)})
	return changed, nil
}

// grantsOf returns the grants of an override's item, whose other attributes may
// be unreadable: the import replaces those.
func grantsOf(i item) ([]Grant, error) {
	var o Override
	if err := unmarshal(item{attrGrants: i[attrGrants]}, &o); err != nil {
		return nil, err
	}
	return o.Grants, checkGrants(o.Grants)
}

// count adds to what is in place.
func (run *importing) count(more Imported) {
	if more == (Imported{}) {
		return
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.done.Written += more.Written
	run.done.Unchanged += more.Unchanged
	if run.progress != nil {
		run.progress(run.done.Written + run.done.Unchanged)
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
