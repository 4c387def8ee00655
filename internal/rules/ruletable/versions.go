package ruletable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	partitionSet = "set"
	sortCurrent  = "current"
	lastVersion  = 9_999_999_999 // the most that ten digits hold

	// maxPointed is the most bytes of JSON, gzipped, that the pointer holds. So
	// limiters, which read it every five seconds, still read one unit of 4 KB.
	maxPointed = 3_900
)

// Version is one published rules document. It never changes.
type Version struct {
	Number int64 `json:"version"`
	// Text is the document as its author wrote it, and Document what limiters
	// read: its normalized form, as rules.Set.Document returns it. Versions
	// leaves both out.
	Text     []byte            `json:"-"`
	Document *ruledoc.Document `json:"-"`
	InForce  bool              `json:"in_force"` // only Versions sets it
	Note                       // of its author
}

// Publish puts a version in force and returns its number. One transaction puts
// the version and moves the pointer, if the pointer is still at the version
// that the author saw, 0 for none and Damaged for a pointer that names none. Otherwise Publish fails with ErrConflict,
// and changes nothing. Both forms, gzipped, must fit into one item of 400 KB;
// otherwise it fails with ErrTooLarge, or with ErrSlowStart if a Lambda could
// not read the version in time.
func (t *Table) Publish(ctx context.Context, v Version, previous int64) (number int64, err error) {
	packed, err := v.pack()
	if err != nil {
		return 0, t.errorf("%w", err)
	}
	last, err := t.last(ctx)
	if err != nil {
		return 0, err
	}
	number = max(previous, last) + 1
	maps.Copy(packed, versionAt(number))
	pointed, err := t.still(ctx, previous)
	if err != nil {
		return 0, err
	}
	err = t.transact(ctx, Event{Note: v.Note, Kind: Published, From: max(0, previous), To: number},
		t.put(packed, absent), t.point(pointed, number, packed))
	if err != nil {
		return 0, err
	}
	return number, nil
}

// Rollback puts another version in force, earlier or later, by moving the
// pointer, if the pointer is still at version from, as for Publish. Otherwise it
// fails with ErrConflict, and changes nothing. It also fails with ErrNoVersion,
// and with ErrInForce if both versions are the same and the pointer is intact.
func (t *Table) Rollback(ctx context.Context, from, to int64, note Note) error {
	found, err := t.item(ctx, to)
	if err != nil {
		return err
	}
	if _, err := t.version(to, found); err != nil {
		return err
	}
	if from == to && !errors.Is(t.CheckPointer(ctx), ErrDamaged) {
		return t.errorf("version %d: %w", to, ErrInForce)
	}
	pointed, err := t.still(ctx, from)
	if err != nil {
		return err
	}
	return t.transact(ctx, Event{Note: note, Kind: RolledBack, From: max(0, from), To: to}, t.point(pointed, to, found))
}

// Current returns the number of the version in force. It fails with ErrNone if
// the table has no versions, and with ErrDamaged if the pointer names none.
func (t *Table) Current(ctx context.Context) (int64, error) {
	p, err := t.pointer(ctx)
	return p.Version, err
}

// pointer is the item that names the version in force, without its key.
type pointer struct {
	Version int64  `dynamodbav:"version"`
	JSON    []byte `dynamodbav:"json"` // of that version, gzipped; nil if it is large
}

func (t *Table) pointer(ctx context.Context) (p pointer, err error) {
	found, err := t.get(ctx, key(partitionSet, sortCurrent), true)
	if err != nil {
		return p, err
	}
	if found == nil {
		return p, t.errorf("%w", ErrNone)
	}
	if err = unmarshal(found, &p); err == nil && (p.Version < 1 || p.Version > lastVersion) {
		err = errors.New("it names no version")
	}
	if err != nil {
		return pointer{}, t.damaged(err)
	}
	return p, nil
}

// damaged returns the error of a pointer that cannot be read.
func (t *Table) damaged(why error) error {
	return t.errorf("item (%s, %s) %w: %w", partitionSet, sortCurrent, ErrDamaged, why)
}

// CheckPointer fails with ErrDamaged if the pointer names no version, or holds
// other rules than that version. Limiters read the pointer first.
func (t *Table) CheckPointer(ctx context.Context) error {
	p, err := t.pointer(ctx)
	if err != nil || p.JSON == nil {
		return err
	}
	found, err := t.item(ctx, p.Version)
	if err != nil {
		return err
	}
	if json, ok := found[attrJSON].(*types.AttributeValueMemberB); !ok || !bytes.Equal(json.Value, p.JSON) {
		return t.damaged(fmt.Errorf("its json is not that of version %d", p.Version))
	}
	return nil
}

// Get returns a version. It fails with ErrNoVersion if there is none with this
// number.
func (t *Table) Get(ctx context.Context, number int64) (*Version, error) {
	found, err := t.item(ctx, number)
	if err != nil {
		return nil, err
	}
	return t.version(number, found)
}

// item returns the item of a version. It fails with ErrNoVersion if there is
// none.
func (t *Table) item(ctx context.Context, number int64) (item, error) {
	found, err := t.get(ctx, versionAt(number), true)
	if err == nil && found == nil {
		err = t.errorf("version %d: %w", number, ErrNoVersion)
	}
	return found, err
}

// version returns the version in its item.
func (t *Table) version(number int64, found item) (*Version, error) {
	v, err := unpack(found)
	if err != nil {
		return nil, t.errorf("version %d: %w", number, err)
	}
	v.Number = number
	return v, nil
}

// Rules returns the compiled rules of a version, as limiters read them.
func (t *Table) Rules(ctx context.Context, number int64) (*rules.Set, error) {
	v, err := t.Get(ctx, number)
	if err != nil {
		return nil, err
	}
	return t.compile(number, v.Document)
}

// pointed returns the compiled rules of the version in force.
func (t *Table) pointed(ctx context.Context, p pointer) (*rules.Set, error) {
	if p.JSON == nil {
		return t.Rules(ctx, p.Version)
	}
	document, err := unpackJSON(p.JSON)
	if err != nil {
		return nil, t.errorf("item (%s, %s), version %d: %w", partitionSet, sortCurrent, p.Version, err)
	}
	return t.compile(p.Version, document)
}

// compile compiles the document of a version.
func (t *Table) compile(number int64, document *ruledoc.Document) (*rules.Set, error) {
	set, err := Compile(t.nameOf(number), document)
	if err != nil {
		return nil, err
	}
	set.Version = number
	return set, nil
}

// nameOf returns the name of a version in messages.
func (t *Table) nameOf(number int64) string {
	return fmt.Sprintf("dynamodb://%s version %d", t.name, number)
}

// Versions yields all versions without text and document, newest first. It
// reads page by page. After an item that is no version the next follows; any
// other error is the last.
func (t *Table) Versions(ctx context.Context) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		inForce, err := t.Current(ctx)
		if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
			yield(Version{}, err)
			return
		}
		query(ctx, t, versions(), func(found item) (v Version, err error) {
			unmarshalReadable(found, &v.Note)
			v.Number, err = t.numberOf(found)
			v.InForce = v.Number == inForce
			return v, err
		})(yield)
	}
}

// last returns the number of the newest version, 0 for none. After a rollback,
// another one is in force.
func (t *Table) last(ctx context.Context) (int64, error) {
	newest := versions()
	newest.Limit = aws.Int32(1)
	for number, err := range query(ctx, t, newest, t.numberOf) {
		return number, err
	}
	return 0, nil
}

func versions() *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		KeyConditionExpression:   aws.String("p = :p AND s BETWEEN :first AND :last"),
		ProjectionExpression:     aws.String("s, who, #when, why"),
		ExpressionAttributeNames: map[string]string{"#when": "when"}, // a reserved word
		ExpressionAttributeValues: item{
			":p": textValue(partitionSet), ":first": textValue(digits(0)), ":last": textValue(digits(lastVersion)),
		},
		ScanIndexForward: aws.Bool(false),
	}
}

func (t *Table) numberOf(version item) (int64, error) {
	n, err := strconv.ParseInt(sortKey(version), 10, 64)
	if err != nil {
		return 0, t.errorf("version %q is not a number", sortKey(version))
	}
	return n, nil
}

// Damaged stands for the version that a damaged pointer names.
const Damaged = -1

// still is the condition that the pointer is at a version, 0 for none. A damaged
// one must be as it is now.
func (t *Table) still(ctx context.Context, at int64) (condition, error) {
	if at != Damaged {
		return unchanged(attrVersion, at), nil
	}
	if _, err := t.pointer(ctx); !errors.Is(err, ErrDamaged) {
		return condition{}, cmp.Or(err, t.errorf("%w", ErrConflict))
	}
	found, err := t.get(ctx, key(partitionSet, sortCurrent), true)
	if version := found[attrVersion]; version != nil {
		return condition{aws.String(attrVersion + " = :previous"), item{":previous": version}}, err
	}
	return condition{expression: aws.String("attribute_not_exists(" + attrVersion + ")")}, err
}

// point moves the pointer to a version with this item, under a condition.
func (t *Table) point(pointed condition, to int64, version item) types.TransactWriteItem {
	moved := key(partitionSet, sortCurrent)
	moved[attrVersion] = numberValue(to)
	if json, ok := version[attrJSON].(*types.AttributeValueMemberB); ok && len(json.Value) <= maxPointed {
		moved[attrJSON] = json
	}
	return t.put(moved, pointed)
}

func versionAt(number int64) item { return key(partitionSet, digits(number)) }

func digits(version int64) string { return fmt.Sprintf("%010d", version) }

// Problems is the error of a document that is not valid.
type Problems struct {
	Name string // the document's place, for messages; "" for none
	All  []problem.Problem
}

// Error returns a line for each problem.
func (p *Problems) Error() string {
	lines := make([]string, len(p.All))
	for i, one := range p.All {
		lines[i] = strings.TrimPrefix(p.Name+": "+one.String(), ": ")
	}
	return strings.Join(lines, "\n")
}

// Compile compiles a document. name is its place, for messages. Its error is of
// type *Problems.
func Compile(name string, d *ruledoc.Document) (*rules.Set, error) {
	set, problems := rules.Compile(d)
	if len(problems) > 0 {
		return nil, &Problems{name, problems}
	}
	return set, nil
}
