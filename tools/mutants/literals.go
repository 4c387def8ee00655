package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
)

// messages are calls whose text is for people. Tests need not check each word.
var messages = map[string]bool{"errors.New": true, "fmt.Errorf": true, "panic": true}

func (f *finder) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if value, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			f.replace("constant", n, strconv.FormatInt(value+1, 10))
			f.replace("constant", n, integer(value-1))
		}
	case token.STRING:
		if value, err := strconv.Unquote(n.Value); err == nil && !f.inMessage() {
			f.words(n, value)
		}
	}
}

// integer formats a number so that it may follow any operator.
func integer(n int64) string {
	if n < 0 {
		return "(" + strconv.FormatInt(n, 10) + ")"
	}
	return strconv.FormatInt(n, 10)
}

func (f *finder) inMessage() bool {
	for _, n := range f.stack {
		if call, ok := n.(*ast.CallExpr); ok && messages[f.text(call.Fun)] {
			return true
		}
	}
	return false
}

// The words of DynamoDB's expressions (Amazon DynamoDB Developer Guide,
// "Condition and filter expressions, operators, and functions"), and what each
// is weakened to or swapped for.
var (
	word      = regexp.MustCompile(`\w+|[<>=]+|[+-]`)
	wordSwaps = map[string][]string{
		"AND": {"OR"}, "OR": {"AND"}, "=": {"<>"}, "<>": {"="}, "+": {"-"}, "-": {"+"},
		"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
		"attribute_exists": {"attribute_not_exists"}, "attribute_not_exists": {"attribute_exists"},
	}
)

// words adds the mutants of a string: the empty string, a string that is not
// empty, and one for each changed word of an expression.
func (f *finder) words(n *ast.BasicLit, value string) {
	if value == "" {
		f.replace("string", n, `"mutant"`)
		return
	}
	f.replace("string", n, `""`)
	for _, at := range word.FindAllStringIndex(value, -1) {
		for _, to := range wordSwaps[value[at[0]:at[1]]] {
			f.replace("string", n, strconv.Quote(value[:at[0]]+to+value[at[1]:]))
		}
	}
}
