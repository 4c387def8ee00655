package ruletable_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

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
		{from: 2, to: 1, err: ruletable.ErrConflict, inForce: 3}, // the author did not see 3
		{from: 0, to: 1, err: ruletable.ErrConflict, inForce: 3},
		{from: -1, to: 1, err: ruletable.ErrConflict, inForce: 3},
		{from: 3, to: 1, inForce: 1},
		{from: 3, to: 2, err: ruletable.ErrConflict, inForce: 1}, // it was in force before
		{from: 1, to: 2, inForce: 2},                             // forward again
	} {
		err := table.Rollback(ctx, step.from, step.to, note(9, "it broke"))
		if !errors.Is(err, step.err) || inForce(t, table) != string(text(step.inForce)) {
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
	if got := inForce(t, other); got != string(text(3)) {
		t.Errorf("in force is %s: a version was rolled back that the operator did not see", got)
	}
}

// TestRollbacksAtOnce: of several rollbacks from a version and a publication
// over it, one succeeds, and the others fail with ErrConflict.
func TestRollbacksAtOnce(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	for i := range 6 {
		publish(t, table, version(i+1))
	}
	var wg sync.WaitGroup
	errs := make([]error, 6) // by the resulting version: 1 to 5 of rollbacks, 7 of the publication
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
		t.Fatalf("%v of 6 succeeded", done)
	}
	if got, want := inForce(t, table), string(text([]int{1, 2, 3, 4, 5, 7}[done[0]])); got != want {
		t.Errorf("in force is %s, want %s", got, want)
	}
}
