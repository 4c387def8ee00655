// Package ruletable stores rules in a DynamoDB table: numbered versions of the
// rules document that never change, a pointer to the version in force,
// overrides of single keys, and a history of changes.
//
// Items have the keys p and s, both text:
//
//	set            ten digits            a version, with its author, time and reason
//	set            current               the pointer: the number of the version in force, and its JSON if that is small
//	override#RULE  KEY                   the override of one key of a rule
//	apikey         sg_ and 16 digits     an API key: the hash of its secret, and whose it is
//	attached       API-ID/STAGE          what `slidegate aws attach` keeps of an API
//	history        time # random digits  one change
//
// A version holds the document twice, gzipped: as its author wrote it, for
// people, and as JSON, for limiters, which so need no YAML parser.
//
// One transaction writes a change and its entry in the history, except for
// imports, for attached APIs, and for counters, which are in other tables.
// Readers see one whole version or another, never a mixture. On the path of a
// request, Source and OverrideCache call GetItem only.
package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

var (
	// ErrNone is the error of a table without versions.
	ErrNone = errors.New("no rules are published; `slidegate rules apply FILE` publishes some")
	// ErrDamaged is the error of a pointer that this package did not write.
	ErrDamaged = errors.New("is damaged; `slidegate rules apply FILE` and `slidegate rules rollback VERSION` write it anew")
	// ErrNoVersion is the error for a number that no version has.
	ErrNoVersion = errors.New("there is no such version of the rules; `slidegate rules list` shows those there are")
	// ErrInForce is the error of a rollback to the version in force.
	ErrInForce = errors.New("this version is in force already")
	// ErrNoOverride is the error of deleting an override that does not exist.
	ErrNoOverride = errors.New("there is no such override; `slidegate overrides list` shows those there are")
	// ErrConflict is the error of a change that another change has overtaken.
	// The table is as the other change left it.
	ErrConflict = errors.New("somebody else has changed this since you looked; look at what they did (`slidegate rules history`) and try again")
	// ErrTooLarge is the error for data that does not fit into an item.
	ErrTooLarge = errors.New("too large for an item of the table")
	// ErrSlowStart is the error for rules that a Lambda cannot read in time when
	// it starts.
	ErrSlowStart = errors.New("a Lambda of 256 MB would take more than 2 s to start; " +
		"put overrides into the table (`slidegate overrides import`), or split the rules over several tables")
	// ErrUnreadable is the error for an override that this package did not
	// write, or that is not valid.
	ErrUnreadable = errors.New("the item cannot be read; delete it (`slidegate overrides delete`) and set it again")
)

// API is the part of the DynamoDB client that the table calls. A Source and an
// OverrideCache call GetItem only.
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

// New returns the rules table with this name. The table must exist.
func New(api API, name string) *Table { return &Table{api, name} }

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Description describes the table to create.
func Description(name string) dynamo.Table {
	return dynamo.Table{Name: name, Partition: attrPartition, Sort: attrSort}
}

// Note says who changed something, why, and when by the author's clock. Notes
// are for people. The time also orders the history, and decides which grants
// have ended when their override is written again.
type Note struct {
	Who  string    `json:"who" dynamodbav:"who"`
	When time.Time `json:"when" dynamodbav:"when"`
	Why  string    `json:"why" dynamodbav:"why"`

	// Request is the id of the request that made the change, if its sender may
	// repeat it: CloudFormation's id of an event. It is empty for commands.
	Request string `json:"request,omitempty" dynamodbav:"request,omitempty"`
}

func (n Note) size() int { return len(n.Who) + len(n.Why) + len(n.Request) }

// get returns an item, nil if there is none. A consistent read returns every
// earlier write, at twice the cost of the other kind.
func (t *Table) get(ctx context.Context, key item, consistent bool) (item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(t.name), Key: key, ConsistentRead: aws.Bool(consistent)})
	if err != nil {
		return nil, dynamo.Translate(err, t.name)
	}
	return out.Item, nil
}

// query yields the results of a query as decode reads them, page by page. After
// an error of decode the next result follows; any other error is the last.
func query[T any](ctx context.Context, t *Table, in *dynamodb.QueryInput, decode func(item) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		in := *in
		in.TableName, in.ConsistentRead = aws.String(t.name), aws.Bool(true)
		pages := dynamodb.NewQueryPaginator(t.api, &in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				var none T
				yield(none, dynamo.Translate(err, t.name))
				return
			}
			for _, found := range page.Items {
				if !yield(decode(found)) {
					return
				}
			}
		}
	}
}

// within returns a query for the items of a partition whose sort keys begin with
// prefix, "" for all.
func within(partition, prefix string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("p = :p"),
		ExpressionAttributeValues: item{":p": textValue(partition)},
	}
	if prefix != "" { // DynamoDB refuses an empty prefix
		in.KeyConditionExpression = aws.String("p = :p and begins_with(s, :prefix)")
		in.ExpressionAttributeValues[":prefix"] = textValue(prefix)
	}
	return in
}

// errorf returns an error that names the table.
func (t *Table) errorf(format string, args ...any) error {
	return fmt.Errorf("table %s: %w", t.name, fmt.Errorf(format, args...))
}
