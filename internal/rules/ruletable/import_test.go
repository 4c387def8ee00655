package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// numbered yields so many overrides with different keys.
func numbered(n int) iter.Seq[ruletable.Override] {
	return func(yield func(ruletable.Override) bool) {
		for i := range n {
			if !yield(ruletable.Override{Key: fmt.Sprintf("user:%06d", i), Document: fmt.Sprintf(`{"capacity": %d}`, i+1)}) {
				return
			}
		}
	}
}

func TestImport(t *testing.T) {
	table := opened(t)
	set(t, table, "api", "user:000007", `{"deny": true}`)
	running, ended := grant("", 5, 0, 60), grant("", 6, 0, 7)
	must(t, table.Grant(t.Context(), "api", "user:000042", running))
	must(t, table.Grant(t.Context(), "api", "user:000042", ended))
	set(t, table, "api", "another", `{"deny": true}`)
	var progress []int
	imported(t, ruletable.Imported{Written: 130})(
		table.ImportOverrides(t.Context(), "api", numbered(130), note(7, "the list"), func(done int) { progress = append(progress, done) }))

	list := collected(t, table.Overrides(t.Context(), "api", ""))
	if len(list) != 131 || list[0].Key != "another" {
		t.Fatalf("%d overrides, the first %+v", len(list), list[0])
	}
	for i, o := range list[1:] {
		want := ruletable.Override{Rule: "api", Key: fmt.Sprintf("user:%06d", i), Document: fmt.Sprintf(`{"capacity": %d}`, i+1), Note: note(7, "the list")}
		if i == 42 {
			want.Grants = []ruletable.Grant{running} // the other has ended
		}
		if o.Revision == 0 {
			t.Errorf("override %d has no revision", i)
		}
		o.Revision = 0
		if diff := cmp.Diff(want, *o); diff != "" {
			t.Error(diff)
		}
	}
	if !slices.IsSorted(progress) || len(progress) != 6 || progress[5] != 130 {
		t.Errorf("progress %v", progress)
	}
	if got, want := lines(t, table)[0], `22:14:07 ada: overrides imported api "" "">"" 130 of 130 the list`; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
	if n := len(lines(t, table)); n != 5 {
		t.Errorf("%d entries in the history, want 5: one for the import", n)
	}
}

// TestImportRefused: one bad override makes the whole import fail, before the
// first call of the table.
func TestImportRefused(t *testing.T) {
	table := ruletable.New(struct{ ruletable.API }{}, "rules")
	good := ruletable.Override{Key: "a", Document: "{}"}
	for want, bad := range map[string]ruletable.Override{
		`override 2 of rule api, key "b": it belongs to rule chat`:            {Rule: "chat", Key: "b", Document: "{}"},
		`override 2 of rule api, key "a": the key occurs twice`:               {Key: "a", Document: `{"deny": true}`},
		`override 2 of rule api, key "b": the document is empty`:              {Key: "b"},
		`override 2 of rule api, key "b": grants cannot be imported`:          {Key: "b", Document: "{}", Grants: []ruletable.Grant{grant("", 1, 0, 60)}},
		`an override needs a rule and a key: got rule "api", key ""`:          {Document: "{}"},
		`override of rule api for key "b": 40000 bytes with grants and notes`: {Key: "b", Document: strings.Repeat("x", 40_000)},
	} {
		_, err := table.ImportOverrides(t.Context(), "api", slices.Values([]ruletable.Override{good, bad}), ruletable.Note{}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := table.ImportOverrides(t.Context(), "api", numbered(0), ruletable.Note{}, nil); err != nil {
		t.Errorf("nothing to import: error %v", err)
	}
}

// TestImportAgain: an import repeats items that the table did not take, and
// gives up if it takes no more.
func TestImportAgain(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		what    string
		takes   func(call, items int) (int, error)
		written int
		err     error
		least   time.Duration // the import takes
		most    time.Duration
	}{
		{"all at once", nil, 60, nil, 0, 10 * time.Millisecond},
		{"some each time", func(call, items int) (int, error) { return (items + 1) / 2, nil }, 60, nil, 100 * time.Millisecond, time.Second},
		{"nothing at first", func(call, items int) (int, error) { return items * min(1, call/5), nil }, 60, nil, 50 * time.Millisecond, time.Second},
		{"nothing ever", func(int, int) (int, error) { return 0, nil }, 0, dynamo.ErrThrottled, 8 * time.Second, 20 * time.Second},
		{"less and less, then nothing", func(call, items int) (int, error) { return min(5, items/5), nil }, 21, dynamo.ErrThrottled, 8 * time.Second, 30 * time.Second},
		{"nothing but errors", func(int, int) (int, error) { return 0, down }, 0, down, 0, 10 * time.Millisecond},
	} {
		t.Run(test.what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				api, start := &batches{takes: test.takes}, time.Now()
				_, err := ruletable.New(api, "rules").ImportOverrides(t.Context(), "api", numbered(60), note(0, ""), nil)
				if !errors.Is(err, test.err) || len(api.written) != test.written {
					t.Errorf("%d written, error %v; want %d, %v", len(api.written), err, test.written, test.err)
				}
				if took := time.Since(start); took < test.least || took > test.most {
					t.Errorf("it took %v, want %v to %v", took, test.least, test.most)
				}
				slices.Sort(api.written)
				if len(slices.Compact(api.written)) != test.written {
					t.Error("an override was written again that had been taken")
				}
				if test.err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("%d of 60 overrides are imported; ", test.written)) {
					t.Errorf("error %v does not say how many were", err)
				}
				wantEvent(t, api, test.written, 60)
			})
		})
	}
}

// imported returns a check of an import that has to succeed.
func imported(t *testing.T, want ruletable.Imported) func(ruletable.Imported, error) {
	return func(got ruletable.Imported, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("imported %+v, error %v; want %+v", got, err, want)
		}
	}
}

// wantEvent checks the one entry of an import in the history: it is written
// before the overrides, and again after them.
func wantEvent(t *testing.T, api *batches, written, total int) {
	t.Helper()
	if len(api.events) != 2 || len(api.events[0].TransactItems) != 1 || len(api.events[1].TransactItems) != 1 {
		t.Fatalf("%d events, want two", len(api.events))
	}
	begun, item := api.events[0].TransactItems[0].Put.Item, api.events[1].TransactItems[0].Put.Item
	if diff := cmp.Diff(begun["s"], item["s"], cmpopts.IgnoreUnexported(types.AttributeValueMemberS{})); diff != "" {
		t.Errorf("two entries in place of one: %s", diff)
	}
	if _, unfinished := begun["unfinished"]; !unfinished || item["unfinished"] != nil {
		t.Errorf("the entry is unfinished %v, and %v at the end", begun["unfinished"], item["unfinished"])
	}
	count := func(name string) string {
		if n, ok := item[name].(*types.AttributeValueMemberN); ok {
			return n.Value
		}
		return "0"
	}
	if _, failed := item["failure"]; count("written") != fmt.Sprint(written) || count("total") != fmt.Sprint(total) || failed != (written < total) {
		t.Errorf("the event says %s of %s, failed %v; want %d of %d", count("written"), count("total"), failed, written, total)
	}
}

func TestImportAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api := &batches{}
		imported(t, ruletable.Imported{Written: 1001})(ruletable.New(api, "rules").ImportOverrides(t.Context(), "api", numbered(1001), note(0, ""), nil))
		if api.calls != 41 || api.most != 4 {
			t.Errorf("%d calls, %d at once; want 41, 4", api.calls, api.most)
		}
	})
}

// TestImportCancelled: an import that is cancelled ends at once, and the
// history says how many overrides it wrote.
func TestImportCancelled(t *testing.T) {
	gone := errors.New("the operator has gone")
	for what, takes := range map[string]func(call, items int) (int, error){
		"while it writes": nil,
		"while it pauses": func(_, items int) (int, error) { return min(items, 10), nil },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				api, start := &batches{takes: takes}, time.Now()
				_, err := ruletable.New(api, "rules").ImportOverrides(ctx, "api", numbered(1000), note(0, ""), func(written int) {
					if written >= 100 {
						cancel(gone)
					}
				})
				if !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				if n := len(api.written); n < 100 || n > 200 || time.Since(start) > time.Second {
					t.Errorf("%d written in %v", n, time.Since(start))
				}
				wantEvent(t, api, len(api.written), 1000)
			})
		})
	}
}

// TestImportWithoutHistory: an import that the history cannot hold writes
// nothing.
func TestImportWithoutHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		written := &batches{}
		api := &contended{API: written, reason: "ThrottlingError"}
		_, err := ruletable.New(api, "rules").ImportOverrides(t.Context(), "api", numbered(1), note(0, ""), nil)
		if !errors.Is(err, dynamo.ErrThrottled) || !strings.HasPrefix(err.Error(), "nothing is imported, because the history takes no entry: ") {
			t.Errorf("error %v", err)
		}
		if len(written.written) > 0 {
			t.Errorf("%d overrides are written", len(written.written))
		}
	})
}

// grantless is a table that answers for some keys only, and whose grants may be
// unreadable.
type grantless struct {
	*batches
	reads int
	found []map[string]types.AttributeValue
}

func (g *grantless) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	g.reads++
	request := in.RequestItems["rules"]
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"rules": g.found}}
	if n := len(request.Keys); n > 1 {
		request.Keys = request.Keys[n/2:]
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{"rules": request}
	}
	return out, nil
}

func TestImportReadsGrantsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api := &grantless{batches: &batches{}}
		imported(t, ruletable.Imported{Written: 20})(ruletable.New(api, "rules").ImportOverrides(t.Context(), "api", numbered(20), note(0, ""), nil))
		if api.reads != 6 || len(api.written) != 20 { // for 20, 10, 5, 3, 2, 1
			t.Errorf("%d reads, %d written", api.reads, len(api.written))
		}
	})
	bubble(t, func(t *testing.T) {
		api := &grantless{batches: &batches{}, found: []map[string]types.AttributeValue{{
			"s": &types.AttributeValueMemberS{Value: "user:000003"}, "grants": &types.AttributeValueMemberBOOL{},
		}}}
		_, err := ruletable.New(api, "rules").ImportOverrides(t.Context(), "api", numbered(20), note(0, ""), nil)
		if !errors.Is(err, ruletable.ErrUnreadable) || !strings.Contains(err.Error(), `"user:000003"`) || len(api.written) != 0 {
			t.Errorf("foreign grants: %d written, error %v; want ErrUnreadable", len(api.written), err)
		}
	})
}

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
