// Package ruletable keeps rule documents in a DynamoDB table: numbered versions that never change, and a pointer to the
// one in force. Readers see one whole version or another, never a mixture.
//
// Items have the keys p and s. A version is (set, ten digits) and holds the document, gzipped, with who published it,
// when and why. The pointer is (set, current) and holds the version in force.
package ruletable

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
)

const (
	attrPartition = "p"
	attrSort      = "s"
	attrVersion   = "version"
	attrDocument  = "document"
	attrWho       = "who"
	attrWhen      = "when"
	attrWhy       = "why"

	partition = "set"
	current   = "current"

	// maxItem is what a version may take, gzipped: an item of DynamoDB holds 400 KB, names and notes included.
	maxItem = 390_000
	// maxDocument bounds what a version may unpack to.
	maxDocument = 4 << 20
)

var (
	// ErrNone is returned by a table into which nothing has been published.
	ErrNone = errors.New("no rules are published; `slidegate rules apply FILE` publishes some")
	// ErrNoVersion is returned for a number that no version has; a pointer to one was not written by this package.
	ErrNoVersion = errors.New("there is no such version of the rules")
	// ErrConflict is returned to a publisher that another one has overtaken.
	ErrConflict = errors.New("somebody else has published since; look at their rules and apply again")
	// ErrTooLarge is returned for a document that an item cannot hold.
	ErrTooLarge = errors.New("rules are too large for one DynamoDB item even when gzipped; split them over several tables")
)

// API is the part of the DynamoDB client that the table calls.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Table is a table of rules.
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

// Version is one published document.
type Version struct {
	Number   int64
	Document []byte // YAML
	Who      string
	When     time.Time
	Why      string
}

// Publish makes a document the one in force, in two steps: the version is put if it is absent, then the pointer is moved
// if it still points where it did at the start. It returns the version's number. It fails with ErrConflict if somebody
// else published meanwhile; then nothing has changed for readers.
func (t *Table) Publish(ctx context.Context, v Version) (number int64, err error) {
	packed, err := pack(v.Document, len(v.Who)+len(v.Why))
	if err != nil {
		return 0, err
	}
	seen, err := t.pointer(ctx)
	if err != nil && !errors.Is(err, ErrNone) {
		return 0, err
	}
	last, err := t.last(ctx)
	if err != nil {
		return 0, err
	}
	v.Number = max(seen, last) + 1
	if err := t.putIf(ctx, v.item(packed), "attribute_not_exists(p)", nil); err != nil {
		return 0, err
	}
	return v.Number, t.point(ctx, seen, v.Number)
}

// Current returns the number of the version in force, ErrNone if nothing was published.
func (t *Table) Current(ctx context.Context) (int64, error) { return t.pointer(ctx) }

// Get returns a version, ErrNoVersion if there is none of that number.
func (t *Table) Get(ctx context.Context, number int64) (*Version, error) {
	item, err := t.get(ctx, digits(number))
	if errors.Is(err, ErrNone) {
		return nil, fmt.Errorf("table %s: version %d: %w", t.name, number, ErrNoVersion)
	}
	if err != nil {
		return nil, err
	}
	packed, ok := item[attrDocument].(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("table %s: version %d has no document", t.name, number)
	}
	document, err := unpack(packed.Value)
	if err != nil {
		return nil, fmt.Errorf("table %s: version %d: %w", t.name, number, err)
	}
	when, _ := time.Parse(time.RFC3339, text(item, attrWhen)) // a note for people: unreadable is as good as missing
	return &Version{Number: number, Document: document, Who: text(item, attrWho), When: when, Why: text(item, attrWhy)}, nil
}

func (v *Version) item(packed []byte) map[string]types.AttributeValue {
	item := key(digits(v.Number))
	item[attrDocument] = &types.AttributeValueMemberB{Value: packed}
	for name, value := range map[string]string{attrWho: v.Who, attrWhen: v.When.UTC().Format(time.RFC3339), attrWhy: v.Why} {
		item[name] = &types.AttributeValueMemberS{Value: value}
	}
	return item
}

// point moves the pointer from the version that the publisher saw.
func (t *Table) point(ctx context.Context, from, to int64) error {
	item := key(current)
	item[attrVersion] = &types.AttributeValueMemberN{Value: strconv.FormatInt(to, 10)}
	if from == 0 {
		return t.putIf(ctx, item, "attribute_not_exists(p)", nil)
	}
	return t.putIf(ctx, item, attrVersion+" = :from", map[string]types.AttributeValue{
		":from": &types.AttributeValueMemberN{Value: strconv.FormatInt(from, 10)},
	})
}

func (t *Table) putIf(ctx context.Context, item map[string]types.AttributeValue, condition string, values map[string]types.AttributeValue) error {
	_, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(t.name), Item: item,
		ConditionExpression: aws.String(condition), ExpressionAttributeValues: values,
	})
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		return fmt.Errorf("table %s: %w", t.name, ErrConflict)
	}
	return dynamo.Translate(err, t.name)
}

func (t *Table) pointer(ctx context.Context) (int64, error) {
	item, err := t.get(ctx, current)
	if err != nil {
		return 0, err
	}
	n, ok := item[attrVersion].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("table %s: item (%s, %s) has no %s", t.name, partition, current, attrVersion)
	}
	number, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("table %s: item (%s, %s) points to version %q", t.name, partition, current, n.Value)
	}
	return number, nil
}

// last returns the newest version there is; a publisher that died may have left one behind that was never in force.
func (t *Table) last(ctx context.Context) (int64, error) {
	out, err := t.api.Query(ctx, &dynamodb.QueryInput{
		TableName:                aws.String(t.name),
		KeyConditionExpression:   aws.String("p = :p AND s BETWEEN :first AND :last"),
		ProjectionExpression:     aws.String("#s"),
		ExpressionAttributeNames: map[string]string{"#s": attrSort},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p":     &types.AttributeValueMemberS{Value: partition},
			":first": &types.AttributeValueMemberS{Value: digits(0)},
			":last":  &types.AttributeValueMemberS{Value: digits(9_999_999_999)},
		},
		ScanIndexForward: aws.Bool(false), Limit: aws.Int32(1), ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(out.Items) == 0 {
		return 0, dynamo.Translate(err, t.name)
	}
	number, err := strconv.ParseInt(text(out.Items[0], attrSort), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("table %s: version %q is no number", t.name, text(out.Items[0], attrSort))
	}
	return number, nil
}

func (t *Table) get(ctx context.Context, sort string) (map[string]types.AttributeValue, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(t.name), Key: key(sort), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, dynamo.Translate(err, t.name)
	}
	if len(out.Item) == 0 {
		return nil, fmt.Errorf("table %s: %w", t.name, ErrNone)
	}
	return out.Item, nil
}

func key(sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		attrPartition: &types.AttributeValueMemberS{Value: partition},
		attrSort:      &types.AttributeValueMemberS{Value: sort},
	}
}

func digits(version int64) string { return fmt.Sprintf("%010d", version) }

func text(item map[string]types.AttributeValue, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func pack(document []byte, notes int) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if size := packed.Len() + notes; size > maxItem || len(document) > maxDocument {
		return nil, fmt.Errorf("%w: %d bytes, %d gzipped and with who and why", ErrTooLarge, len(document), size)
	}
	return packed.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(document) > maxDocument {
		return nil, ErrTooLarge
	}
	return document, err
}
