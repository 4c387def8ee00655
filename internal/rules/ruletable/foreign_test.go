package ruletable_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestForeignItems reads items that other programs wrote.
func TestForeignItems(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	put := func(sort, attribute string, value types.AttributeValue) {
		t.Helper()
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: sort}, attribute: value,
		}})
		must(t, err)
	}
	for _, value := range []types.AttributeValue{
		&types.AttributeValueMemberS{Value: "1"}, &types.AttributeValueMemberN{Value: "0"}, &types.AttributeValueMemberN{Value: "1.5"},
	} {
		put("current", "version", value)
		if _, err := table.Current(t.Context()); err == nil || !strings.Contains(err.Error(), "item (set, current)") {
			t.Errorf("pointer %v: error %v", value, err)
		}
	}
	for number, value := range []types.AttributeValue{
		&types.AttributeValueMemberS{Value: "rules: []"}, &types.AttributeValueMemberB{Value: []byte("rules: []")},
	} {
		put(fmt.Sprintf("%010d", number), "document", value)
		if _, err := table.Get(t.Context(), int64(number)); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", number)) {
			t.Errorf("version %d: error %v", number, err)
		}
	}
	put("00000000ab", "document", &types.AttributeValueMemberB{Value: []byte{1}})
	put("current", "version", &types.AttributeValueMemberN{Value: "1"})
	if err := first(table.Versions(t.Context())); err == nil || !strings.Contains(err.Error(), `"00000000ab"`) {
		t.Errorf("a version without a number: error %v", err)
	}
	if _, err := table.Publish(t.Context(), version(1), 1); err == nil || errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("publishing after it: error %v", err)
	}
}

// TestUnreadableOverrides: overrides that other programs wrote are refused by
// name, listed as unreadable, and can be deleted.
func TestUnreadableOverrides(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), t.Context()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	count := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	list := func(each ...types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: each}
	}
	type attributes = map[string]types.AttributeValue
	bad := map[string]attributes{
		"no document":     {"revision": count("1")},
		"other document":  {"revision": count("1"), "document": count("1")},
		"no revision":     {"document": text("{}")},
		"text revision":   {"document": text("{}"), "revision": text("1")},
		"large revision":  {"document": text("{}"), "revision": count("99999999999999999999")},
		"grants a text":   {"document": text("{}"), "revision": count("1"), "grants": text("")},
		"a grant a text":  {"document": text("{}"), "revision": count("1"), "grants": list(text(""))},
		"an empty grant":  {"document": text("{}"), "revision": count("1"), "grants": list(&types.AttributeValueMemberM{})},
		"an endless one":  {"document": text("{}"), "revision": count("1"), "grants": list(&types.AttributeValueMemberM{Value: attributes{"add": count("1")}})},
		"one that lowers": {"document": text("{}"), "revision": count("1"), "grants": list(&types.AttributeValueMemberM{Value: attributes{"add": count("-1"), "until": text("2026-01-01T00:00:00Z")}})},
	}
	for key, item := range bad {
		item["p"], item["s"] = text("override#api"), text(key)
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item})
		must(t, err)
	}
	set(t, table, "api", "good", "{}")
	listed, unreadable := 0, 0
	for o, err := range table.Overrides(ctx, "api", "") {
		switch {
		case err == nil && o.Key == "good":
			listed++
		case o == nil && errors.Is(err, ruletable.ErrUnreadable):
			unreadable++
		}
	}
	if listed != 1 || unreadable != len(bad) {
		t.Errorf("listed %d good ones and %d of %d others", listed, unreadable, len(bad))
	}
	for key := range bad {
		for what, err := range map[string]error{
			"reading": second(table.Override(ctx, "api", key)),
			"setting": table.SetOverride(ctx, ruletable.Override{Rule: "api", Key: key, Document: "{}"}),
		} {
			if !errors.Is(err, ruletable.ErrUnreadable) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) {
				t.Errorf("%s %s: error %v, want ErrUnreadable", what, key, err)
			}
		}
		must(t, table.DeleteOverride(ctx, "api", key, note(0, "foreign")))
	}
	if left := collected(t, table.Overrides(ctx, "api", "")); len(left) != 1 {
		t.Errorf("left are %+v", left)
	}
	deleted := 0
	for _, e := range collected(t, table.History(ctx)) {
		if e.Kind == ruletable.OverrideDeleted && e.Rule == "api" && bad[e.Key] != nil && e.Note == note(0, "foreign") {
			deleted++
		}
	}
	if deleted != len(bad) {
		t.Errorf("%d deletions are in the history, want %d", deleted, len(bad))
	}
}

func zipped(text string) types.AttributeValue {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text) // to a buffer
	_ = w.Close()
	return &types.AttributeValueMemberB{Value: out.Bytes()}
}

// TestAttachments: each write is of the revision after the one that is there, and
// no list of the table has the item.
func TestAttachments(t *testing.T) {
	table, ctx := opened(t), t.Context()
	put := func(state string, revision int64) error {
		return table.PutAttachment(ctx, "a1", "prod", ruletable.Attachment{State: state, Revision: revision})
	}
	for _, step := range []struct {
		does     string
		do       func() error
		conflict bool
		want     *ruletable.Attachment
	}{
		{does: "write after another", do: func() error { return put("b", 2) }, conflict: true},
		{does: "delete what is not there", do: func() error { return table.DeleteAttachment(ctx, "a1", "prod", 0) }, conflict: true},
		{does: "write", do: func() error { return put("a", 1) }, want: &ruletable.Attachment{State: "a", Revision: 1}},
		{does: "write at the same time", do: func() error { return put("b", 1) }, conflict: true, want: &ruletable.Attachment{State: "a", Revision: 1}},
		{does: "write again", do: func() error { return put("c", 2) }, want: &ruletable.Attachment{State: "c", Revision: 2}},
		{does: "another stage", do: func() error { return table.DeleteAttachment(ctx, "a1", "dev", 0) }, conflict: true, want: &ruletable.Attachment{State: "c", Revision: 2}},
		{does: "delete an earlier one", do: func() error { return table.DeleteAttachment(ctx, "a1", "prod", 1) }, conflict: true, want: &ruletable.Attachment{State: "c", Revision: 2}},
		{does: "delete", do: func() error { return table.DeleteAttachment(ctx, "a1", "prod", 2) }},
		{does: "write anew", do: func() error { return put("d", 1) }, want: &ruletable.Attachment{State: "d", Revision: 1}},
		{does: "delete any", do: func() error { return table.DeleteAttachment(ctx, "a1", "prod", 0) }},
		{does: "write at last", do: func() error { return put("e", 1) }, want: &ruletable.Attachment{State: "e", Revision: 1}},
	} {
		if err := step.do(); errors.Is(err, ruletable.ErrConflict) != step.conflict || !step.conflict && err != nil {
			t.Errorf("%s: error %v", step.does, err)
		}
		got, err := table.Attachment(ctx, "a1", "prod")
		must(t, err)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", step.does, diff)
		}
	}
	must(t, table.PutAttachment(ctx, "a2", "$default", ruletable.Attachment{State: "f", Revision: 1}))
	if stages, err := table.Attached(ctx); err != nil || !slices.Equal(stages, []string{"a1/prod", "a2/$default"}) {
		t.Errorf("attached are %q, error %v", stages, err)
	}
	for e := range table.History(ctx) {
		t.Errorf("the history has %+v", e)
	}
	for k := range table.APIKeys(ctx, "") {
		t.Errorf("the API keys have %+v", k)
	}
	for v := range table.Versions(ctx) {
		t.Errorf("the versions have %+v", v)
	}
	for o := range table.Overrides(ctx, "attached", "") {
		t.Errorf("the overrides have %+v", o)
	}
}

// TestUnreadableAttachment: an item that another program has damaged is there, but
// has no state.
func TestUnreadableAttachment(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := &types.AttributeValueMemberN{Value: "1"}
	for name, item := range map[string]map[string]types.AttributeValue{
		"no state":              {"p": text("attached"), "revision": number},
		"a state of no text":    {"state": &types.AttributeValueMemberBOOL{Value: true}, "revision": number},
		"no revision":           {"state": text("{}")},
		"a revision of letters": {"state": text("{}"), "revision": text("x")},
	} {
		a, err := ruletable.New(single{item: item}, "rules").Attachment(t.Context(), "a1", "prod")
		if err != nil || a == nil || a.State != "" {
			t.Errorf("%s: %+v, error %v", name, a, err)
		}
	}
}
