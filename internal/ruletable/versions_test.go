package ruletable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func document(capacity int) []byte {
	return fmt.Appendf(nil, "rules: [{name: r, key: 'ip:{ip}', limits: [{capacity: %d, window: 60s}]}]", capacity)
}

func version(capacity int) ruletable.Version {
	return ruletable.Version{Document: document(capacity), Note: note(0, "launch week")}
}

// publish publishes after a look, as a careful publisher does.
func publish(t *testing.T, table *ruletable.Table, v ruletable.Version) int64 {
	t.Helper()
	seen, err := table.Current(t.Context())
	if err != nil && !errors.Is(err, ruletable.ErrNone) {
		t.Fatal(err)
	}
	number, err := table.Publish(t.Context(), v, seen)
	must(t, err)
	return number
}

// inForce returns the document in force.
func inForce(t *testing.T, table *ruletable.Table) string {
	t.Helper()
	current, err := table.Current(t.Context())
	must(t, err)
	v, err := table.Get(t.Context(), current)
	must(t, err)
	return string(v.Document)
}

func TestPublish(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), context.Background()
	if seen, err := table.Current(ctx); seen != 0 || !errors.Is(err, ruletable.ErrNone) {
		t.Errorf("version %d, error %v; want ErrNone", seen, err)
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
	if err != nil || !bytes.Equal(old.Document, document(1)) || old.Note != note(0, "launch week") {
		t.Errorf("version 1 is %+v, error %v", old, err)
	}
}

func TestPublishAfterADiffAgainstAnotherVersion(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), context.Background()
	refused := func(seen int64) {
		t.Helper()
		number, err := table.Publish(ctx, version(99), seen)
		if number != 0 || !errors.Is(err, ruletable.ErrConflict) || !strings.Contains(err.Error(), "slidegate rules history") {
			t.Errorf("publishing over version %d: number %d, error %v; want ErrConflict and what to do", seen, number, err)
		}
	}
	refused(1)
	publish(t, table, version(1))
	publish(t, table, version(2))
	for _, seen := range []int64{-1, 0, 1, 3} {
		refused(seen)
	}
	must(t, table.Rollback(ctx, 2, 1, note(0, "")))
	refused(2)
	if got := inForce(t, table); got != string(document(1)) {
		t.Errorf("in force is %s", got)
	}
	if n := len(collected(t, table.History(ctx))); n != 3 {
		t.Errorf("the history has %d entries: refused publishers are in it", n)
	}
}

func TestTwoPublishers(t *testing.T) {
	client, name := newTable(t)
	other := ruletable.New(client, name)
	for seen := range int64(2) { // into an empty table, and into one in use
		first := ruletable.New(&racing{API: client, race: func() { publish(t, other, version(77)) }}, name)
		if _, err := first.Publish(t.Context(), version(1), seen); !errors.Is(err, ruletable.ErrConflict) {
			t.Errorf("overtaken at version %d: error %v, want ErrConflict", seen, err)
		}
		if got := inForce(t, other); got != string(document(77)) {
			t.Errorf("in force is %s; want the other publisher's", got)
		}
	}
}

// TestVersionsNeverChange: the pointer is where the publisher saw it, but was elsewhere meanwhile.
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
	if v, err := other.Get(t.Context(), 2); err != nil || !bytes.Equal(v.Document, document(77)) {
		t.Errorf("version 2 is %+v, error %v; want the other publisher's", v, err)
	}
}

// TestPublishersAtOnce lets many publish over the same version at the same time: it is never more than one that does.
func TestPublishersAtOnce(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	for round := range int64(3) {
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() { _, errs[i] = table.Publish(t.Context(), version(i+1), round) })
		}
		wg.Wait()
		var published []int
		for i, err := range errs {
			if err == nil {
				published = append(published, i+1)
			} else if !errors.Is(err, ruletable.ErrConflict) {
				t.Fatal(err)
			}
		}
		if len(published) != 1 {
			t.Fatalf("round %d: publishers %v of 6 have published", round, published)
		}
		if got := inForce(t, table); got != string(document(published[0])) {
			t.Errorf("round %d: in force is %s, published by %d", round, got, published[0])
		}
	}
}

func TestRollback(t *testing.T) {
	client, name := newTable(t)
	table, ctx := ruletable.New(client, name), context.Background()
	if err := table.Rollback(ctx, 0, 1, note(0, "")); !errors.Is(err, ruletable.ErrNoVersion) {
		t.Errorf("in an empty table: error %v, want ErrNoVersion", err)
	}
	for i := range 3 {
		publish(t, table, version(i+1))
	}
	for _, step := range []struct {
		from, to int64
		err      error
		inForce  int
	}{
		{from: 3, to: 4, err: ruletable.ErrNoVersion, inForce: 3},
		{from: 3, to: 3, err: ruletable.ErrInForce, inForce: 3},
		{from: 2, to: 1, err: ruletable.ErrConflict, inForce: 3}, // 3 was not seen
		{from: 0, to: 1, err: ruletable.ErrConflict, inForce: 3},
		{from: -1, to: 1, err: ruletable.ErrConflict, inForce: 3},
		{from: 3, to: 1, inForce: 1},
		{from: 3, to: 2, err: ruletable.ErrConflict, inForce: 1}, // it was in force before
		{from: 1, to: 2, inForce: 2},                             // forward again
	} {
		err := table.Rollback(ctx, step.from, step.to, note(9, "it broke"))
		if !errors.Is(err, step.err) || inForce(t, table) != string(document(step.inForce)) {
			t.Errorf("from %d to %d: error %v, in force %s; want %+v", step.from, step.to, err, inForce(t, table), step)
		}
	}
	if n := len(collected(t, table.History(ctx))); n != 5 {
		t.Errorf("the history has %d entries: refused rollbacks are in it", n)
	}
	if number := publish(t, table, version(4)); number != 4 {
		t.Errorf("after rollbacks version %d is published, want 4: versions never change", number)
	}
}

func TestRollbackOvertaken(t *testing.T) {
	client, name := newTable(t)
	other := ruletable.New(client, name)
	publish(t, other, version(1))
	publish(t, other, version(2))
	table := ruletable.New(&racing{API: client, race: func() { publish(t, other, version(3)) }}, name)
	err := table.Rollback(t.Context(), 2, 1, note(0, ""))
	if !errors.Is(err, ruletable.ErrConflict) || !strings.Contains(err.Error(), "slidegate rules history") {
		t.Errorf("error %v, want ErrConflict and what to do", err)
	}
	if got := inForce(t, other); got != string(document(3)) {
		t.Errorf("in force is %s: somebody's version was rolled back unseen", got)
	}
}

// TestRollbacksAtOnce lets many roll back from the same version at the same time, and one publish over it: one of them has
// its way, and the others hear of it.
func TestRollbacksAtOnce(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	for i := range 6 {
		publish(t, table, version(i+1))
	}
	var wg sync.WaitGroup
	errs := make([]error, 6) // by the version that comes out: 1 to 5 from rollbacks, 7 from a publish
	for i := range 5 {
		wg.Go(func() { errs[i] = table.Rollback(t.Context(), 6, int64(i+1), note(0, "")) })
	}
	wg.Go(func() { _, errs[5] = table.Publish(t.Context(), version(7), 6) })
	wg.Wait()
	var done []int
	for i, err := range errs {
		if err == nil {
			done = append(done, i)
		} else if !errors.Is(err, ruletable.ErrConflict) {
			t.Fatal(err)
		}
	}
	if len(done) != 1 {
		t.Fatalf("%v of 6 had their way", done)
	}
	if got, want := inForce(t, table), string(document([]int{1, 2, 3, 4, 5, 7}[done[0]])); got != want {
		t.Errorf("in force is %s, want %s", got, want)
	}
}

func TestVersions(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	if list := collected(t, table.Versions(t.Context())); list != nil {
		t.Errorf("an empty table lists %v", list)
	}
	var want []ruletable.Version
	for i := range 12 { // past 9: numbers are not ordered as texts by chance
		v := ruletable.Version{Document: document(i + 1), Note: note(i, fmt.Sprint("reason ", i))}
		publish(t, table, v)
		want = append([]ruletable.Version{{Number: int64(i + 1), InForce: i+1 == 11, Note: v.Note}}, want...)
	}
	must(t, table.Rollback(t.Context(), 12, 11, note(0, "")))
	if diff := cmp.Diff(want, collected(t, table.Versions(t.Context()))); diff != "" {
		t.Error(diff)
	}
}

// TestVersionsByPages lists versions that take more than the megabyte of one page.
func TestVersionsByPages(t *testing.T) {
	client, name := newTable(t)
	api := &counting{API: client}
	table := ruletable.New(api, name)
	for i := range 4 {
		v := version(i + 1)
		v.Why = strings.Repeat("x", 380_000)
		publish(t, table, v)
	}
	queries := api.count("Query")
	list := collected(t, table.Versions(t.Context()))
	if len(list) != 4 || list[0].Number != 4 || list[3].Number != 1 {
		t.Errorf("%d versions", len(list))
	}
	if n := api.count("Query") - queries; n < 2 {
		t.Errorf("%d pages: the test must take several", n)
	}
	queries = api.count("Query")
	for range table.Versions(t.Context()) {
		break
	}
	if n := api.count("Query") - queries; n != 1 {
		t.Errorf("the first version takes %d pages", n)
	}
}

func TestPublishTooLarge(t *testing.T) {
	client, name := newTable(t)
	noise := make([]byte, 400_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for what, v := range map[string]ruletable.Version{
		"noise":                     {Document: noise},
		"four megabytes of nothing": {Document: make([]byte, 4<<20+1)},
		"a long story":              {Document: document(1), Note: note(0, strings.Repeat("because ", 50_000))},
	} {
		_, err := ruletable.New(client, name).Publish(context.Background(), v, 0)
		if !errors.Is(err, ruletable.ErrTooLarge) {
			t.Errorf("%s: error %v, want ErrTooLarge", what, err)
		}
	}
	if n := publish(t, ruletable.New(client, name), ruletable.Version{Document: noise[:380_000]}); n != 1 {
		t.Errorf("the largest is version %d", n)
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
		"import":   table.ImportOverrides(ctx, "r", numbered(1), note(0, ""), nil),
	} {
		if !errors.Is(err, dynamo.ErrNoTable) {
			t.Errorf("%s: error %v, want ErrNoTable", what, err)
		}
	}
}
