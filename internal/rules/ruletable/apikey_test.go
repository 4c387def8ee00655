package ruletable_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func apiKey(name string) ruletable.APIKey {
	return ruletable.APIKey{Name: name, Hash: "hash of " + name, ID: "acme", Note: note(0, "")}
}

// wantAPIKey compares a stored key, without its revision.
func wantAPIKey(t *testing.T, table *ruletable.Table, want ruletable.APIKey) {
	t.Helper()
	got, err := table.APIKey(t.Context(), want.Name)
	must(t, err)
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(ruletable.APIKey{}, "Revision")); diff != "" {
		t.Error(diff)
	}
}

func TestAPIKeys(t *testing.T) {
	table, ctx := opened(t), t.Context()
	first := apiKey("sg_1")
	first.Plan, first.Claims, first.Expires = "pro", `{"tenant":7}`, epoch.Add(time.Hour)
	must(t, table.CreateAPIKey(ctx, first))
	wantAPIKey(t, table, first)
	if err := table.CreateAPIKey(ctx, first); !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("the same key again: %v", err)
	}

	until := epoch.Add(time.Minute)
	old, created, err := table.RotateAPIKey(ctx, "sg_1", ruletable.APIKey{Name: "sg_2", Hash: "h2"}, until, note(1, "yearly"))
	must(t, err)
	next := first
	next.Name, next.Hash, next.Note = "sg_2", "h2", note(1, "yearly")
	wantAPIKey(t, table, next)
	first.Expires, first.Successor = until, "sg_2"
	wantAPIKey(t, table, first)
	if old.Name != "sg_1" || created.Name != "sg_2" {
		t.Errorf("%+v, %+v", old, created)
	}
	if _, _, err := table.RotateAPIKey(ctx, "sg_1", ruletable.APIKey{Name: "sg_4"}, until, note(2, "")); !errors.Is(err, ruletable.ErrEnded) {
		t.Errorf("a key with a successor: %v", err)
	}
	// The old key's own end is earlier.
	short := apiKey("sg_5")
	short.Expires, short.Note = until, note(2, "")
	must(t, table.CreateAPIKey(ctx, short))
	must(t, third(table.RotateAPIKey(ctx, "sg_5", ruletable.APIKey{Name: "sg_6", Hash: "h6"}, epoch.Add(time.Hour), note(3, ""))))
	short.Successor = "sg_6"
	wantAPIKey(t, table, short)
	if _, _, err := table.RotateAPIKey(ctx, "sg_6", ruletable.APIKey{Name: "sg_4"}, until, note(60, "")); !errors.Is(err, ruletable.ErrEnded) {
		t.Errorf("an expired key: %v", err)
	}

	_, err = table.RevokeAPIKey(ctx, "sg_2", note(4, "leaked"))
	must(t, err)
	next.Revoked = epoch.Add(4 * time.Second)
	wantAPIKey(t, table, next)
	for _, err := range []error{
		second(table.RevokeAPIKey(ctx, "sg_2", note(4, ""))), third(table.RotateAPIKey(ctx, "sg_2", ruletable.APIKey{Name: "sg_4"}, until, note(4, ""))),
	} {
		if !errors.Is(err, ruletable.ErrRevoked) {
			t.Errorf("a revoked key: %v", err)
		}
	}
	for _, err := range []error{
		second(table.RevokeAPIKey(ctx, "sg_9", note(4, ""))), third(table.RotateAPIKey(ctx, "sg_9", ruletable.APIKey{Name: "sg_4"}, until, note(4, ""))),
	} {
		if !errors.Is(err, ruletable.ErrNoAPIKey) {
			t.Errorf("no key: %v", err)
		}
	}
	var names []string
	for _, k := range collected(t, table.APIKeys(ctx, "")) {
		names = append(names, k.Name)
	}
	if diff := cmp.Diff([]string{"sg_1", "sg_2", "sg_5", "sg_6"}, names); diff != "" {
		t.Error(diff)
	}
	if found := collected(t, table.APIKeys(ctx, "sg_2")); len(found) != 1 || found[0].Name != "sg_2" {
		t.Errorf("a prefix finds %v", found)
	}
	var history []string
	for _, e := range collected(t, table.History(ctx)) {
		history = append(history, fmt.Sprintf("%s %s %s %s %s %s", e.Kind, e.APIKey, e.NewAPIKey, e.ID, e.Why, e.Until.Format("15:04:05")))
	}
	want := []string{
		"api key revoked sg_2  acme leaked 00:00:00",
		"api key rotated sg_5 sg_6 acme  " + until.Format("15:04:05"),
		"api key created sg_5  acme  " + until.Format("15:04:05"),
		"api key rotated sg_1 sg_2 acme yearly " + until.Format("15:04:05"),
		"api key created sg_1  acme  " + epoch.Add(time.Hour).Format("15:04:05"),
	}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Error(diff)
	}
}

func third[T, U any](_ T, _ U, err error) error { return err }

// TestAPIKeyChangesAtOnce: a key that is revoked while another operator rotates
// it stays revoked, and is not brought back.
func TestAPIKeyChangesAtOnce(t *testing.T) {
	client, name := newTable(t)
	other := ruletable.New(client, name)
	must(t, other.CreateAPIKey(t.Context(), apiKey("sg_1")))
	var once sync.Once
	table := ruletable.New(&racing{API: client, race: func() {
		once.Do(func() { must(t, second(other.RevokeAPIKey(t.Context(), "sg_1", note(1, "")))) })
	}}, name)
	_, _, err := table.RotateAPIKey(t.Context(), "sg_1", ruletable.APIKey{Name: "sg_2", Hash: "h"}, epoch.Add(time.Hour), note(2, ""))
	if !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	if k, err := other.APIKey(t.Context(), "sg_2"); k != nil || err != nil {
		t.Errorf("the successor is %v, %v", k, err)
	}
}

// TestAPIKeyForms: what does not fit is refused before it is written.
func TestAPIKeyForms(t *testing.T) {
	table := ruletable.New(empty{}, "rules") // a write would panic
	for _, id := range []string{"", " ", "a b", "-a", "a|b", "ä", "a\n", strings.Repeat("a", 129)} {
		k := apiKey("sg_1")
		k.ID = id
		if err := table.CreateAPIKey(t.Context(), k); err == nil || !strings.Contains(err.Error(), "id ") {
			t.Errorf("id %q: %v", id, err)
		}
	}
	k := apiKey("sg_1")
	k.Claims = ruletable.JSONText(`{"a":"` + strings.Repeat("a", 8<<10) + `"}`)
	if err := table.CreateAPIKey(t.Context(), k); !errors.Is(err, ruletable.ErrTooLarge) {
		t.Errorf("large claims: %v", err)
	}
}

// TestUnreadableAPIKey: an item with a damaged end is no key without an end.
func TestUnreadableAPIKey(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for name, damaged := range map[string]types.AttributeValue{
		"expires": number("1700000000"), "revoked": text("yesterday"), "hash": text(""), "claims": text("[]"), "id": text("a b"),
		"revision": number("0"),
	} {
		item := map[string]types.AttributeValue{
			"p": text("apikey"), "s": text("sg_1"), "hash": text("h"), "id": text("acme"), "revision": number("1"), "who": number("1"), "other": number("1"),
		}
		table := ruletable.New(single{item: item}, "rules")
		if k, err := table.APIKey(t.Context(), "sg_1"); err != nil || k.ID != "acme" {
			t.Fatalf("%v, %v", k, err)
		}
		item[name] = damaged
		if _, err := table.APIKey(t.Context(), "sg_1"); !errors.Is(err, ruletable.ErrUnreadableKey) {
			t.Errorf("a damaged %s: error %v", name, err)
		}
	}
}

// TestRevokeUnreadableAPIKey: revoking removes such an item.
func TestRevokeUnreadableAPIKey(t *testing.T) {
	client, name := newTable(t)
	item := map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberS{Value: "apikey"}, "s": &types.AttributeValueMemberS{Value: "sg_1"},
	}
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item})
	must(t, err)
	table := ruletable.New(client, name)
	if err := first(table.APIKeys(t.Context(), "")); !errors.Is(err, ruletable.ErrUnreadableKey) {
		t.Errorf("listed: error %v", err)
	}
	must(t, second(table.RevokeAPIKey(t.Context(), "sg_1", note(0, ""))))
	if k, err := table.APIKey(t.Context(), "sg_1"); k != nil || err != nil {
		t.Errorf("it is still there: %v, %v", k, err)
	}
}
