package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// written is an empty table that collects the items of its writes.
type written struct {
	empty
	items []string
}

func (w *written) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{}, nil
}

func (w *written) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, write := range in.TransactItems {
		w.items = append(w.items, attributes(write.Put.Item))
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// attributes formats an item in the order of its names, without random values.
func attributes(item map[string]types.AttributeValue) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(item)) {
		text := name + "="
		switch value := item[name].(type) {
		case *types.AttributeValueMemberS:
			text += fmt.Sprintf("%.31q", value.Value) // without the digits of an event
		case *types.AttributeValueMemberN:
			text += value.Value
		case *types.AttributeValueMemberB:
			text += "binary"
		case *types.AttributeValueMemberM:
			text += "{" + attributes(value.Value) + "}"
		case *types.AttributeValueMemberL:
			text += fmt.Sprintf("%d grants", len(value.Value))
		}
		if name != "revision" {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// TestItems pins the names and values of all attributes, which are a contract:
// other versions of this program read them.
func TestItems(t *testing.T) {
	api := &written{}
	table, ctx := ruletable.New(api, "rules"), t.Context()
	berlin := epoch.Add(500 * time.Millisecond).In(time.FixedZone("CET", 3600))
	by := ruletable.Note{Who: "ada", When: berlin}
	_, err := table.Publish(ctx, ruletable.Version{Text: text(1), Document: document(1), Note: by}, 0)
	must(t, err)
	must(t, table.SetOverride(ctx, ruletable.Override{Rule: "api", Key: "k", Document: "{}", Note: by}))
	must(t, table.Grant(ctx, "api", "k", ruletable.Grant{Add: 5, Until: berlin.Add(time.Hour), Note: by}))
	must(t, table.RecordReset(ctx, "api", "k", "api|k", note(0, "ticket 7")))
	must(t, table.CreateAPIKey(ctx, ruletable.APIKey{
		Name: "sg_1", Hash: "aa", ID: "acme", Plan: "pro", Claims: "{}", Expires: berlin, Note: note(0, ""),
	}))
	must(t, table.PutAttachment(ctx, "a1b2c3d4e5", "$default", ruletable.Attachment{State: `{"form":1}`, Revision: 1}))
	want := []string{
		`document=binary json=binary p="set" s="0000000001" when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`json=binary p="set" s="current" version=1`,
		`kind="published" p="history" s="2023-11-14T22:14:00.500000000Z#" to=1 when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`document="{}" p="override#api" s="k" when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`after="{}" key="k" kind="override set" p="history" rule="api" s="2023-11-14T22:14:00.500000000Z#" ` +
			`when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`document="" grants=1 grants p="override#api" s="k" when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`grant={add=5 limit="" until="2023-11-14T23:14:00.5Z" when="2023-11-14T22:14:00.5Z" who="ada" why=""} ` +
			`key="k" kind="granted" p="history" rule="api" s="2023-11-14T22:14:00.500000000Z#" ` +
			`when="2023-11-14T22:14:00.5Z" who="ada" why=""`,
		`counter="api|k" key="k" kind="counter reset" p="history" rule="api" s="2023-11-14T22:14:00.000000000Z#" ` +
			`when="2023-11-14T22:14:00Z" who="ada" why="ticket 7"`,
		`claims="{}" expires="2023-11-14T22:14:00.5Z" hash="aa" id="acme" p="apikey" plan="pro" s="sg_1" ` +
			`when="2023-11-14T22:14:00Z" who="ada" why=""`,
		`apikey="sg_1" id="acme" kind="api key created" p="history" s="2023-11-14T22:14:00.000000000Z#" ` +
			`until="2023-11-14T22:14:00.5Z" when="2023-11-14T22:14:00Z" who="ada" why=""`,
		`p="attached" s="a1b2c3d4e5/$default" state="{\"form\":1}"`,
	}
	if diff := cmp.Diff(want, api.items); diff != "" {
		t.Error(diff)
	}
}

// single is a table with one item.
type single struct {
	empty
	item map[string]types.AttributeValue
}

func (s single) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: s.item}, nil
}

// TestForeignAttributes: other programs may add attributes, and may damage those
// for people. The override still applies.
func TestForeignAttributes(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	count := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	damaged := &types.AttributeValueMemberBOOL{Value: true}
	grant := func(until types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"add": count("5"), "ADD": count("7"), "until": until, "who": damaged,
		}}}}
	}
	table := single{item: map[string]types.AttributeValue{
		"p": text("override#api"), "s": text("k"), "document": text("{}"), "revision": count("1"), "who": damaged, "when": count("1"), "why": text("test"),
		"Document": text("other"), "REVISION": text("other"), "\u017f": text("other"), "grants": grant(text("2023-11-14T23:14:00Z")),
	}}
	want := &ruletable.Override{Rule: "api", Key: "k", Document: "{}", Revision: 1, Note: ruletable.Note{Why: "test"}, Grants: []ruletable.Grant{
		{Add: 5, Until: time.Date(2023, 11, 14, 23, 14, 0, 0, time.UTC)},
	}}
	for range 20 { // the order of attributes is random
		got, err := ruletable.New(table, "rules").Override(t.Context(), "api", "k")
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	table.item["grants"] = grant(count("1700000000"))
	if _, err := ruletable.New(table, "rules").Override(t.Context(), "api", "k"); !errors.Is(err, ruletable.ErrUnreadable) {
		t.Errorf("an end that is a number: error %v", err)
	}
}

// counting counts the calls of a table, and can make them fail.
type counting struct {
	ruletable.API
	mu    sync.Mutex
	calls map[string]int
	err   error
}

func (c *counting) called(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[name]++
	return c.err
}

// count returns the number of calls with this name.
func (c *counting) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[name]
}

// fail makes every later call fail; nil ends that.
func (c *counting) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *counting) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := c.called("GetItem"); err != nil {
		return nil, err
	}
	return c.API.GetItem(ctx, in, opts...)
}

func (c *counting) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := c.called("Query"); err != nil {
		return nil, err
	}
	return c.API.Query(ctx, in, opts...)
}

// bubble runs a test on a fake clock.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// empty is an empty table that takes no writes.
type empty struct{ ruletable.API }

func (empty) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// batches is a table that takes an import. takes returns how many items a call
// of BatchWriteItem takes; all of them by default.
type batches struct {
	ruletable.API
	takes func(call, items int) (int, error)

	mu      sync.Mutex
	calls   int
	now     int // concurrent calls
	most    int // the maximum of now
	written []string
	events  []*dynamodb.TransactWriteItemsInput
}

func (b *batches) enter() (call int) {
	b.mu.Lock()
	b.calls, b.now = b.calls+1, b.now+1
	b.most = max(b.most, b.now)
	call = b.calls
	b.mu.Unlock()
	time.Sleep(time.Millisecond) // on the fake clock: all concurrent calls have begun by then
	b.mu.Lock()
	b.now--
	return call
}

func (b *batches) take(ctx context.Context, items int) (int, error) {
	call := b.enter()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if b.takes == nil {
		return items, nil
	}
	return b.takes(call, items)
}

func (b *batches) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (b *batches) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := &dynamodb.BatchWriteItemOutput{}
	for table, writes := range in.RequestItems {
		taken, err := b.take(ctx, len(writes))
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		for _, w := range writes[:taken] {
			b.written = append(b.written, w.PutRequest.Item["s"].(*types.AttributeValueMemberS).Value)
		}
		b.mu.Unlock()
		if taken < len(writes) {
			out.UnprocessedItems = map[string][]types.WriteRequest{table: slices.Clone(writes[taken:])}
		}
	}
	return out, nil
}

func (b *batches) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b.events = append(b.events, in)
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
