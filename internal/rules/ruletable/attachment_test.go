package ruletable_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestAttachments: each write is of the revision after the one that is there, and
// no list of the table has the item.
func TestAttachments(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), t.Context()
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
