package dynamomodel

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is an update of one item.
type write struct {
	key       string
	condition *condition // nil for none
	showItem  bool       // in the error if the condition fails
	changes   []change
	before    attributes // the item before the write; nil for none
	after     attributes // and after it
}

// parse checks everything about a request that does not depend on the item.
func (t *Table) parse(r *types.Update) (w *write, err error) {
	w = &write{showItem: r.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld}
	if mode := r.ReturnValuesOnConditionCheckFailure; !slices.Contains(append(mode.Values(), ""), mode) {
		return nil, invalid("Value '%s' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint", mode)
	}
	if w.key, err = t.keyOf(r.TableName, r.Key); err != nil {
		return nil, err
	}
	names, values := r.ExpressionAttributeNames, r.ExpressionAttributeValues
	none := r.ConditionExpression == nil && r.UpdateExpression == nil
	switch {
	case names != nil && len(names) == 0:
		return nil, invalid("ExpressionAttributeNames must not be empty")
	case values != nil && len(values) == 0:
		return nil, invalid("ExpressionAttributeValues must not be empty")
	case none && values != nil:
		return nil, invalid("ExpressionAttributeValues can only be specified when using expressions")
	case none && names != nil:
		return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	x := parser{names: names, values: values, used: make(map[string]bool, len(names)+len(values))}
	if r.UpdateExpression != nil {
		w.changes = x.update(*r.UpdateExpression, t.partitionKey)
	}
	if r.ConditionExpression != nil && x.err == nil {
		w.condition = x.condition(*r.ConditionExpression)
	}
	return w, x.checkAllUsed()
}

func (t *Table) keyOf(table *string, key attributes) (string, error) {
	switch aws.ToString(table) {
	case t.name:
	case "":
		return "", invalid("Value null at 'tableName' failed to satisfy constraint: Member must not be null")
	default:
		return "", &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
	}
	s, ok := key[t.partitionKey].(*types.AttributeValueMemberS)
	if !ok || len(key) != 1 {
		return "", invalid("The provided key element does not match the schema")
	}
	return s.Value, t.checkKey(s.Value)
}

// evaluate computes the item after a write, or returns why the write cannot be
// made. It changes nothing in the table.
func (t *Table) evaluate(w *write) (err error) {
	w.before = t.items[w.key]
	if w.condition != nil && !w.condition.holds(w.before) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if w.showItem {
			failed.Item = maps.Clone(w.before)
		}
		return failed
	}
	w.after, err = t.updated(w.key, w.changes, w.before)
	return err
}

// commit makes a write that evaluate has computed.
func (t *Table) commit(w *write) {
	if w.after == nil {
		delete(t.items, w.key)
		return
	}
	t.items[w.key] = w.after
}

// change is one action of an update expression: it sets an attribute to left,
// left + right or left - right, or removes it.
type change struct {
	name        string
	remove      bool
	operator    string // +, - or none
	left, right operand
}

var (
	errNoAttribute = invalid("The provided expression refers to an attribute that does not exist in the item")
	errWrongType   = invalid("An operand in the update expression has an incorrect data type")
)

// updated returns an item after an update. Each change is computed from the
// item before the update, so their order does not matter. An update that only
// removes attributes makes no item.
func (t *Table) updated(key string, changes []change, before attributes) (attributes, error) {
	after := maps.Clone(before)
	if before == nil {
		if len(changes) > 0 && !slices.ContainsFunc(changes, func(c change) bool { return !c.remove }) {
			return nil, nil
		}
		after = attributes{t.partitionKey: &types.AttributeValueMemberS{Value: key}}
	}
	for i := range changes {
		c := &changes[i]
		if c.remove {
			delete(after, c.name)
			continue
		}
		var err error
		if after[c.name], err = c.result(before); err != nil {
			return nil, err
		}
	}
	if Size(after) > maxItem {
		return nil, invalid("Item size to update has exceeded the maximum allowed size")
	}
	return after, nil
}

// result returns what a change sets its attribute to.
func (c *change) result(before attributes) (types.AttributeValue, error) {
	left, right := c.left.in(before), c.right.in(before)
	switch {
	case left == nil || c.operator != "" && right == nil:
		return nil, errNoAttribute
	case c.operator == "":
		return left, nil
	}
	m, leftOK := left.(*types.AttributeValueMemberN)
	n, rightOK := right.(*types.AttributeValueMemberN)
	if !leftOK || !rightOK {
		return nil, errWrongType
	}
	sum, err := add(m.Value, n.Value, c.operator == "-")
	return &types.AttributeValueMemberN{Value: sum}, err
}

// update reads a whole update expression.
func (x *parser) update(text, partitionKey string) (changes []change) {
	x.start("UpdateExpression", text)
	changes = make([]change, 0, len(x.names))
	sections := ""
	for x.token.kind != end {
		section := strings.ToUpper(x.peek())
		if section != "SET" && section != "REMOVE" {
			x.unexpected()
		}
		x.next()
		if strings.Contains(sections, section) {
			x.fail("The %q section can only be used once in an update expression;", section)
		}
		sections += section
		for more := true; more; more = x.accept(',') {
			c := x.change(section == "REMOVE", partitionKey)
			if slices.ContainsFunc(changes, func(other change) bool { return other.name == c.name }) {
				x.fail("Two document paths overlap with each other; must remove or rewrite one of these paths; "+
					"path one: [%s], path two: [%[1]s]", c.name)
			}
			changes = append(changes, c)
		}
	}
	return changes
}

func (x *parser) change(remove bool, partitionKey string) change {
	c := change{name: x.name(), remove: remove}
	if c.name == partitionKey && x.err == nil {
		x.err = invalid("One or more parameter values were invalid: Cannot update attribute %s. "+
			"This attribute is part of the key", partitionKey)
	}
	if remove {
		return c
	}
	x.expect('=')
	c.left = x.operandOfUpdate()
	if x.token.kind == '+' || x.token.kind == '-' {
		c.operator = x.next()
		x.counted()
		c.right = x.operandOfUpdate()
		x.requireNumber(c.operator, c.left.value)
		x.requireNumber(c.operator, c.right.value)
	}
	return c
}

// operandOfUpdate reads a value, an attribute, or if_not_exists.
func (x *parser) operandOfUpdate() operand {
	if x.token.kind != word {
		return x.operand()
	}
	_, name := x.function("if_not_exists")
	x.expect(',')
	otherwise := x.operandOfUpdate()
	x.expect(')')
	return operand{name: name, otherwise: &otherwise}
}

// condition is a parsed condition expression. Its operator is AND or OR (of
// left and right), NOT (of left), a function (of the attribute a) or a
// comparator (of a and b).
type condition struct {
	operator    string
	left, right *condition
	a, b        operand
	grouped     bool // in parentheses
}

// holds reports whether an item meets the condition. An item that does not
// exist has no attributes.
func (c *condition) holds(item attributes) bool {
	switch c.operator {
	case "AND":
		return c.left.holds(item) && c.right.holds(item)
	case "OR":
		return c.left.holds(item) || c.right.holds(item)
	case "NOT":
		return !c.left.holds(item)
	case "attribute_exists":
		return c.a.in(item) != nil
	case "attribute_not_exists":
		return c.a.in(item) == nil
	}
	return compares(c.a.in(item), c.operator, c.b.in(item))
}

// compares applies a comparator. A missing value is unequal to every value,
// even to another missing one, and neither less nor greater.
func compares(a types.AttributeValue, comparator string, b types.AttributeValue) bool {
	order, ordered := compare(a, b)
	switch comparator {
	case "=":
		return ordered && order == 0
	case "<>":
		return !ordered || order != 0
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	}
	return ordered && order >= 0
}

// condition reads a whole condition expression.
func (x *parser) condition(text string) *condition {
	x.start("ConditionExpression", text)
	c := x.disjunction()
	if x.token.kind != end {
		x.unexpected()
	}
	return c
}

// disjunction reads conditions joined by OR, which binds less than AND.
func (x *parser) disjunction() *condition { return x.joined("OR", x.conjunction) }

func (x *parser) conjunction() *condition { return x.joined("AND", x.negation) }

func (x *parser) joined(operator string, read func() *condition) *condition {
	c := read()
	for x.acceptWord(operator) {
		x.counted()
		c = &condition{operator: operator, left: c, right: read()}
	}
	return c
}

func (x *parser) negation() *condition {
	switch {
	case x.acceptWord("NOT"):
		x.counted()
		return &condition{operator: "NOT", left: x.negation()}
	case x.token.kind == '(':
		return x.group()
	case x.token.kind == word:
		function, name := x.function("attribute_exists", "attribute_not_exists")
		x.expect(')')
		return &condition{operator: function, a: operand{name: name}}
	}
	return x.comparison()
}

// group reads a condition in parentheses. DynamoDB accepts needless
// parentheses, but not two pairs around the same condition.
func (x *parser) group() *condition {
	x.expect('(')
	c := x.disjunction()
	x.expect(')')
	if c.grouped {
		x.fail("The expression has redundant parentheses;")
	}
	c.grouped = true
	return c
}

func (x *parser) comparison() *condition {
	c := &condition{a: x.operand()}
	if x.token.kind != '=' && x.token.kind != comparator {
		x.unexpected()
	}
	c.operator = x.next()
	x.counted()
	c.b = x.operand()
	if c.a.name != "" && c.a.name == c.b.name {
		x.fail("The first operand must be distinct from the remaining operands for this operator or function; "+
			"operator: %s, first operand: [%s]", c.operator, c.a.name)
	}
	return c
}
