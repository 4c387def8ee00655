package dynamomodel

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
