package ruletable_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// set sets a new override.
func set(t *testing.T, table *ruletable.Table, rule, key, document string) {
	t.Helper()
	must(t, table.SetOverride(t.Context(), ruletable.Override{Rule: rule, Key: key, Document: document, Note: note(0, "asked for")}))
}

// stored returns an override without its revision, which is random.
func stored(t *testing.T, table *ruletable.Table, rule, key string) *ruletable.Override {
	t.Helper()
	o, err := table.Override(t.Context(), rule, key)
	must(t, err)
	if o != nil {
		o.Revision = 0
	}
	return o
}

func grant(limit string, add int64, from, until int) ruletable.Grant {
	return ruletable.Grant{Limit: limit, Add: add, Until: epoch.Add(time.Duration(until) * time.Second), Note: note(from, "demo")}
}

func TestOverride(t *testing.T) {
	table, ctx := opened(t), t.Context()
	want := func(want *ruletable.Override) {
		t.Helper()
		if diff := cmp.Diff(want, stored(t, table, "api", "tenant:acme")); diff != "" {
			t.Error(diff)
		}
	}
	want(nil)
	if err := table.DeleteOverride(ctx, "api", "tenant:acme", note(0, "")); !errors.Is(err, ruletable.ErrNoOverride) {
		t.Errorf("error %v, want ErrNoOverride", err)
	}
	set(t, table, "api", "tenant:acme", `{"capacity": 9}`)
	want(&ruletable.Override{Rule: "api", Key: "tenant:acme", Document: `{"capacity": 9}`, Note: note(0, "asked for")})

	previous, err := table.Override(ctx, "api", "tenant:acme")
	must(t, err)
	changed := *previous
	changed.Document, changed.Note = `{"deny": true}`, note(5, "ticket 81")
	must(t, table.SetOverride(ctx, changed))
	want(&ruletable.Override{Rule: "api", Key: "tenant:acme", Document: `{"deny": true}`, Note: note(5, "ticket 81")})
	if err := table.SetOverride(ctx, changed); !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("setting over a revision that is gone: error %v, want ErrConflict", err)
	}

	must(t, table.DeleteOverride(ctx, "api", "tenant:acme", note(6, "over")))
	want(nil)
	if err := table.SetOverride(ctx, changed); !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("setting over a deleted override: error %v, want ErrConflict", err)
	}
}

// TestRevisionAfterDeletion: an override that was deleted and set again has
// another revision.
func TestRevisionAfterDeletion(t *testing.T) {
	table := opened(t)
	set(t, table, "api", "k", `{"capacity": 1}`)
	previous, err := table.Override(t.Context(), "api", "k")
	must(t, err)
	must(t, table.DeleteOverride(t.Context(), "api", "k", note(0, "")))
	set(t, table, "api", "k", `{"capacity": 2}`)
	previous.Document = `{"capacity": 3}`
	if err := table.SetOverride(t.Context(), *previous); !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	imported(t, ruletable.Imported{Written: 1})(table.ImportOverrides(t.Context(), "api", slices.Values([]ruletable.Override{{Key: "k", Document: `{"capacity": 4}`}}), note(0, ""), nil))
	now, err := table.Override(t.Context(), "api", "k")
	must(t, err)
	if now.Document != `{"capacity": 4}` || now.Revision == previous.Revision || now.Revision <= 0 || now.Revision > 1<<53 {
		t.Errorf("override %+v", now)
	}
}

func TestGrant(t *testing.T) {
	table, ctx := opened(t), t.Context()
	give := func(g ruletable.Grant) {
		t.Helper()
		must(t, table.Grant(ctx, "api", "k", g))
	}
	want := func(document string, n ruletable.Note, grants ...ruletable.Grant) {
		t.Helper()
		want := &ruletable.Override{Rule: "api", Key: "k", Document: document, Grants: grants, Note: n}
		if diff := cmp.Diff(want, stored(t, table, "api", "k")); diff != "" {
			t.Error(diff)
		}
	}
	minute, hour := grant("", 100, 1, 60), grant("hour", 50, 2, 3600)
	give(minute)
	want("", minute.Note, minute)
	give(hour)
	want("", minute.Note, minute, hour)

	previous, err := table.Override(ctx, "api", "k")
	must(t, err)
	must(t, table.SetOverride(ctx, ruletable.Override{Rule: "api", Key: "k", Document: `{"capacity": 9}`, Revision: previous.Revision, Note: note(3, "up")}))
	want(`{"capacity": 9}`, note(3, "up"), minute, hour)

	later := grant("", 7, 60, 61) // the first has ended, because the end does not belong to a grant
	give(later)
	want(`{"capacity": 9}`, note(3, "up"), hour, later)
	give(later)
	want(`{"capacity": 9}`, note(3, "up"), hour, later, later)

	for _, bad := range []ruletable.Grant{grant("", 0, 0, 60), grant("", -5, 0, 60), grant("", 5, 60, 60), grant("", 5, 60, 0)} {
		if err := table.Grant(ctx, "api", "k", bad); err == nil {
			t.Errorf("grant %+v is taken", bad)
		}
	}
	want(`{"capacity": 9}`, note(3, "up"), hour, later, later)
	must(t, table.DeleteOverride(ctx, "api", "k", note(70, "")))
	if o := stored(t, table, "api", "k"); o != nil {
		t.Errorf("a deleted override is %+v", o)
	}
}

func TestOverrides(t *testing.T) {
	table := opened(t)
	for _, key := range []string{"b", "a#1", "a", "ä", "A"} {
		set(t, table, "api", key, `{"capacity": 1}`)
	}
	set(t, table, "api2", "c", "{}")
	set(t, table, "plan", "user:7", `{"plan": "pro"}`)
	must(t, table.Grant(t.Context(), "api", "b", grant("", 3, 0, 60)))
	var keys []string
	for _, o := range collected(t, table.Overrides(t.Context(), "api", "")) {
		keys = append(keys, o.Key)
		if o.Rule != "api" || o.Document != `{"capacity": 1}` || o.Note != note(0, "asked for") || o.Revision == 0 || len(o.Grants) > 0 != (o.Key == "b") {
			t.Errorf("listed %+v", o)
		}
	}
	if want := []string{"A", "a", "a#1", "b", "ä"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	for prefix, want := range map[string]string{"a": "a a#1", "a#1": "a#1", "a#12": "", "ä": "ä", "B": ""} {
		var keys []string
		for _, o := range collected(t, table.Overrides(t.Context(), "api", prefix)) {
			keys = append(keys, o.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("keys that begin with %q are %q, want %q", prefix, got, want)
		}
	}
	for _, bad := range []string{"a\xff", strings.Repeat("a", 1025)} {
		if err := first(table.Overrides(t.Context(), "api", bad)); err == nil || !strings.Contains(err.Error(), "no key begins with") {
			t.Errorf("prefix %.10q: error %v", bad, err)
		}
	}
	if list := collected(t, table.Overrides(t.Context(), "ap", "")); list != nil {
		t.Errorf("a rule without overrides lists %v", list)
	}
}

func TestOverridesByPages(t *testing.T) {
	client, name := newTable(t)
	api := &counting{API: client}
	table := ruletable.New(api, name)
	large := make([]ruletable.Override, 50)
	for i := range large {
		large[i] = ruletable.Override{Key: fmt.Sprintf("k%02d", i), Document: strings.Repeat(" ", 31<<10) + "{}"}
	}
	imported(t, ruletable.Imported{Written: len(large)})(table.ImportOverrides(t.Context(), "api", slices.Values(large), note(0, ""), nil))
	list := collected(t, table.Overrides(t.Context(), "api", ""))
	if len(list) != 50 || list[0].Key != "k00" || list[49].Key != "k49" {
		t.Errorf("%d overrides", len(list))
	}
	all := api.count("Query")
	if all < 2 {
		t.Errorf("%d pages: the test must take several", all)
	}
	if list := collected(t, table.Overrides(t.Context(), "api", "k4")); len(list) != 10 || list[0].Key != "k40" {
		t.Errorf("%d overrides of keys that begin with k4", len(list))
	}
	if n := api.count("Query") - all; n != 1 {
		t.Errorf("%d pages for the last ten keys, want 1: the others are not read", n)
	}
}

// TestCompile: an override has its document and its grants; either may be
// missing.
func TestCompile(t *testing.T) {
	given := grant("hour", 50, 0, 60)
	for document, want := range map[string]*rules.Override{"": {}, `{"capacity": 5}`: capacityOf(5)} {
		stored := &ruletable.Override{Rule: "api", Key: "k", Document: document, Grants: []ruletable.Grant{given}}
		compiled, err := stored.Compile("somewhere")
		if err != nil || len(compiled.Grants) != 1 || compiled.Grants[0].Limit != "hour" || compiled.Grants[0].Add != 50 || !compiled.Grants[0].Until.Equal(given.Until) {
			t.Fatalf("%q: %+v, error %v", document, compiled, err)
		}
		if compiled.Grants = nil; !sameOverride(compiled, want) {
			t.Errorf("%q: %+v, want %+v", document, compiled, want)
		}
	}
	for document, want := range map[string]string{
		`{"capacity": -5}`:   "somewhere: capacity: ",
		"{capacity: 5}":      "somewhere: not the JSON of an override: ", // as YAML
		`{"capacty": 5}`:     `somewhere: not the JSON of an override: json: unknown field "capacty"`,
		`{"capacity": 5} {}`: "somewhere: not the JSON of an override: text after the end of the document",
	} {
		bad := &ruletable.Override{Document: document, Grants: []ruletable.Grant{given}}
		if compiled, err := bad.Compile("somewhere"); compiled != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, error %v", document, compiled, err)
		}
	}
}
