package dynamomodel

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// request is what the requests for a write have in common.
type request struct {
	table             *string
	key               attributes
	condition, update *string
	names             map[string]string
	values            attributes
	onFailure         types.ReturnValuesOnConditionCheckFailure
}

// write is a write to one item, checked as far as it can be without the item.
type write struct {
	key       string
	condition *condition // nil for none
	showItem  bool       // to a caller whose condition fails
	effect    effect
	changes   []change // of an update
	size      int      // of the item after an update, once it is computed
	item      *item    // of a put
}

// effect is what a write does if its condition holds.
type effect uint8

const (
	checks effect = iota // and does nothing
	updates
	puts
	erases
)

// parse checks a request for a write. What it returns lasts until the arena is
// reset.
func (t *Table) parse(r *request, does effect) (*write, error) {
	w := &write{effect: does}
	var err error
	if err = t.checkTable(r.table); err != nil {
		return nil, err
	}
	if w.showItem, err = showsItem(r.onFailure); err != nil {
		return nil, err
	}
	if w.key, err = t.keyOf(r.key); err != nil {
		return nil, err
	}
	return w, t.parseExpressions(r, w)
}

func (t *Table) parseExpressions(r *request, w *write) error {
	switch {
	case r.names != nil && len(r.names) == 0:
		return invalid("ExpressionAttributeNames must not be empty")
	case r.values != nil && len(r.values) == 0:
		return invalid("ExpressionAttributeValues must not be empty")
	case r.condition == nil && r.update == nil && r.values != nil:
		return invalid("ExpressionAttributeValues can only be specified when using expressions")
	case r.condition == nil && r.update == nil && r.names != nil:
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	clear(t.arena.used)
	x := parser{arena: &t.arena, names: r.names, values: r.values}
	if r.update != nil {
		w.changes = x.update(*r.update, t.partitionKey)
	}
	if r.condition != nil && x.err == nil {
		w.condition = x.condition(*r.condition)
	}
	return x.checkAllUsed()
}

func (t *Table) checkTable(name *string) error {
	switch {
	case aws.ToString(name) == "":
		return invalid("Value null at 'tableName' failed to satisfy constraint: Member must not be null")
	case *name != t.name:
		return noTable()
	}
	return nil
}

func (t *Table) keyOf(key attributes) (string, error) {
	s, ok := key[t.partitionKey].(*types.AttributeValueMemberS)
	if !ok || len(key) != 1 {
		return "", invalid("The provided key element does not match the schema")
	}
	return s.Value, t.checkKey(s.Value)
}

func showsItem(r types.ReturnValuesOnConditionCheckFailure) (bool, error) {
	switch r {
	case types.ReturnValuesOnConditionCheckFailureAllOld:
		return true, nil
	case "", types.ReturnValuesOnConditionCheckFailureNone:
		return false, nil
	}
	return false, invalid("Value '%s' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint: "+
		"Member must satisfy enum value set: [ALL_OLD, NONE]", r)
}

// allowed reports whether the item meets the write's condition.
func (w *write) allowed(stored attributes) bool {
	return w.condition == nil || w.condition.holds(stored)
}

// shown is what a caller may see of an item that fails the condition.
func (w *write) shown(stored attributes) attributes {
	if !w.showItem {
		return nil
	}
	return copyItem(stored)
}

// compute returns the item after an update, without changing the item itself.
func (t *Table) compute(w *write) error {
	before := t.attributes(w.key)
	w.size = len(t.partitionKey) + len(w.key)
	if stored := t.items[w.key]; stored != nil {
		w.size = stored.size
	}
	for i := range w.changes {
		c := &w.changes[i]
		if err := c.compute(before); err != nil {
			return err
		}
		w.size += sizeOf(c.name, c.result) - sizeOf(c.name, before[c.name])
	}
	if w.size > maxItem {
		return invalid("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}

// sizeOf is that of an attribute, 0 for one that is missing.
func sizeOf(name string, v types.AttributeValue) int {
	if v == nil {
		return 0
	}
	return len(name) + size(v)
}

// commit makes a write that is allowed and computed.
func (t *Table) commit(w *write) {
	switch w.effect {
	case puts:
		t.items[w.key] = w.item
	case erases:
		delete(t.items, w.key)
	case updates:
		t.commitUpdate(w)
	}
}

// commitUpdate makes the item if need be. An update that only removes
// attributes makes none.
func (t *Table) commitUpdate(w *write) {
	stored := t.items[w.key]
	if stored == nil {
		if w.onlyRemoves() {
			return
		}
		stored = &item{attributes: attributes{t.partitionKey: &types.AttributeValueMemberS{Value: w.key}}}
		t.items[w.key] = stored
	}
	stored.size = w.size
	for i := range w.changes {
		if c := &w.changes[i]; c.remove {
			delete(stored.attributes, c.name)
		} else {
			stored.attributes[c.name] = c.result
		}
	}
}

func (w *write) onlyRemoves() bool {
	for i := range w.changes {
		if !w.changes[i].remove {
			return false
		}
	}
	return len(w.changes) > 0
}
