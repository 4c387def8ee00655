// Package ruletable keeps rules in a DynamoDB table: numbered versions of the rules document that never change, a pointer
// to the one in force, overrides of single keys, and a history of who changed what.
//
// Items have the keys p and s, both text:
//
//	set            ten digits            a version: the document, gzipped, with who published it, when and why
//	set            current               the pointer: the number of the version in force
//	override#RULE  KEY                   what an operator has said of one key of a rule
//	history        time # random digits  one change
//
// A change and its entry in the history are one transaction, imports aside; of a counter, which is elsewhere, there is the
// entry alone. Readers see one whole version or another, never a mixture. On the path of a request, Source and OverrideCache
// make GetItem calls by key and nothing else.
package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
)

var (
	// ErrNone is returned by a table into which nothing has been published.
	ErrNone = errors.New("no rules are published; `slidegate rules apply FILE` publishes some")
	// ErrNoVersion is returned for a number that no version has; a pointer to one was not written by this package.
	ErrNoVersion = errors.New("there is no such version of the rules; `slidegate rules list` shows those there are")
	// ErrInForce is returned for a rollback to the version that is in force.
	ErrInForce = errors.New("this version is in force already")
	// ErrNoOverride is returned for the deletion of an override that is not there.
	ErrNoOverride = errors.New("there is no such override; `slidegate overrides list` shows those there are")
	// ErrConflict is returned to somebody whom another has overtaken. Nothing has been changed then.
	ErrConflict = errors.New("somebody else has changed this since you looked; look at what they did (`slidegate rules history`) and try again")
	// ErrTooLarge is returned for what an item cannot hold.
	ErrTooLarge = errors.New("too large for an item of the table")
	// ErrUnreadable is returned for an item that this package has not written, or whose document is not valid.
	ErrUnreadable = errors.New("the item cannot be read; delete it (`slidegate overrides delete`) and set it again")
)

// API is the part of the DynamoDB client that the table calls. A Source and an OverrideCache call GetItem alone.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
}

// Table is a table of rules. It is safe for concurrent use.
type Table struct {
	api  API
	name string
}

// New returns the rules table of that name, which must exist.
func New(api API, name string) *Table { return &Table{api, name} }

// Description describes the table to create.
func Description(name string) dynamo.Table {
	return dynamo.Table{Name: name, Partition: attrPartition, Sort: attrSort}
}

// Note says who changed something, why, and when by their own clock. It is for people: it decides nothing, but for the
// order of the history and which grants have ended when their override is written again.
type Note struct {
	Who, Why string
	When     time.Time
}

func (n Note) size() int { return len(n.Who) + len(n.Why) }

// get returns an item, nil if there is none. A consistent read shows every write that was answered before; the other kind
// costs half of it.
func (t *Table) get(ctx context.Context, key item, consistent bool) (item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(t.name), Key: key, ConsistentRead: aws.Bool(consistent)})
	if err != nil {
		return nil, dynamo.Translate(err, t.name)
	}
	return out.Item, nil
}

// pages yields what a query finds, page by page. It ends with the first error.
func (t *Table) pages(ctx context.Context, in *dynamodb.QueryInput) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		in := *in
		in.TableName, in.ConsistentRead, in.ExclusiveStartKey = aws.String(t.name), aws.Bool(true), nil
		for {
			out, err := t.api.Query(ctx, &in)
			if err != nil {
				yield(nil, dynamo.Translate(err, t.name))
				return
			}
			for _, found := range out.Items {
				if !yield(found, nil) {
					return
				}
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				return
			}
		}
	}
}

// errorf names the table in an error.
func (t *Table) errorf(format string, args ...any) error {
	return fmt.Errorf("table %s: %w", t.name, fmt.Errorf(format, args...))
}
