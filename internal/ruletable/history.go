package ruletable

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
)

// Event is one change of the table, or of a counter of its rules.
type Event struct {
	Note
	Kind Kind `json:"kind"`

	From int64 `json:"from_version,omitempty"` // Published, RolledBack: the version in force before, 0 for none
	To   int64 `json:"to_version,omitempty"`   // Published, RolledBack: the version in force after

	Rule   string  `json:"rule,omitempty"`   // of an override or a counter; "plan" for those of callers' plans
	Key    string  `json:"key,omitempty"`    // empty for an import
	Before string  `json:"before,omitempty"` // OverrideSet, OverrideDeleted: its document, "" for none
	After  string  `json:"after,omitempty"`  // OverrideSet, OverrideDeleted
	Grant  *Grant  `json:"grant,omitempty"`  // Granted
	Grants []Grant `json:"grants,omitempty"` // OverrideDeleted: its grants that had not ended

	Written int    `json:"written,omitempty"` // OverridesImported: how many were written
	Total   int    `json:"total,omitempty"`   // OverridesImported: how many were to be written
	Failure string `json:"failure,omitempty"` // OverridesImported: why the others were not

	Counter string `json:"counter,omitempty"` // CounterReset: the counter's key in its own table
}

const (
	partitionHistory = "history"

	// sortTime is RFC 3339 with a fixed width, so that texts sort by time.
	sortTime = "2006-01-02T15:04:05.000000000Z"

	attrKind    = "kind"
	attrFrom    = "from"
	attrTo      = "to"
	attrRule    = "rule"
	attrKey     = "key"
	attrBefore  = "before"
	attrAfter   = "after"
	attrGrant   = "grant"
	attrWritten = "written"
	attrTotal   = "total"
	attrFailure = "failure"
	attrCounter = "counter"
)

// History yields all changes, newest first by the clocks of their authors. It
// reads page by page, so the first few are cheap, and ends with the first
// error. No entry is ever removed.
func (t *Table) History(ctx context.Context) iter.Seq2[Event, error] {
	in := &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("p = :p"),
		ExpressionAttributeValues: item{":p": textValue(partitionHistory)},
		ScanIndexForward:          aws.Bool(false),
	}
	return func(yield func(Event, error) bool) {
		for found, err := range t.pages(ctx, in) {
			if !yield(eventOf(found), err) || err != nil {
				return
			}
		}
	}
}

// RecordReset adds to the history that the counter of a key was reset. Counters
// are in other tables or stores, so call it after the reset. It puts one item
// into the partition history, and needs no other permission.
func (t *Table) RecordReset(ctx context.Context, rule, key, counter string, note Note) error {
	return t.transact(ctx, Event{Note: note, Kind: CounterReset, Rule: rule, Key: key, Counter: counter})
}

func (e *Event) item() item {
	i := key(partitionHistory, fmt.Sprintf("%s#%016x", e.When.UTC().Format(sortTime), rand.Uint64()))
	e.write(i)
	for name, value := range map[string]string{
		attrKind: string(e.Kind), attrRule: e.Rule, attrKey: e.Key, attrBefore: e.Before, attrAfter: e.After, attrFailure: e.Failure,
		attrCounter: e.Counter,
	} {
		if value != "" {
			i[name] = textValue(value)
		}
	}
	for name, value := range map[string]int64{attrFrom: e.From, attrTo: e.To, attrWritten: int64(e.Written), attrTotal: int64(e.Total)} {
		if value != 0 {
			i[name] = numberValue(value)
		}
	}
	writeGrants(i, e.Grants)
	if e.Grant != nil {
		i[attrGrant] = &types.AttributeValueMemberM{Value: e.Grant.item()}
	}
	return i
}

// eventOf reads an event. It treats unreadable parts as missing, because events
// are for people only.
func eventOf(i item) Event {
	count := func(name string) int64 {
		n, _ := number(i, name)
		return n
	}
	e := Event{
		Note: noteOf(i), Kind: Kind(text(i, attrKind)),
		From: count(attrFrom), To: count(attrTo),
		Rule: text(i, attrRule), Key: text(i, attrKey),
		Before: text(i, attrBefore), After: text(i, attrAfter),
		Written: int(count(attrWritten)), Total: int(count(attrTotal)), Failure: text(i, attrFailure),
		Counter: text(i, attrCounter),
	}
	if m, ok := i[attrGrant].(*types.AttributeValueMemberM); ok {
		if g, err := grantOf(m.Value); err == nil {
			e.Grant = &g
		}
	}
	if grants, err := grantsOf(i); err == nil {
		e.Grants = grants
	}
	return e
}
