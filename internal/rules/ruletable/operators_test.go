package ruletable_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

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
