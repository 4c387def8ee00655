package dynamomodel

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// arena holds the results of parsing, in memory that the next request reuses.
type arena struct {
	used       map[string]bool // placeholders that an expression of the request refers to
	targets    map[string]bool // attributes that the update changes
	conditions []condition
	changes    []change
	operands   []operand
}

func newArena() arena { return arena{used: map[string]bool{}, targets: map[string]bool{}} }

// reset forgets what was parsed.
func (a *arena) reset() {
	a.conditions, a.changes, a.operands = a.conditions[:0], a.changes[:0], a.operands[:0]
}

// keep returns a pointer to a copy that lasts until the next reset. A slice
// that grows leaves earlier copies where they are.
func keep[E any](in *[]E, e E) *E {
	*in = append(*in, e)
	return &(*in)[len(*in)-1]
}

// parser reads one expression by recursive descent. It stops at the first
// error: from then on every token is the end.
type parser struct {
	*arena
	names     map[string]string
	values    map[string]types.AttributeValue
	what      string // ConditionExpression or UpdateExpression
	text      string
	token     token // the next one
	previous  int   // where the one before begins
	operators int
	err       error
}

// start makes the parser ready for an expression.
func (x *parser) start(what, text string) {
	x.what, x.text, x.token, x.previous, x.operators = what, text, scan(text, 0), 0, 0
	switch {
	case len(text) > maxExpression:
		x.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	case x.token.kind == end:
		x.fail("The expression can not be empty;")
	}
}

// fail notes the first error.
func (x *parser) fail(format string, a ...any) {
	if x.err == nil {
		x.err = invalid("Invalid "+x.what+": "+format, a...)
	}
	x.token = scan(x.text, len(x.text))
}

// unexpected fails at the next token, and quotes it with its neighbours.
func (x *parser) unexpected() {
	following := scan(x.text, x.token.after)
	x.fail("Syntax error; token: %q, near: %q", x.peek(), x.text[x.previous:following.after])
}

// peek is the text of the next token.
func (x *parser) peek() string {
	if x.token.kind == end {
		return "<EOF>"
	}
	return x.text[x.token.at:x.token.after]
}

// next moves past a token and returns its text.
func (x *parser) next() string {
	text := x.peek()
	if x.token.kind != end {
		x.previous, x.token = x.token.at, scan(x.text, x.token.after)
	}
	return text
}

// accept moves past a symbol if it comes next.
func (x *parser) accept(symbol tokenKind) bool {
	if x.token.kind != symbol {
		return false
	}
	x.next()
	return true
}

// acceptWord moves past a keyword, in upper or lower case, if it comes next.
func (x *parser) acceptWord(keyword string) bool {
	if !x.isWord(keyword) {
		return false
	}
	x.next()
	return true
}

func (x *parser) isWord(keyword string) bool {
	return x.token.kind == word && strings.EqualFold(x.peek(), keyword)
}

// expect moves past a symbol, which must come next.
func (x *parser) expect(symbol tokenKind) {
	if !x.accept(symbol) {
		x.unexpected()
	}
}

// counted counts an operator or function.
func (x *parser) counted() {
	if x.operators++; x.operators > maxOperators {
		x.fail("The expression contains too many operators; operator count: %d", x.operators)
	}
}

// name reads an attribute's name. A bare one is refused: it may be any of
// DynamoDB's 573 reserved words, and a path into a document is more than a
// counter needs.
func (x *parser) name() string {
	switch x.token.kind {
	case nameRef:
	case word:
		x.fail("dynamomodel: the bare word %q is no attribute here: write a # placeholder", x.peek())
		return ""
	default:
		x.unexpected()
		return ""
	}
	ref := x.next()
	name, ok := x.names[ref]
	switch {
	case !ok:
		x.fail("An expression attribute name used in the document path is not defined; attribute name: %s", ref)
	case name == "":
		x.fail("Empty attribute name; attribute name: %s", ref)
	}
	x.used[ref] = true
	return name
}

// operand is a value, an attribute, or an attribute with another operand to
// take where the item lacks it.
type operand struct {
	name      string // empty for a value
	value     types.AttributeValue
	otherwise *operand
}

// in returns the operand's value in an item; nil if the item lacks it.
func (o *operand) in(item attributes) types.AttributeValue {
	if o.name == "" {
		return o.value
	}
	if v := item[o.name]; v != nil || o.otherwise == nil {
		return v
	}
	return o.otherwise.in(item)
}

// operand reads a value or an attribute.
func (x *parser) operand() operand {
	if x.token.kind != valueRef {
		return operand{name: x.name()}
	}
	ref := x.next()
	given, ok := x.values[ref]
	if !ok {
		x.fail("An expression attribute value used in expression is not defined; attribute value: %s", ref)
		return operand{}
	}
	x.used[ref] = true
	value, err := checked(given)
	if err != nil && x.err == nil {
		x.err = err
	}
	return operand{value: value}
}

// checkAllUsed refuses placeholders that no expression refers to.
func (x *parser) checkAllUsed() error {
	if x.err != nil || len(x.used) == len(x.names)+len(x.values) {
		return x.err
	}
	if unused := unusedOf(x.values, x.used); unused != "" {
		return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", unused)
	}
	return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", unusedOf(x.names, x.used))
}

func unusedOf[V any](given map[string]V, used map[string]bool) string {
	var unused []string
	for name := range given {
		if !used[name] {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	return strings.Join(unused, ", ")
}
