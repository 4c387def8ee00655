package dynamomodel

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
