package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	partitionSet = "set"
	sortCurrent  = "current"
	lastVersion  = 9_999_999_999 // as far as ten digits go
)

// Version is one published document. It never changes.
type Version struct {
	Number   int64
	Document []byte // YAML; Versions leaves it out
	InForce  bool   // only Versions tells
	Note            // of who published it
}

// Publish makes a document the one in force and returns the number of its version. It puts the version and moves the
// pointer in one transaction, if the pointer still is where the publisher saw it: at version seen, 0 for none. Otherwise it
// fails with ErrConflict, and nothing has changed.
func (t *Table) Publish(ctx context.Context, v Version, seen int64) (number int64, err error) {
	packed, err := pack(v.Document, v.Note)
	if err != nil {
		return 0, t.errorf("%w", err)
	}
	last, err := t.last(ctx)
	if err != nil {
		return 0, err
	}
	v.Number = max(seen, last) + 1
	err = t.transact(ctx, Event{Note: v.Note, Kind: Published, From: seen, To: v.Number},
		change{put: v.item(packed), condition: "attribute_not_exists(p)"}, point(seen, v.Number))
	if err != nil {
		return 0, err
	}
	return v.Number, nil
}

// Rollback puts an earlier version, or a later one, in force again by moving the pointer, if the pointer still is where the
// operator saw it: at version from, 0 for none. Otherwise it fails with ErrConflict, and nothing has changed. It fails with
// ErrNoVersion too, and with ErrInForce where both versions are the same.
func (t *Table) Rollback(ctx context.Context, from, to int64, note Note) error {
	if _, err := t.Get(ctx, to); err != nil {
		return err
	}
	if from == to {
		return t.errorf("version %d: %w", to, ErrInForce)
	}
	return t.transact(ctx, Event{Note: note, Kind: RolledBack, From: from, To: to}, point(from, to))
}

// Current returns the number of the version in force, 0 and ErrNone if nothing was published.
func (t *Table) Current(ctx context.Context) (int64, error) {
	found, err := t.get(ctx, key(partitionSet, sortCurrent), true)
	if err != nil {
		return 0, err
	}
	if found == nil {
		return 0, t.errorf("%w", ErrNone)
	}
	n, err := number(found, attrVersion)
	if err != nil {
		return 0, t.errorf("item (%s, %s): %w", partitionSet, sortCurrent, err)
	}
	return n, nil
}

// Get returns a version, ErrNoVersion if there is none of that number.
func (t *Table) Get(ctx context.Context, number int64) (*Version, error) {
	found, err := t.get(ctx, key(partitionSet, digits(number)), true)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, t.errorf("version %d: %w", number, ErrNoVersion)
	}
	packed, ok := found[attrDocument].(*types.AttributeValueMemberB)
	if !ok {
		return nil, t.errorf("version %d has no document", number)
	}
	document, err := unpack(packed.Value)
	if err != nil {
		return nil, t.errorf("version %d: %w", number, err)
	}
	return &Version{Number: number, Document: document, Note: noteOf(found)}, nil
}

// Versions yields all versions without their documents, newest first. It reads by pages, and ends with the first error.
func (t *Table) Versions(ctx context.Context) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		inForce, err := t.Current(ctx)
		if err != nil && !errors.Is(err, ErrNone) {
			yield(Version{}, err)
			return
		}
		for found, err := range t.pages(ctx, versions()) {
			v := Version{Note: noteOf(found)}
			if err == nil {
				v.Number, err = t.numberOf(found)
			}
			v.InForce = v.Number == inForce
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// last returns the newest version there is; 0 for none. It is not the one in force after a rollback.
func (t *Table) last(ctx context.Context) (int64, error) {
	newest := versions()
	newest.Limit = aws.Int32(1)
	for found, err := range t.pages(ctx, newest) {
		if err != nil {
			return 0, err
		}
		return t.numberOf(found)
	}
	return 0, nil
}

// versions asks for all versions without their documents, newest first.
func versions() *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("p = :p AND s BETWEEN :first AND :last"),
		ProjectionExpression:   aws.String("#s, #who, #when, #why"),
		ExpressionAttributeNames: map[string]string{
			"#s": attrSort, "#who": attrWho, "#when": attrWhen, "#why": attrWhy,
		},
		ExpressionAttributeValues: item{
			":p": textValue(partitionSet), ":first": textValue(digits(0)), ":last": textValue(digits(lastVersion)),
		},
		ScanIndexForward: aws.Bool(false),
	}
}

func (t *Table) numberOf(version item) (int64, error) {
	n, err := strconv.ParseInt(text(version, attrSort), 10, 64)
	if err != nil {
		return 0, t.errorf("version %q is no number", text(version, attrSort))
	}
	return n, nil
}

// point moves the pointer if it still is where it was seen; from is 0 for nowhere.
func point(from, to int64) change {
	moved := key(partitionSet, sortCurrent)
	moved[attrVersion] = numberValue(to)
	if from == 0 {
		return change{put: moved, condition: "attribute_not_exists(p)"}
	}
	return change{put: moved, condition: attrVersion + " = :from", values: item{":from": numberValue(from)}}
}

func (v *Version) item(packed []byte) item {
	i := key(partitionSet, digits(v.Number))
	i[attrDocument] = &types.AttributeValueMemberB{Value: packed}
	v.write(i)
	return i
}

func digits(version int64) string { return fmt.Sprintf("%010d", version) }
