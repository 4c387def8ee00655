package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

const (
	// maxAttempts bounds the attempts at a change that conflicts with others.
	maxAttempts = 10
	// firstPause and longestPause bound the pauses between attempts, in real
	// time.
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// condition must be true of an item, or its transaction writes nothing. The zero
// value is always true.
type condition struct {
	expression *string
	values     item
}

var (
	absent  = condition{expression: aws.String("attribute_not_exists(p)")}
	present = condition{expression: aws.String("attribute_exists(p)")}
)

// unchanged is the condition that a number of the item still has the value that
// the author read, 0 if there was no item.
func unchanged(attribute string, previous int64) condition {
	if previous == 0 {
		return absent
	}
	return condition{aws.String(attribute + " = :previous"), item{":previous": numberValue(previous)}}
}

func (t *Table) put(i item, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.name, Item: i, ConditionExpression: c.expression, ExpressionAttributeValues: c.values,
	}}
}

func (t *Table) remove(key item, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.name, Key: key, ConditionExpression: c.expression, ExpressionAttributeValues: c.values,
	}}
}

// transact makes writes and adds the event to the history, all or nothing. It
// fails with ErrConflict if a condition does not hold, or if another
// transaction is in progress on the same item.
func (t *Table) transact(ctx context.Context, e Event, writes ...types.TransactWriteItem) error {
	return t.record(ctx, e.key(), &e, writes...)
}

// record is transact with a key of the history.
func (t *Table) record(ctx context.Context, at item, e *Event, writes ...types.TransactWriteItem) error {
	entry, err := marshal(e, at)
	if err != nil {
		return err
	}
	return t.write(ctx, append(writes, t.put(entry, condition{})))
}

// write is transact without an entry in the history.
func (t *Table) write(ctx context.Context, writes []types.TransactWriteItem) error {
	_, err := t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if ok && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return aws.ToString(r.Code) == "ConditionalCheckFailed" || aws.ToString(r.Code) == "TransactionConflict"
	}) {
		return t.errorf("%w", ErrConflict)
	}
	return dynamo.Translate(err, t.name)
}

// pause waits before the next attempt: twice as long each time, up to
// longestPause, minus a random part so that two writers do not collide again.
// It returns early, with the cause, if the context ends.
func pause(ctx context.Context, attempts int) error {
	longest := min(longestPause, firstPause<<min(attempts-1, 10))
	select {
	case <-time.After(longest - rand.N(longest/2)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kind is the kind of an event.
type Kind string

// The kinds of events. Later versions of this program may write others.
const (
	Published         Kind = "published"
	RolledBack        Kind = "rolled back"
	OverrideSet       Kind = "override set"
	OverrideDeleted   Kind = "override deleted"
	OverridesImported Kind = "overrides imported"
	Granted           Kind = "granted"
	CounterReset      Kind = "counter reset"
	APIKeyCreated     Kind = "api key created"
	APIKeyRevoked     Kind = "api key revoked"
	APIKeyRotated     Kind = "api key rotated"
)

// Event is one change of the table, or of a counter of its rules.
type Event struct {
	Note
	Kind Kind `json:"kind" dynamodbav:"kind,omitempty"`

	// Published, RolledBack: the versions in force before, 0 for none, and after.
	From int64 `json:"from_version,omitempty" dynamodbav:"from,omitempty"`
	To   int64 `json:"to_version,omitempty" dynamodbav:"to,omitempty"`

	// Of an override or a counter. The rule is "plan" for overrides of callers'
	// plans. The key is empty for an import.
	Rule string `json:"rule,omitempty" dynamodbav:"rule,omitempty"`
	Key  string `json:"key,omitempty" dynamodbav:"key,omitempty"`

	// OverrideSet, OverrideDeleted: the documents, "" for none.
	Before JSONText `json:"before,omitempty" dynamodbav:"before,omitempty"`
	After  JSONText `json:"after,omitempty" dynamodbav:"after,omitempty"`

	Grant  *Grant  `json:"grant,omitempty" dynamodbav:"grant,omitempty"`   // Granted
	Grants []Grant `json:"grants,omitempty" dynamodbav:"grants,omitempty"` // OverrideDeleted: those that had not ended

	// OverridesImported: how many overrides were written, how many the table had
	// already, the number in the file, and why the others were not written. An
	// unfinished import is running, or its process died: it may have written any
	// of them.
	Written    int    `json:"written,omitempty" dynamodbav:"written,omitempty"`
	Unchanged  int    `json:"unchanged,omitempty" dynamodbav:"unchanged,omitempty"`
	Total      int    `json:"total,omitempty" dynamodbav:"total,omitempty"`
	Failure    string `json:"failure,omitempty" dynamodbav:"failure,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty" dynamodbav:"unfinished,omitempty"`

	// CounterReset: the counter's key in its own table.
	Counter string `json:"counter,omitempty" dynamodbav:"counter,omitempty"`

	// Of an API key: its name and its id, and for APIKeyRotated the name of its
	// successor. The key ends at Until, zero for never; a revoked one has ended.
	APIKey    string    `json:"api_key,omitempty" dynamodbav:"apikey,omitempty"`
	NewAPIKey string    `json:"new_api_key,omitempty" dynamodbav:"newkey,omitempty"`
	ID        string    `json:"id,omitempty" dynamodbav:"id,omitempty"`
	Until     time.Time `json:"until,omitzero" dynamodbav:"until,omitempty"`
}

const (
	partitionHistory = "history"

	// sortTime is RFC 3339 with a fixed width, so that texts sort by time.
	sortTime = "2006-01-02T15:04:05.000000000Z"
)

// History yields all changes, newest first by the clocks of their authors. It
// reads page by page, so the first few entries are cheap. It ends with the first
// error. No entry is ever removed. The entry of an import is written when the
// import begins, and again when it ends.
func (t *Table) History(ctx context.Context) iter.Seq2[Event, error] {
	in := within(partitionHistory, "")
	in.ScanIndexForward = aws.Bool(false)
	return query(ctx, t, in, func(found item) (e Event, err error) {
		unmarshalReadable(found, &e)
		return e, nil
	})
}

// RecordReset adds to the history that the counter of a key was reset. Counters
// are in other tables or stores, so call it after the reset. It puts one item
// into the partition history, and needs no other permission.
func (t *Table) RecordReset(ctx context.Context, rule, key, counter string, note Note) error {
	return t.transact(ctx, Event{Note: note, Kind: CounterReset, Rule: rule, Key: key, Counter: counter})
}

// key returns a new key for the event's item. Random digits in the sort key
// distinguish events at the same time.
func (e *Event) key() item {
	return key(partitionHistory, fmt.Sprintf("%s#%016x", e.When.UTC().Format(sortTime), rand.Uint64()))
}
