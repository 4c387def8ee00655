package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
	table, ctx := opened(t), t.Context()
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
	table := opened(t)
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

// TestTwoOperators: one operator changes an override between another's read and
// write.
func TestTwoOperators(t *testing.T) {
	g1, g2 := grant("", 1, 0, 60), grant("", 2, 0, 60)
	for _, test := range []struct {
		what       string
		work, race func(table *ruletable.Table, previous int64) error
		err        error
		document   string
		grants     []ruletable.Grant
		gone       bool
		new        bool // without an override at first
	}{
		{what: "both set", work: setting(`{"capacity": 1}`), race: setting(`{"capacity": 2}`), err: ruletable.ErrConflict, document: `{"capacity": 2}`},
		{what: "both grant", work: granting(g1), race: granting(g2), document: "{}", grants: []ruletable.Grant{g2, g1}},
		{what: "one grants, one sets", work: granting(g1), race: setting(`{"capacity": 2}`), document: `{"capacity": 2}`, grants: []ruletable.Grant{g1}},
		{what: "one sets, one grants", work: setting(`{"capacity": 1}`), race: granting(g2), err: ruletable.ErrConflict, document: "{}", grants: []ruletable.Grant{g2}},
		{what: "one sets, one deletes", work: setting(`{"capacity": 1}`), race: deleting, err: ruletable.ErrConflict, gone: true},
		{what: "one deletes, one sets", work: deleting, race: setting(`{"capacity": 2}`), gone: true},
		{what: "one grants, one deletes", work: granting(g1), race: deleting, grants: []ruletable.Grant{g1}},
		{what: "both set the first", new: true, work: setting(`{"capacity": 1}`), race: setting(`{"capacity": 2}`), err: ruletable.ErrConflict, document: `{"capacity": 2}`},
		{what: "both grant the first", new: true, work: granting(g1), race: granting(g2), grants: []ruletable.Grant{g2, g1}},
		{what: "both delete", work: deleting, race: deleting, err: ruletable.ErrNoOverride, gone: true},
	} {
		t.Run(test.what, func(t *testing.T) {
			client, name := newTable(t)
			other := ruletable.New(client, name)
			var previous int64
			if !test.new {
				set(t, other, "api", "k", "{}")
				o, err := other.Override(t.Context(), "api", "k")
				must(t, err)
				previous = o.Revision
			}
			var once sync.Once
			table := ruletable.New(&racing{API: client, race: func() {
				once.Do(func() { must(t, test.race(other, previous)) })
			}}, name)
			if err := test.work(table, previous); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			o := stored(t, other, "api", "k")
			if test.gone {
				if o != nil {
					t.Errorf("it is %+v, want none", o)
				}
				return
			}
			if o == nil || o.Document != test.document || cmp.Diff(test.grants, o.Grants) != "" {
				t.Errorf("it is %+v, want %+v", o, test)
			}
		})
	}
}

func setting(document string) func(*ruletable.Table, int64) error {
	return func(table *ruletable.Table, previous int64) error {
		return table.SetOverride(context.Background(), ruletable.Override{Rule: "api", Key: "k", Document: document, Revision: previous, Note: note(0, "")})
	}
}

func granting(g ruletable.Grant) func(*ruletable.Table, int64) error {
	return func(table *ruletable.Table, _ int64) error { return table.Grant(context.Background(), "api", "k", g) }
}

func deleting(table *ruletable.Table, _ int64) error {
	return table.DeleteOverride(context.Background(), "api", "k", note(0, ""))
}

// TestContendedForEver: a grant gives up if every transaction conflicts.
func TestContendedForEver(t *testing.T) {
	for _, reason := range []string{"TransactionConflict", "ConditionalCheckFailed"} {
		bubble(t, func(t *testing.T) {
			api := &contended{API: empty{}, reason: reason}
			err := ruletable.New(api, "rules").Grant(t.Context(), "api", "k", grant("", 1, 0, 60))
			if !errors.Is(err, ruletable.ErrConflict) || api.tries != 10 {
				t.Errorf("%s: error %v after %d tries, want ErrConflict after 10", reason, err, api.tries)
			}
		})
	}
}

// contended cancels every transaction.
type contended struct {
	ruletable.API
	reason string
	tries  int
}

func (c *contended) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.tries++
	return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String("None")}, {Code: aws.String(c.reason)},
	}}
}
