package ruletable_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// text is a rules document as its author wrote it.
func text(capacity int) []byte {
	return fmt.Appendf(nil, "rules: [{name: r, key: 'ip:{ip}', limits: [{capacity: %d, window: 60s}]}] # yes", capacity)
}

// document is the same document for limiters.
func document(capacity int) *ruledoc.Document {
	return &ruledoc.Document{Rules: []ruledoc.Rule{{
		Name: "r", Key: "ip:{ip}", Limits: []ruledoc.Limit{{Capacity: int64(capacity), Window: "60s"}},
	}}}
}

// invalid is a document that no limiter takes.
var invalid = &ruledoc.Document{Rules: []ruledoc.Rule{{}}}

func version(capacity int) ruletable.Version {
	return ruletable.Version{Text: text(capacity), Document: document(capacity), Note: note(0, "launch week")}
}

// publish publishes over the version in force.
func publish(t *testing.T, table *ruletable.Table, v ruletable.Version) int64 {
	t.Helper()
	previous, err := table.Current(t.Context())
	if err != nil && !errors.Is(err, ruletable.ErrNone) {
		t.Fatal(err)
	}
	number, err := table.Publish(t.Context(), v, previous)
	must(t, err)
	return number
}

// inForce returns the text of the version in force.
func inForce(t *testing.T, table *ruletable.Table) string {
	t.Helper()
	current, err := table.Current(t.Context())
	must(t, err)
	v, err := table.Get(t.Context(), current)
	must(t, err)
	return string(v.Text)
}

func TestPublish(t *testing.T) {
	table, ctx := opened(t), context.Background()
	if previous, err := table.Current(ctx); previous != 0 || !errors.Is(err, ruletable.ErrNone) {
		t.Errorf("version %d, error %v; want ErrNone", previous, err)
	}
	for want := int64(1); want <= 3; want++ {
		if got, err := table.Publish(ctx, version(int(want)), want-1); err != nil || got != want {
			t.Fatalf("published version %d, error %v; want %d", got, err, want)
		}
	}
	if got, err := table.Current(ctx); err != nil || got != 3 {
		t.Errorf("version %d in force, error %v", got, err)
	}
	old, err := table.Get(ctx, 1)
	if _, err := table.Get(ctx, 4); !errors.Is(err, ruletable.ErrNoVersion) {
		t.Errorf("error %v for a version that is not there", err)
	}
	if err != nil || !bytes.Equal(old.Text, text(1)) || !cmp.Equal(old.Document, document(1)) || old.Note != note(0, "launch week") {
		t.Errorf("version 1 is %+v, error %v", old, err)
	}
}

func TestPublishAfterADiffAgainstAnotherVersion(t *testing.T) {
	table, ctx := opened(t), context.Background()
	refused := func(previous int64) {
		t.Helper()
		number, err := table.Publish(ctx, version(99), previous)
		if number != 0 || !errors.Is(err, ruletable.ErrConflict) || !strings.Contains(err.Error(), "slidegate rules history") {
			t.Errorf("publishing over version %d: number %d, error %v; want ErrConflict and what to do", previous, number, err)
		}
	}
	refused(1)
	publish(t, table, version(1))
	publish(t, table, version(2))
	for _, previous := range []int64{-1, 0, 1, 3} {
		refused(previous)
	}
	must(t, table.Rollback(ctx, 2, 1, note(0, "")))
	refused(2)
	if got := inForce(t, table); got != string(text(1)) {
		t.Errorf("in force is %s", got)
	}
	if n := len(collected(t, table.History(ctx))); n != 3 {
		t.Errorf("the history has %d entries: refused publishers are in it", n)
	}
}

func TestTwoPublishers(t *testing.T) {
	client, name := newTable(t)
	other := ruletable.New(client, name)
	for previous := range int64(2) { // into an empty table, and into one in use
		first := ruletable.New(&racing{API: client, race: func() { publish(t, other, version(77)) }}, name)
		if _, err := first.Publish(t.Context(), version(1), previous); !errors.Is(err, ruletable.ErrConflict) {
			t.Errorf("overtaken at version %d: error %v, want ErrConflict", previous, err)
		}
		if got := inForce(t, other); got != string(text(77)) {
			t.Errorf("in force is %s; want the other publisher's", got)
		}
	}
}

// TestVersionsNeverChange: the pointer is where the author saw it, but another
// version was published in between.
func TestVersionsNeverChange(t *testing.T) {
	client, name := newTable(t)
	other := ruletable.New(client, name)
	publish(t, other, version(1))
	table := ruletable.New(&racing{API: client, race: func() {
		publish(t, other, version(77))
		must(t, other.Rollback(t.Context(), 2, 1, note(0, "")))
	}}, name)
	if _, err := table.Publish(t.Context(), version(2), 1); !errors.Is(err, ruletable.ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	if v, err := other.Get(t.Context(), 2); err != nil || !bytes.Equal(v.Text, text(77)) {
		t.Errorf("version 2 is %+v, error %v; want the other publisher's", v, err)
	}
}

func TestVersions(t *testing.T) {
	table := opened(t)
	if list := collected(t, table.Versions(t.Context())); list != nil {
		t.Errorf("an empty table lists %v", list)
	}
	var want []ruletable.Version
	for i := range 12 { // past 9, so that numbers do not sort as texts by chance
		v := ruletable.Version{Text: text(i + 1), Document: document(i + 1), Note: note(i, fmt.Sprint("reason ", i))}
		publish(t, table, v)
		want = append([]ruletable.Version{{Number: int64(i + 1), InForce: i+1 == 11, Note: v.Note}}, want...)
	}
	must(t, table.Rollback(t.Context(), 12, 11, note(0, "")))
	if diff := cmp.Diff(want, collected(t, table.Versions(t.Context()))); diff != "" {
		t.Error(diff)
	}
}

func TestPublishTooLarge(t *testing.T) {
	client, name := newTable(t)
	noise := make([]byte, 400_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for what, v := range map[string]ruletable.Version{
		"a text that gzip cannot shorten": {Text: noise, Document: document(1)},
		"a text over 4 MB":                {Text: make([]byte, 4<<20+1), Document: document(1)},
		"a long reason":                   {Text: text(1), Document: document(1), Note: note(0, strings.Repeat("because ", 50_000))},
		"both forms together":             {Text: noise[:200_000], Document: named(hex.EncodeToString(noise[200_000:]))},
	} {
		_, err := ruletable.New(client, name).Publish(context.Background(), v, 0)
		if !errors.Is(err, ruletable.ErrTooLarge) {
			t.Errorf("%s: error %v, want ErrTooLarge", what, err)
		}
	}
	if n := publish(t, ruletable.New(client, name), ruletable.Version{Text: noise[:380_000], Document: document(1)}); n != 1 {
		t.Errorf("the largest is version %d", n)
	}
}

// TestPublishSlowStart: rules that a Lambda of the construct's size could not
// read in time are refused, with the number, and never reach the table.
func TestPublishSlowStart(t *testing.T) {
	plain := func(rules int) *ruledoc.Document {
		d := &ruledoc.Document{}
		for i := range rules {
			d.Rules = append(d.Rules, ruledoc.Rule{Name: fmt.Sprint("r", i), Limits: make([]ruledoc.Limit, 1)})
		}
		return d
	}
	planned := plain(10)
	planned.Plans = map[string]ruledoc.Plan{"pro": make(ruledoc.Plan)}
	for i := range ruletable.MaxEntries {
		planned.Plans["pro"][fmt.Sprint(i)] = ruledoc.PlanCapacity{}
	}
	overridden := plain(10)
	overridden.Overrides = map[string]map[string]ruledoc.Override{"r1": {}}
	for i := range ruletable.MaxEntries {
		overridden.Overrides["r1"][fmt.Sprint(i)] = ruledoc.Override{}
	}
	for what, test := range map[string]struct {
		document *ruledoc.Document
		want     string // empty for one that is published
	}{
		"5,000 rules":          {plain(5000), ""},
		"5,001 rules":          {plain(5001), "10002 rules, limits, capacities of plans and overrides, and 10000 is the limit"},
		"16,384 rules":         {plain(16_384), "32768 rules, limits, capacities of plans and overrides, and 10000 is the limit"},
		"capacities of a plan": {planned, "10020 rules, limits, capacities of plans and overrides, and 10000 is the limit"},
		"overrides":            {overridden, "10020 rules, limits, capacities of plans and overrides, and 10000 is the limit"},
		"a megabyte":           {named(strings.Repeat("x", 1<<20)), "bytes as JSON, and 1048576 is the limit"},
	} {
		v := ruletable.Version{Text: text(1), Document: test.document}
		err := v.Check()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ruletable.ErrSlowStart) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", what, err, test.want)
		}
		if test.want == "" {
			continue
		}
		if _, err := ruletable.New(struct{ ruletable.API }{}, "rules").Publish(t.Context(), v, 0); !errors.Is(err, ruletable.ErrSlowStart) {
			t.Errorf("%s: published with error %v", what, err)
		}
	}
}

// named returns a document with a rule of this name.
func named(name string) *ruledoc.Document {
	return &ruledoc.Document{Rules: []ruledoc.Rule{{Name: name}}}
}

func TestPublishWithoutDocument(t *testing.T) {
	_, err := ruletable.New(empty{}, "rules").Publish(t.Context(), ruletable.Version{Text: text(1)}, 0)
	if err == nil || !strings.Contains(err.Error(), "needs its document") {
		t.Errorf("error %v", err)
	}
}

func TestNoTable(t *testing.T) {
	table := ruletable.New(dynamotest.Connect(t), "no-such-table")
	ctx := t.Context()
	for what, err := range map[string]error{
		"publish":  second(table.Publish(ctx, version(1), 0)),
		"rollback": table.Rollback(ctx, 0, 1, note(0, "")),
		"override": second(table.Override(ctx, "r", "k")),
		"set":      table.SetOverride(ctx, ruletable.Override{Rule: "r", Key: "k", Document: "{}"}),
		"delete":   table.DeleteOverride(ctx, "r", "k", note(0, "")),
		"versions": first(table.Versions(ctx)),
		"history":  first(table.History(ctx)),
		"list":     first(table.Overrides(ctx, "r", "")),
		"import":   second(table.ImportOverrides(ctx, "r", numbered(1), note(0, ""), nil)),
	} {
		if !errors.Is(err, dynamo.ErrNoTable) {
			t.Errorf("%s: error %v, want ErrNoTable", what, err)
		}
	}
}
