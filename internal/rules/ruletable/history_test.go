package ruletable_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// lines returns the history, with a line for each event.
func lines(t *testing.T, table *ruletable.Table) (all []string) {
	t.Helper()
	for _, e := range collected(t, table.History(t.Context())) {
		all = append(all, inLine(e))
	}
	return all
}

func TestHistory(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), t.Context()
	if all := lines(t, table); all != nil {
		t.Errorf("an empty table has the history %v", all)
	}
	publish(t, table, version(1))
	_, err := table.Publish(ctx, ruletable.Version{Text: text(2), Document: document(2), Note: note(1, "more")}, 1)
	must(t, err)
	must(t, table.Rollback(ctx, 2, 1, note(2, "less")))
	must(t, table.SetOverride(ctx, ruletable.Override{Rule: "api", Key: "tenant:acme", Document: `{"capacity": 9}`, Note: note(3, "a big one")}))
	stored, err := table.Override(ctx, "api", "tenant:acme")
	must(t, err)
	stored.Document, stored.Note = `{"deny": true}`, note(4, "ticket 81")
	must(t, table.SetOverride(ctx, *stored))
	must(t, table.Grant(ctx, "api", "tenant:acme", ruletable.Grant{Limit: "hour", Add: 50, Until: epoch.Add(time.Hour), Note: note(5, "demo")}))
	must(t, table.DeleteOverride(ctx, "api", "tenant:acme", note(6, "over")))
	must(t, table.Grant(ctx, "api", "tenant:b", ruletable.Grant{Add: 5, Until: epoch.Add(9 * time.Second), Note: note(7, "short")}))
	must(t, table.Grant(ctx, "api", "tenant:b", ruletable.Grant{Add: 70, Until: epoch.Add(time.Hour), Note: note(8, "long")}))
	must(t, table.DeleteOverride(ctx, "api", "tenant:b", note(9, "grants alone")))
	imported(t, ruletable.Imported{Written: 30})(table.ImportOverrides(ctx, "api", numbered(30), note(10, "the list"), nil))
	must(t, table.RecordReset(ctx, "api", "user:auth0%7C7", "api|user:auth0%7C7|9e0c8586", note(11, "")))
	want := []string{
		`22:14:11 ada: counter reset api "user:auth0%7C7" "">"" (api|user:auth0%7C7|9e0c8586) `,
		`22:14:10 ada: overrides imported api "" "">"" 30 of 30 the list`,
		`22:14:09 ada: override deleted api "tenant:b" "">"" with +70 until 23:14:00 grants alone`,
		`22:14:08 ada: granted api "tenant:b" "">"" +70 until 23:14:00 long`,
		`22:14:07 ada: granted api "tenant:b" "">"" +5 until 22:14:09 short`,
		`22:14:06 ada: override deleted api "tenant:acme" "{\"deny\": true}">"" with hour+50 until 23:14:00 over`,
		`22:14:05 ada: granted api "tenant:acme" "">"" hour+50 until 23:14:00 demo`,
		`22:14:04 ada: override set api "tenant:acme" "{\"capacity\": 9}">"{\"deny\": true}" ticket 81`,
		`22:14:03 ada: override set api "tenant:acme" "">"{\"capacity\": 9}" a big one`,
		`22:14:02 ada: rolled back 2>1 less`,
		`22:14:01 ada: published 1>2 more`,
		`22:14:00 ada: published 0>1 launch week`,
	}
	if diff := cmp.Diff(want, lines(t, table)); diff != "" {
		t.Error(diff)
	}
}

// TestRecordResetTouchesTheHistoryAlone: recording a reset needs no permission
// but to put items of the history.
func TestRecordResetTouchesTheHistoryAlone(t *testing.T) {
	api := &batches{}
	must(t, ruletable.New(api, "rules").RecordReset(t.Context(), "api", "k", "api|k|9e0c8586", note(0, "ticket 86")))
	if len(api.events) != 1 || len(api.events[0].TransactItems) != 1 || api.events[0].TransactItems[0].Put == nil {
		t.Fatalf("it wrote %+v, want one item put", api.events)
	}
	put := api.events[0].TransactItems[0].Put
	if p, ok := put.Item["p"].(*types.AttributeValueMemberS); !ok || p.Value != "history" {
		t.Errorf("it put an item of partition %v, want history", put.Item["p"])
	}
	if why, ok := put.Item["why"].(*types.AttributeValueMemberS); !ok || why.Value != "ticket 86" {
		t.Errorf("its reason is %v, want the note's", put.Item["why"])
	}
}

// TestHistoryOrder: fractions of a second sort right despite trailing zeros,
// and several events may have the same time.
func TestHistoryOrder(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	berlin := time.FixedZone("CET", 3600)
	whens := []time.Time{
		epoch.Add(-time.Nanosecond), epoch, epoch, epoch.Add(time.Nanosecond).In(berlin), epoch.Add(100 * time.Millisecond),
		epoch.Add(100_000_001), epoch.Add(110 * time.Millisecond), epoch.Add(time.Second).In(berlin),
	}
	for _, i := range []int{3, 0, 7, 1, 5, 2, 6, 4} {
		n := ruletable.Note{Who: fmt.Sprint(i), When: whens[i]}
		must(t, table.SetOverride(t.Context(), ruletable.Override{Rule: "r", Key: fmt.Sprint(i), Document: "{}", Note: n}))
	}
	all := collected(t, table.History(t.Context()))
	if len(all) != len(whens) {
		t.Fatalf("%d events, want %d", len(all), len(whens))
	}
	slices.Reverse(whens)
	for i, e := range all {
		if !e.When.Equal(whens[i]) {
			t.Errorf("event %d is of %v, want %v", i, e.When, whens[i])
		}
	}
}
