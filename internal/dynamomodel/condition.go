package dynamomodel

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// condition is a parsed condition expression. Its operator is AND or OR (of
// left and right), NOT (of left), a function (of the attribute a) or a
// comparator (of a and b).
type condition struct {
	operator    string
	left, right *condition
	a, b        operand
}

// holds reports whether an item meets the condition; one that does not exist
// has no attributes.
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

// compares compares two values. A missing one is unequal to everything, to
// another missing one too, and neither less nor more.
func compares(a types.AttributeValue, operator string, b types.AttributeValue) bool {
	switch operator {
	case "=":
		return equal(a, b)
	case "<>":
		return !equal(a, b)
	}
	order, ok := compare(a, b)
	if !ok {
		return false
	}
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// condition reads a whole condition expression.
func (x *parser) condition(text string) *condition {
	x.start("ConditionExpression", text)
	c, _ := x.disjunction()
	if x.token.kind != end {
		x.unexpected()
	}
	return c
}

func (x *parser) keepCondition(c condition) *condition { return keep(&x.conditions, c) }

// disjunction reads conditions joined by OR, which binds least. grouped says
// that it was a single pair of parentheses.
func (x *parser) disjunction() (c *condition, grouped bool) {
	c, grouped = x.conjunction()
	for x.acceptWord("OR") {
		x.counted()
		right, _ := x.conjunction()
		c, grouped = x.keepCondition(condition{operator: "OR", left: c, right: right}), false
	}
	return c, grouped
}

func (x *parser) conjunction() (c *condition, grouped bool) {
	c, grouped = x.negation()
	for x.acceptWord("AND") {
		x.counted()
		right, _ := x.negation()
		c, grouped = x.keepCondition(condition{operator: "AND", left: c, right: right}), false
	}
	return c, grouped
}

func (x *parser) negation() (c *condition, grouped bool) {
	if x.acceptWord("NOT") {
		x.counted()
		inner, _ := x.negation()
		return x.keepCondition(condition{operator: "NOT", left: inner}), false
	}
	if x.token.kind == '(' {
		return x.group(), true
	}
	if x.token.kind == word {
		return x.existence(), false
	}
	return x.comparison(), false
}

// group reads a condition in parentheses. DynamoDB takes needless parentheses,
// but no two pairs around the same condition.
func (x *parser) group() *condition {
	x.expect('(')
	c, grouped := x.disjunction()
	x.expect(')')
	if grouped {
		x.fail("The expression has redundant parentheses;")
	}
	return c
}

func (x *parser) existence() *condition {
	function := x.peek()
	if function != "attribute_exists" && function != "attribute_not_exists" {
		x.unknown()
		return nil
	}
	x.next()
	x.counted()
	x.expect('(')
	if x.token.kind == valueRef {
		x.fail("Operator or function requires a document path; operator or function: %s", function)
	}
	name := x.name()
	x.expect(')')
	return x.keepCondition(condition{operator: function, a: operand{name: name}})
}

// unknown fails at a word that is no function of this model.
func (x *parser) unknown() {
	function := x.peek()
	switch {
	case scan(x.text, x.token.after).kind != '(':
		x.name()
	case modelled(function):
		x.fail("The function is not allowed to be used this way in an expression; function: %s", function)
	case known(function):
		x.fail("dynamomodel: the function %s is not modelled", function)
	default:
		x.fail("Invalid function name; function: %s", function)
	}
}

func modelled(function string) bool {
	return function == "attribute_exists" || function == "attribute_not_exists" || function == "if_not_exists"
}

// known reports whether DynamoDB has the function.
func known(function string) bool {
	switch function {
	case "attribute_type", "begins_with", "contains", "size", "list_append":
		return true
	}
	return modelled(function)
}

func (x *parser) comparison() *condition {
	c := condition{a: x.operandOfCondition()}
	switch x.token.kind {
	case '=', '<', '>', unequal, atMost, atLeast:
		c.operator = x.next()
	default:
		x.noComparator()
	}
	x.counted()
	c.b = x.operandOfCondition()
	if c.a.name != "" && c.a.name == c.b.name {
		x.fail("The first operand must be distinct from the remaining operands for this operator or function; "+
			"operator: %s, first operand: [%s]", c.operator, c.a.name)
	}
	if c.operator != "=" && c.operator != "<>" {
		x.requireOrder(c.operator, c.a.value)
		x.requireOrder(c.operator, c.b.value)
	}
	return x.keepCondition(c)
}

// noComparator fails where a comparator should be.
func (x *parser) noComparator() {
	if x.isWord("BETWEEN") || x.isWord("IN") {
		x.fail("dynamomodel: the operator %s is not modelled", x.peek())
		return
	}
	x.unexpected()
}

func (x *parser) operandOfCondition() operand {
	if x.token.kind == word {
		x.unknown()
	}
	return x.operand()
}

// requireOrder refuses a value of the request that has no order. Those of the
// item only make the comparison false.
func (x *parser) requireOrder(operator string, v types.AttributeValue) {
	switch v.(type) {
	case nil, *types.AttributeValueMemberN, *types.AttributeValueMemberS, *types.AttributeValueMemberB:
		return
	}
	x.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeName(v))
}
