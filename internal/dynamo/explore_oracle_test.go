package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamomodel"
	"github.com/slidegate/slidegate/internal/limit"
)

// oracle answers for the real code: what a caller with a view does, and what becomes of an item. Items, views and writes
// are known by small numbers; 0 is none.
type oracle struct {
	t *testing.T
	scope
	store     *Store
	table     *dynamomodel.Table
	confirmed bool      // what the store's clock is taken for
	wall      time.Time // what it shows
	life      string    // the next mark of a life

	items  interned[string, stored]
	views  interned[string, *view]
	writes interned[string, sent]

	decided map[question]uint32
	applied map[attempt]uint32
	*corrections
	*admissions
	fadedItems, fadedViews map[faded]uint32
}

// stored is a state of the item.
type stored struct {
	attributes item
	view       uint32
	broken     string // why it cannot be read
}

// question is what a caller is about to decide.
type question struct {
	view                  uint32
	clock, capacity, cost int8
	first                 bool // attempt
	confirmed             bool // clock
	force                 bool // write even if the view denies
}

// attempt is a write that meets an item. life numbers the life that begins if there is none.
type attempt struct {
	item, write uint32
	life        int8
}

// The answers to a question that are no writes, and to an attempt whose condition failed.
const (
	denied  = 0
	failed  = 1
	refused = ^uint32(0)
)

func newOracle(t *testing.T, s scope) *oracle {
	o := &oracle{t: t, scope: s, table: dynamomodel.New("counters", attrKey)}
	o.decided, o.applied = map[question]uint32{}, map[attempt]uint32{}
	o.store = New(&tampering{Table: o.table, mutant: s.mutant}, "counters", Options{
		Confirmed: func() bool { return o.confirmed }, Wall: func() time.Time { return o.wall },
		NewLife: func() string { return o.life },
	})
	o.items, o.views, o.writes = newInterned[string, stored](1), newInterned[string, *view](1), newInterned[string, sent](2)
	o.corrections, o.admissions = newCorrections(), newAdmissions()
	o.fadedItems, o.fadedViews = map[faded]uint32{}, map[faded]uint32{}
	return o
}

// interned numbers values by what tells them apart.
type interned[K comparable, V any] struct {
	numbers map[K]uint32
	all     []V
}

// newInterned keeps the first numbers for zero values.
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

// decide returns denied, failed, or the charge that a caller sends.
func (o *oracle) decide(q question) uint32 {
	w, ok := o.decided[q]
	if !ok {
		w = o.plan(q)
		o.decided[q] = w
	}
	return w
}

func (o *oracle) plan(q question) uint32 {
	c, now, v := o.charge(q.capacity, q.cost), moment(q.clock), o.views.all[q.view]
	o.confirmed = q.confirmed
	var verdict limit.Verdict
	if err := o.store.verdict(v, c, now, &verdict); errors.Is(err, ErrAhead) {
		return failed
	}
	if !verdict.Allowed && !q.force {
		return denied
	}
	planned := plan(v, c, now, now, q.first)
	o.mutant.misplan(planned, v, c, now)
	return o.sent(sent{
		kind: charging, of: c, now: now, view: v, planned: planned, marks: marksOf(planned, v, c, now),
		spell: func(life string) *expression { return chargeExpression(planned, life) },
	})
}

// apply returns the item after a write, or refused.
func (o *oracle) apply(i, w uint32, life int8) uint32 {
	a := attempt{item: i, write: w}
	if i == 0 {
		a.life = life
	}
	after, ok := o.applied[a]
	if !ok {
		after = o.interpret(a)
		o.applied[a] = after
	}
	return after
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
	o.mutant.aim(w)
	o.wall, o.life = w.now, lifeName(a.life)
	written, err := o.send(w)
	switch {
	case errors.Is(err, ErrForeign), o.mutant != nil && err != nil && strings.Contains(err.Error(), "attribute that does not exist"):
		return refused // the caller gets an error, and the item is as it was
	case err != nil:
		o.t.Fatalf("write %s on %s: %v", o.tellWrite(a.write), o.tellItem(a.item), err)
	case !written:
		return refused
	}
	return o.item(o.table.Item("key"))
}

func (o *oracle) send(w *sent) (written bool, err error) {
	if w.kind == transacting {
		return o.store.transact(context.Background(), w.now, []*member{{charge: w.of, verdict: &limit.Verdict{}, view: w.view}})
	}
	_, err = o.store.api.UpdateItem(context.Background(), w.spell(o.life).input("counters", "key"))
	if _, unproven := conditionFailed(err); unproven {
		return false, nil
	}
	return err == nil, err
}

func lifeName(life int8) string { return fmt.Sprintf("life %d", life) }

// item numbers a state of the item and the view that it gives.
func (o *oracle) item(attributes item) uint32 {
	if attributes == nil {
		return 0
	}
	if !o.ttl {
		delete(attributes, attrTTL)
	}
	return o.items.number(textOf(attributes), func() stored {
		v, err := readView(attributes, o.limits[0], time.Time{})
		if err != nil {
			return stored{attributes: attributes, broken: "I0: " + err.Error()}
		}
		return stored{attributes: attributes, view: o.view(v)}
	})
}

// view numbers a view, whenever it was seen.
func (o *oracle) view(v *view) uint32 {
	return o.views.number(v.text(), func() *view { return v })
}

func (v *view) text() string { return fmt.Sprint(v.life, v.totals, v.states) }

// viewOf returns the view that an item gives.
func (o *oracle) viewOf(i uint32) uint32 { return o.items.all[i].view }

// lifeOf returns the life of an item, empty if there is none.
func (o *oracle) lifeOf(i uint32) string {
	if v := o.views.all[o.viewOf(i)]; v != nil {
		return v.life
	}
	return ""
}

// expired reports whether DynamoDB may delete an item by its ttl.
func (o *oracle) expired(i uint32, clock int8) bool {
	ttl, err := readNumber(attrTTL, o.items.all[i].attributes[attrTTL])
	return err == nil && ttl <= moment(clock).Unix()
}

func textOf(attributes item) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch v := attributes[name].(type) {
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, "%s=%s ", name, v.Value)
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, "%s=%q ", name, v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&text, "%s=%x ", name, v.Value)
		}
	}
	return text.String()
}
