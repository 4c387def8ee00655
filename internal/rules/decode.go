package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder turns the tree of a document into values and collects everything that is wrong on the way.
type decoder struct {
	errors Errors
	at     map[*Rule]*places
}

// places say where the parts of a rule stand that warnings speak of.
type places struct {
	key, limits, atomic value
	queues              []value // of each limit: its queue, or all of it where that is not stated
}

// value is a node of the document and its place.
type value struct {
	node ast.Node
	path string
	at   *token.Token
}

// newValue finds where a person would say that the node begins. The library gives a map the place of its first colon.
func newValue(node ast.Node, path string) value {
	v := value{node, path, node.GetToken()}
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		v.at = m.Values[0].Key.GetToken()
	}
	return v
}

func (d *decoder) fail(v value, format string, args ...any) {
	d.errors = append(d.errors, v.problem(fmt.Sprintf(format, args...)))
}

func (v value) problem(reason string) *Error {
	return &Error{Line: v.at.Position.Line, Column: v.at.Position.Column, Path: v.path, Reason: reason}
}

// is says what the node is, for messages.
func (v value) is() string {
	switch v.node.(type) {
	case *ast.MappingNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	}
	return "text"
}

// field is one that a map may have. Fields are decoded in the order of the schema, not of the document, so that one may
// build on another.
type field struct {
	name    string
	decode  func(value)
	missing string // what to write, if the field has to be there
}

// object decodes a map. It reports unknown, repeated and missing fields; it returns false for what is no map at all.
func (d *decoder) object(v value, fields []field) bool {
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		d.fail(v, "must be a map with fields such as %q, and is %s", fields[0].name+":", v.is())
		return false
	}
	found := d.index(v, m, fields)
	for _, f := range fields {
		switch fv, ok := found[f.name]; {
		case ok:
			f.decode(fv)
		case f.missing != "":
			d.fail(v, "%s is missing: %s", f.name, f.missing)
		}
	}
	return true
}

// index finds the fields of a map by name. A misspelled one stands for what it was probably meant to be, so that what is
// wrong inside it comes to light at once.
func (d *decoder) index(v value, m *ast.MappingNode, fields []field) map[string]value {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	found := make(map[string]value, len(m.Values))
	lines := make(map[string]int, len(m.Values))
	for _, entry := range m.Values {
		at := entry.Key.GetToken()
		name := at.Value
		key := value{entry.Key, join(v.path, name), at}
		if line, ok := lines[name]; ok {
			d.fail(key, "is there twice, first in line %d: remove one of them", line)
			continue
		}
		lines[name] = at.Position.Line
		if !slices.Contains(names, name) {
			d.fail(key, "unknown field: %s", instead(name, names, "there are", "and"))
			if name = closest(name, names); name == "" || found[name].node != nil {
				continue
			}
		}
		found[name] = newValue(entry.Value, key.path)
	}
	return found
}

// instead says what to write for an unknown word: the one that was probably meant, or any of those that are known.
func instead(word string, known []string, lead, last string) string {
	if meant := closest(word, known); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return lead + " " + enumerate(known, last)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// enumerate writes words as "a, b and c".
func enumerate(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// list returns the entries of a list.
func (d *decoder) list(v value, example string) []value {
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		d.fail(v, "must be a list, such as %s, and is %s", example, v.is())
		return nil
	}
	entries := make([]value, len(s.Values))
	for i, node := range s.Values {
		entries[i] = newValue(node, fmt.Sprintf("%s[%d]", v.path, i))
	}
	return entries
}

// oneOrMore returns the entries of a list, or the value alone.
func (d *decoder) oneOrMore(v value, example string) []value {
	if _, ok := v.node.(*ast.SequenceNode); !ok {
		return []value{v}
	}
	entries := d.list(v, example)
	if len(entries) == 0 {
		d.fail(v, "is an empty list, which nothing can match: write a value or remove the field")
	}
	return entries
}

// text returns the text of a value.
func (d *decoder) text(v value, example string) (string, bool) {
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

// integer returns a whole number from least to most.
func (d *decoder) integer(v value, least, most int64) (int64, bool) {
	plain := v.at.Type != token.SingleQuoteType && v.at.Type != token.DoubleQuoteType
	digits := strings.TrimPrefix(v.at.Value, "-")
	if !plain || digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		d.fail(v, "must be a whole number in plain digits without quotes, such as 10")
		return 0, false
	}
	n, err := strconv.ParseInt(v.at.Value, 10, 64) // fails for a number out of range, and for no other reason
	if err != nil || n < least || n > most {
		d.fail(v, "%s is out of range: write a number from %d to %d", v.at.Value, least, most)
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

// choice returns the index of the name that the value is.
func (d *decoder) choice(v value, names []string) (int, bool) {
	text, ok := d.text(v, names[0])
	if !ok {
		return 0, false
	}
	if i := slices.Index(names, text); i >= 0 {
		return i, true
	}
	d.fail(v, "unknown value %q: %s", text, instead(text, names, "write", "or"))
	return 0, false
}
