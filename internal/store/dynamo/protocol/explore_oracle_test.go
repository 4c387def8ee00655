package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// oracle calls the real code once for each question, and caches the answers:
// what a caller with a snapshot decides, and how a write changes an item. Small
// numbers stand for items, snapshots and writes; 0 is none.
type oracle struct {
	t *testing.T
	scope
	table *dynamomodel.Table

	items     interned[string, stored]
	snapshots interned[string, *Snapshot]
	writes    interned[string, sent]

	decided map[question]uint32
	applied map[attempt]uint32
	*corrections
	*admissions
	fadedItems, fadedSnapshots map[faded]uint32
}

// stored is a state of the item.
type stored struct {
	attributes item
	snapshot   uint32
	broken     string // why it cannot be read
}

// question is a decision that a caller has to make.
type question struct {
	snapshot              uint32
	clock, capacity, cost int8
	first                 bool // it is the first attempt
	confirmed             bool // the clock is confirmed
	force                 bool // plan a write even if the snapshot denies
}

// attempt applies a write to an item. generation is the number of the
// generation that the write creates if there is no item.
type attempt struct {
	item, write uint32
	generation  int8
}

// denied and failed answer a question without a write. refused answers an
// attempt whose condition failed.
const (
	denied  = 0
	failed  = 1
	refused = ^uint32(0)
)

func newOracle(t *testing.T, s scope) *oracle {
	o := &oracle{t: t, scope: s, table: dynamomodel.New("counters", AttributeKey)}
	o.decided, o.applied = map[question]uint32{}, map[attempt]uint32{}
	o.items, o.snapshots, o.writes = newInterned[string, stored](1), newInterned[string, *Snapshot](1), newInterned[string, sent](2)
	o.corrections, o.admissions = newCorrections(), newAdmissions()
	o.fadedItems, o.fadedSnapshots = map[faded]uint32{}, map[faded]uint32{}
	return o
}

// interned gives values numbers, by a key.
type interned[K comparable, V any] struct {
	numbers map[K]uint32
	all     []V
}

// newInterned reserves the first numbers for zero values.
func newInterned[K comparable, V any](reserved int) interned[K, V] {
	return interned[K, V]{map[K]uint32{}, make([]V, reserved)}
}

func (in *interned[K, V]) number(key K, value func() V) uint32 {
	n, ok := in.numbers[key]
	if !ok {
		n = uint32(len(in.all))
		in.numbers[key] = n
		in.all = append(in.all, value())
	}
	return n
}

// memo returns a question's answer, and computes it once.
func memo[K comparable, V any](answers map[K]V, question K, compute func(K) V) V {
	answer, ok := answers[question]
	if !ok {
		answer = compute(question)
		answers[question] = answer
	}
	return answer
}

// decide returns denied, failed, or the charge that a caller sends.
func (o *oracle) decide(q question) uint32 { return memo(o.decided, q, o.plan) }

func (o *oracle) plan(q question) uint32 {
	c, now, s := o.charge(q.capacity, q.cost), moment(q.clock), o.snapshots.all[q.snapshot]
	if q.confirmed && s.FarAhead(c, now) {
		return failed
	}
	var verdict limit.Verdict
	s.Decide(c, now, &verdict)
	if !verdict.Allowed && !q.force {
		return denied
	}
	planned := PlanCharge(s, c, now, now, q.first)
	o.mutant.misplan(planned, s, c, now)
	return o.sent(sent{
		kind: charging, of: c, now: now, snapshot: s, planned: planned, marks: marksOf(planned, s, c, now),
		update: planned.Update,
	})
}

// apply returns the item after a write, or refused.
func (o *oracle) apply(i, w uint32, generation int8) uint32 {
	a := attempt{item: i, write: w}
	if i == 0 {
		a.generation = generation
	}
	return memo(o.applied, a, o.interpret)
}

// interpret has the model of DynamoDB execute a write.
func (o *oracle) interpret(a attempt) uint32 {
	o.table.Delete("key")
	if a.item != 0 {
		if err := o.table.Put("key", o.items.all[a.item].attributes); err != nil {
			o.t.Fatal(err)
		}
	}
	w := &o.writes.all[a.write]
	written, err := o.send(w, generationName(a.generation))
	switch {
	case canceled(err, "ValidationError"), o.mutant != nil && err != nil && strings.Contains(err.Error(), "attribute that does not exist"):
		return refused // the caller gets an error, and the item is as it was
	case err != nil:
		o.t.Fatalf("write %s on %s: %v", o.describeWrite(a.write), o.describeItem(a.item), err)
	case !written:
		return refused
	}
	return o.item(o.table.Item("key"))
}

// send has the model execute a write, changed by the mutant if there is one.
func (o *oracle) send(w *sent, newGeneration string) (written bool, err error) {
	u := w.update(newGeneration).Request("counters", "key")
	o.mutant.change(w, u)
	if w.kind == transacting {
		_, err = o.table.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{Update: u}},
		})
	} else {
		_, err = o.table.UpdateItem(context.Background(), dynamomodel.Alone(u))
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) || canceled(err, "ConditionalCheckFailed") {
		return false, nil
	}
	return err == nil, err
}

// canceled reports whether a transaction of one write was canceled for this
// reason.
func canceled(err error, reason string) bool {
	var failed *types.TransactionCanceledException
	return errors.As(err, &failed) && *failed.CancellationReasons[0].Code == reason
}

func generationName(generation int8) string { return fmt.Sprintf("generation %d", generation) }

// item returns the number of a state of the item.
func (o *oracle) item(attributes item) uint32 {
	if attributes == nil {
		return 0
	}
	if !o.ttl {
		delete(attributes, AttributeTTL)
	}
	return o.items.number(textOf(attributes), func() stored {
		s, err := Read(attributes, o.limits[0], time.Time{})
		if err != nil {
			return stored{attributes: attributes, broken: "I0: " + err.Error()}
		}
		return stored{attributes: attributes, snapshot: o.snapshot(s)}
	})
}

// snapshot returns the number of a snapshot, whatever its ReadAt.
func (o *oracle) snapshot(s *Snapshot) uint32 {
	return o.snapshots.number(s.text(), func() *Snapshot { return s })
}

func (s *Snapshot) text() string {
	text := fmt.Sprint(s.Generation, " ", s.totals)
	for i := range s.states {
		full, _ := s.states[i].Full()
		text += fmt.Sprint(" ", full, slices.Collect(s.states[i].All()))
	}
	if s.holds != nil {
		text += fmt.Sprint(" ", s.ttl, s.holds.Changes(), s.holds.All())
	}
	return text
}

// snapshotOf returns the snapshot of an item.
func (o *oracle) snapshotOf(i uint32) uint32 { return o.items.all[i].snapshot }

// generationOf returns the generation of an item, empty if there is none.
func (o *oracle) generationOf(i uint32) string {
	if s := o.snapshots.all[o.snapshotOf(i)]; s != nil {
		return s.Generation
	}
	return ""
}

// expired reports whether DynamoDB may delete an item by its ttl.
func (o *oracle) expired(i uint32, clock int8) bool {
	ttl, err := readNumber(AttributeTTL, o.items.all[i].attributes[AttributeTTL])
	return err == nil && ttl <= moment(clock).Unix()
}

func textOf(attributes item) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch value := attributes[name].(type) {
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, "%s=%s ", name, value.Value)
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, "%s=%q ", name, value.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&text, "%s=%x ", name, value.Value)
		}
	}
	return text.String()
}
