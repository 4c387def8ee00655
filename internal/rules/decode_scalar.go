package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// text returns the text of a value.
func (d *decoder) text(v value) (string, bool) {
	example := cmp.Or(v.form.as(aText).example, v.form.as(aScalar).example)
	switch n := v.node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
		d.fail(v, "is empty: write text, such as %s", example)
	case *ast.MappingNode, *ast.SequenceNode:
		d.fail(v, "must be text, such as %s, and is %s", example, v.is())
	default:
		d.fail(v, "must be text, and is %s: write %q", v.is(), v.at.Value)
	}
	return "", false
}

// jsonNumber is a number as tokens write one.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// plain returns the text of a value that may as well be a number, which is taken as it is written, or true or false.
func (d *decoder) plain(v value) (string, bool) {
	switch n := v.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if !jsonNumber.MatchString(v.at.Value) {
			d.fail(v, "%s is no number as tokens write one: write it in quotes, as the claim has it", v.at.Value)
		}
		return v.at.Value, true
	case *ast.BoolNode:
		return strconv.FormatBool(n.Value), true
	}
	return d.text(v)
}

// integer returns a whole number within the bounds of the value's form.
func (d *decoder) integer(v value) (int64, bool) {
	f := v.form.as(aNumber)
	quoted := v.at.Type == token.SingleQuoteType || v.at.Type == token.DoubleQuoteType
	digits := strings.TrimPrefix(v.at.Value, "-")
	if quoted || digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		d.fail(v, "must be a whole number in plain digits without quotes, such as 10")
		return 0, false
	}
	n, err := strconv.ParseInt(v.at.Value, 10, 64) // fails for a number out of range, and for no other reason
	if err != nil || n < f.least || n > f.most {
		d.fail(v, "%s is out of range: write a number from %d to %d", v.at.Value, f.least, f.most)
		return 0, false
	}
	return n, true
}

func (d *decoder) boolean(v value) bool {
	n, ok := v.node.(*ast.BoolNode)
	if !ok {
		d.fail(v, "must be true or false, and is %s", v.is())
		return false
	}
	return n.Value
}

// choice returns the index of the word that the value is.
func (d *decoder) choice(v value) (int, bool) {
	words := v.form.as(aText).words
	text, ok := d.text(v)
	if !ok {
		return 0, false
	}
	if i := slices.Index(words, text); i >= 0 {
		return i, true
	}
	d.fail(v, "unknown value %q: %s", text, instead(text, words, "write", "or"))
	return 0, false
}
