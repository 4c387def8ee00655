package ruletable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// killed is a table whose process dies after some batches: no later call
// reaches the table.
type killed struct {
	ruletable.API
	batches atomic.Int64 // that it still writes
}

var errKilled = errors.New("killed")

func (k *killed) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if k.batches.Add(-1) < 0 {
		return nil, errKilled
	}
	// The end of ctx would end the call here, but not in a slow table: the batch
	// could be written after the import has failed.
	return k.API.BatchWriteItem(context.WithoutCancel(ctx), in, o...)
}

func (k *killed) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if k.batches.Load() <= 0 {
		return nil, errKilled
	}
	return k.API.TransactWriteItems(ctx, in, o...)
}

// TestImportKilled kills an import between two batches. The history has its
// line all the same, and a repeated import writes only what is missing.
func TestImportKilled(t *testing.T) {
	client, name := newTable(t)
	table, dying := ruletable.New(client, name), &killed{API: client}
	dying.batches.Store(3)
	if _, err := ruletable.New(dying, name).ImportOverrides(t.Context(), "api", numbered(130), note(0, "the list"), nil); !errors.Is(err, errKilled) {
		t.Fatalf("error %v, want the kill", err)
	}
	before := collected(t, table.Overrides(t.Context(), "api", ""))
	if len(before) == 0 || len(before) > 75 {
		t.Fatalf("%d overrides are written, want some of 3 batches", len(before))
	}
	left := collected(t, table.History(t.Context()))
	if len(left) != 1 || !left[0].Unfinished || left[0].Total != 130 || left[0].Why != "the list" {
		t.Fatalf("the history is %+v, want one import that is unfinished", left)
	}

	imported(t, ruletable.Imported{Written: 130 - len(before), Unchanged: len(before)})(
		table.ImportOverrides(t.Context(), "api", numbered(130), note(60, "again"), nil))
	after := collected(t, table.Overrides(t.Context(), "api", ""))
	if len(after) != 130 {
		t.Fatalf("%d overrides after the second import, want 130", len(after))
	}
	revisions := map[string]int64{}
	for _, o := range before {
		revisions[o.Key] = o.Revision
	}
	for _, o := range after {
		if seen := revisions[o.Key]; seen != 0 && (seen != o.Revision || o.Why != "the list") || seen == 0 && o.Why != "again" {
			t.Errorf("%s has revision %d after %d, why %q", o.Key, o.Revision, seen, o.Why)
		}
	}
	entries := collected(t, table.History(t.Context()))
	if e := entries[0]; len(entries) != 2 || e.Unfinished || e.Written+e.Unchanged != 130 || e.Why != "again" || !entries[1].Unfinished {
		t.Errorf("the history is %+v, want both imports, the second finished", entries)
	}
}

// TestImportMendsItems: an import replaces an item that has the same document
// and cannot be read otherwise.
func TestImportMendsItems(t *testing.T) {
	client, name := newTable(t)
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
		"p": text("override#api"), "s": text("user:000000"), "document": text(`{"capacity": 1}`), // without a revision
	}})
	must(t, err)
	table := ruletable.New(client, name)
	imported(t, ruletable.Imported{Written: 1})(table.ImportOverrides(t.Context(), "api", numbered(1), note(0, ""), nil))
	if o, err := table.Override(t.Context(), "api", "user:000000"); err != nil || o.Revision == 0 {
		t.Errorf("override %+v, error %v", o, err)
	}
}
