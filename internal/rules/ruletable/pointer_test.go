package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// large has rules that gzip cannot make small.
func large() ruletable.Version {
	d := &ruledoc.Document{}
	for i := range 1500 {
		name := fmt.Sprintf("r%x", uint64(i+1)*0x9e3779b97f4a7c15)
		d.Rules = append(d.Rules, ruledoc.Rule{Name: name, Key: name, Limits: []ruledoc.Limit{{Capacity: 7, Window: "60s"}}})
	}
	return ruletable.Version{Text: []byte("rules"), Document: d}
}

// TestOneReadAtTheStart: the pointer holds the JSON of a small version, also
// after a rollback. A limiter reads nothing else.
func TestOneReadAtTheStart(t *testing.T) {
	client, name := newTable(t)
	api, publisher := &counting{API: client}, ruletable.New(client, name)
	start := func(want int64, reads int) {
		t.Helper()
		before := api.count("GetItem")
		source, reports := newSource(api, name, nil)
		capacity(t, source, epoch, want)
		capacity(t, source, epoch.Add(10*time.Second), want)
		if n := api.count("GetItem") - before; n != reads {
			t.Errorf("%d reads at a start and after ten seconds, want %d", n, reads)
		}
		if errs := reports.take(); errs != nil {
			t.Errorf("reported %v", errs)
		}
	}
	publish(t, publisher, version(1))
	start(1, 2)
	publish(t, publisher, large())
	start(7, 3)
	must(t, publisher.Rollback(t.Context(), 2, 1, note(0, "")))
	start(1, 2)
	must(t, publisher.Rollback(t.Context(), 1, 2, note(0, "")))
	start(7, 3)
}

// TestPointerTakesOneUnit: reading the pointer costs one read unit of 4 KB,
// however large the rules are.
func TestPointerTakesOneUnit(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	for rules := 1; rules < 1000; rules += 150 {
		v := large()
		v.Document.Rules = v.Document.Rules[:rules]
		publish(t, table, v)
		found, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
		}})
		must(t, err)
		json, ok := found.Item["json"].(*types.AttributeValueMemberB)
		if size := 200; ok && size+len(json.Value) > 4096 || !ok && rules == 1 {
			t.Errorf("%d rules: the pointer holds JSON: %v", rules, ok)
		}
	}
}

// TestUnreadablePointer: the pointer holds a field of a newer Slidegate, or
// damaged data. A limiter keeps the rules that it has, and says of which version
// it cannot read the rules.
func TestUnreadablePointer(t *testing.T) {
	client, name := newTable(t)
	publish(t, ruletable.New(client, name), version(1))
	source, reports := newSource(client, name, nil)
	capacity(t, source, epoch, 1)
	for i, json := range []types.AttributeValue{
		zipped(`{"rules": [], "of a newer Slidegate": 1}`), &types.AttributeValueMemberB{Value: []byte("damaged")},
	} {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
			"version": &types.AttributeValueMemberN{Value: "2"}, "json": json,
		}})
		must(t, err)
		var errs []error
		for now := epoch.Add(time.Duration(i+1) * 10 * time.Second); errs == nil; errs = reports.take() {
			capacity(t, source, now, 1) // a slow reload goes on beside the request
		}
		if err := errs[0]; !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "keeping version 1") {
			t.Errorf("reported %v", err)
		}
	}
}

// TestProblems: the error of a document has a line for each problem.
func TestProblems(t *testing.T) {
	_, err := ruletable.Compile("f", &ruledoc.Document{Rules: []ruledoc.Rule{{Name: "a", Key: "all"}, {Name: "b", Key: "all"}}})
	const want = "f: rules[0].limits: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]\n" +
		"f: rules[1].limits: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want\n%s", err, want)
	}
}

func TestRollback(t *testing.T) {
	table, ctx := opened(t), context.Background()
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
	table := opened(t)
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
