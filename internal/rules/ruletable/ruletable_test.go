package ruletable_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var epoch = time.Unix(1_700_000_040, 0).UTC()

// note is a note by ada, so many seconds after the epoch.
func note(seconds int, why string) ruletable.Note {
	return ruletable.Note{Who: "ada", Why: why, When: epoch.Add(time.Duration(seconds) * time.Second)}
}

func newTable(t *testing.T) (*dynamo.Client, string) {
	t.Helper()
	client := dynamotest.Connect(t)
	return client, dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
}

// racing runs race before each transaction, so that another change comes
// between its read and its write.
type racing struct {
	ruletable.API
	race func()
}

func (r *racing) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	r.race()
	return r.API.TransactWriteItems(ctx, in, opts...)
}

// collected returns all items of a list, which must not fail.
func collected[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for each, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, each)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inLine returns an event in one line.
func inLine(e ruletable.Event) string {
	line := fmt.Sprintf("%s %s: %s", e.When.Format("15:04:05"), e.Who, e.Kind)
	if e.To > 0 {
		line += fmt.Sprintf(" %d>%d", e.From, e.To)
	}
	if e.Rule != "" {
		line += fmt.Sprintf(" %s %q %q>%q", e.Rule, e.Key, e.Before, e.After)
	}
	if e.Counter != "" {
		line += fmt.Sprintf(" (%s)", e.Counter)
	}
	if e.Grant != nil {
		line += fmt.Sprintf(" %s%+d until %s", e.Grant.Limit, e.Grant.Add, e.Grant.Until.Format("15:04:05"))
	}
	for _, g := range e.Grants {
		line += fmt.Sprintf(" with %s%+d until %s", g.Limit, g.Add, g.Until.Format("15:04:05"))
	}
	if e.Total > 0 {
		line += fmt.Sprintf(" %d of %d", e.Written, e.Total)
	}
	if e.Failure != "" {
		line += " (" + e.Failure + ")"
	}
	return line + " " + e.Why
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// first returns the first error of a list.
func first[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return nil
}
