package dynamomodel

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// parser reads the expressions of one request by recursive descent. It stops at
// the first error: from then on every token is the end.
type parser struct {
	names     map[string]string
	values    attributes
	used      map[string]bool // placeholders that an expression refers to
	what      string          // ConditionExpression or UpdateExpression
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

// fail records the first error.
func (x *parser) fail(format string, a ...any) {
	if x.err == nil {
		x.err = invalid("Invalid "+x.what+": "+format, a...)
	}
	x.token = scan(x.text, len(x.text))
}

// unexpected fails at the next token, which the error quotes with its
// neighbours.
func (x *parser) unexpected() {
	following := scan(x.text, x.token.after)
	x.fail("Syntax error; token: %q, near: %q", x.peek(), x.text[x.previous:following.after])
}

// peek returns the text of the next token.
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
	if x.token.kind != word || !strings.EqualFold(x.peek(), keyword) {
		return false
	}
	x.next()
	return true
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

// function reads one of the allowed functions up to its first argument, which
// must be an attribute.
func (x *parser) function(allowed ...string) (function, attribute string) {
	function = x.peek()
	if !slices.Contains(allowed, function) {
		x.unexpected()
		return "", ""
	}
	x.next()
	x.counted()
	x.expect('(')
	if x.token.kind == ':' {
		x.fail("Operator or function requires a document path; operator or function: %s", function)
	}
	return function, x.name()
}

// name reads an attribute's name. It must be a placeholder: a bare name may be
// one of DynamoDB's 573 reserved words, or begin a path, which no counter
// needs.
func (x *parser) name() string {
	if x.token.kind != '#' {
		x.unexpected()
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

// operand is a value, an attribute, or an attribute with a default for items
// that lack it.
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
	if x.token.kind != ':' {
		return operand{name: x.name()}
	}
	ref := x.next()
	given, ok := x.values[ref]
	if !ok {
		x.fail("An expression attribute value used in expression is not defined; attribute value: %s", ref)
		return operand{}
	}
	x.used[ref] = true
	value, err := intake(given)
	if err != nil && x.err == nil {
		x.err = err
	}
	return operand{value: value}
}

// requireNumber refuses a value of the request that is no number. DynamoDB
// checks an item's values only when it applies the operator.
func (x *parser) requireNumber(operator string, v types.AttributeValue) {
	if _, ok := v.(*types.AttributeValueMemberN); v != nil && !ok {
		x.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeName(v))
	}
}

// checkAllUsed refuses unused placeholders, unless parsing has failed already.
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

// tokenKind is the kind of a token in an expression. A placeholder's kind is
// its first character, # or :, and a symbol of one character is its own kind.
type tokenKind byte

const (
	end        tokenKind = iota
	word                 // a keyword, a function, or a bare attribute name
	comparator           // < <= <> > or >=
	stray                // a character that no expression has
)

// token is a piece of an expression's text.
type token struct {
	kind      tokenKind
	at, after int // where it begins, and where the text goes on
}

// scan returns the token that begins at or after an offset.
func scan(text string, at int) token {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	if at == len(text) {
		return token{end, at, at}
	}
	switch c := text[at]; {
	case c == '#' || c == ':':
		if after := wordEnd(text, at+1); after > at+1 {
			return token{tokenKind(c), at, after}
		}
	case c == '<' || c == '>':
		switch text[at:min(at+2, len(text))] {
		case "<>", "<=", ">=":
			return token{comparator, at, at + 2}
		}
		return token{comparator, at, at + 1}
	case strings.IndexByte("=(),+-", c) >= 0:
		return token{tokenKind(c), at, at + 1}
	case isLetter(c):
		return token{word, at, wordEnd(text, at)}
	}
	return token{stray, at, at + 1}
}

// wordEnd returns where a word or the name of a placeholder ends. The latter
// may begin with a digit.
func wordEnd(text string, at int) int {
	for at < len(text) && (isLetter(text[at]) || text[at] == '_' || '0' <= text[at] && text[at] <= '9') {
		at++
	}
	return at
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
