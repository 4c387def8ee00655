package dynamomodel

import (
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
	result      types.AttributeValue // what the attribute becomes, once it is computed; nil if it is removed
}

var (
	errNoAttribute = invalid("The provided expression refers to an attribute that does not exist in the item")
	errWrongType   = invalid("An operand in the update expression has an incorrect data type")
)

// compute returns the result from the item before the update.
func (c *change) compute(item attributes) (err error) {
	c.result = nil
	if c.remove {
		return nil
	}
	left, right := c.left.in(item), c.right.in(item)
	if left == nil || c.operator != "" && right == nil {
		return errNoAttribute
	}
	if c.operator == "" {
		c.result = copyValue(left)
		return nil
	}
	m, leftOK := left.(*types.AttributeValueMemberN)
	n, rightOK := right.(*types.AttributeValueMemberN)
	if !leftOK || !rightOK {
		return errWrongType
	}
	sum, err := add(m.Value, n.Value, c.operator == "-")
	c.result = &types.AttributeValueMemberN{Value: sum}
	return err
}

// update reads a whole update expression. The order of the changes does not
// matter: each is computed from the item before the update, and no two are to
// one attribute.
func (x *parser) update(text, partitionKey string) []change {
	x.start("UpdateExpression", text)
	clear(x.targets)
	first, seen := len(x.changes), ""
	for x.token.kind != end {
		section := strings.ToUpper(x.peek())
		if !x.section(section) {
			break
		}
		if strings.Contains(seen, section) {
			x.fail("The %q section can only be used once in an update expression;", section)
		}
		seen += section
		for more := true; more; more = x.accept(',') {
			keep(&x.changes, x.change(section == "REMOVE", partitionKey))
		}
	}
	return x.changes[first:]
}

// section moves past the keyword that begins a section.
func (x *parser) section(name string) bool {
	switch {
	case x.token.kind != word:
		x.unexpected()
	case name == "SET", name == "REMOVE":
		x.next()
		return true
	case name == "ADD", name == "DELETE":
		x.fail("dynamomodel: the section %s is not modelled", name)
	default:
		x.unexpected()
	}
	return false
}

func (x *parser) change(remove bool, partitionKey string) change {
	c := change{name: x.target(partitionKey), remove: remove}
	if remove {
		return c
	}
	x.expect('=')
	c.left = x.operandOfUpdate()
	if x.token.kind == '+' || x.token.kind == '-' {
		c.operator = x.next()
		x.counted()
		c.right = x.operandOfUpdate()
		x.requireNumber(c.operator, c.left)
		x.requireNumber(c.operator, c.right)
	}
	return c
}

// target reads the name of an attribute to change.
func (x *parser) target(partitionKey string) string {
	name := x.name()
	switch {
	case x.err != nil:
	case x.targets[name]:
		x.fail("Two document paths overlap with each other; must remove or rewrite one of these paths; "+
			"path one: [%s], path two: [%[1]s]", name)
	case name == partitionKey:
		x.err = invalid("One or more parameter values were invalid: Cannot update attribute %s. "+
			"This attribute is part of the key", partitionKey)
	}
	x.targets[name] = true
	return name
}

// operandOfUpdate reads a value, an attribute, or if_not_exists.
func (x *parser) operandOfUpdate() operand {
	if x.token.kind != word {
		return x.operand()
	}
	if x.peek() != "if_not_exists" {
		x.unknown()
		return operand{}
	}
	x.next()
	x.counted()
	x.expect('(')
	if x.token.kind == valueRef {
		x.fail("Operator or function requires a document path; operator or function: if_not_exists")
	}
	name := x.name()
	x.expect(',')
	otherwise := x.operandOfUpdate()
	x.expect(')')
	return operand{name: name, otherwise: keep(&x.operands, otherwise)}
}

// requireNumber refuses to add a value of the request that is no number.
func (x *parser) requireNumber(operator string, o operand) {
	if _, ok := o.value.(*types.AttributeValueMemberN); !ok && o.value != nil {
		x.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeName(o.value))
	}
}
