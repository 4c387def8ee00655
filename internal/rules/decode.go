package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder turns the tree of a document into values and collects everything that is wrong on the way.
type decoder struct {
	errors Errors
	at     map[*Rule]*places
	hash   *keyHash // of keys; nil where the document names no secret
}

// value is a node of the document, its place, and the form that it is to have.
type value struct {
	node ast.Node
	path string
	at   *token.Token
	form form
}

// newValue finds where a person would say that the node begins. The library gives a map the place of its first colon.
func newValue(node ast.Node, path string, f form) value {
	v := value{node, path, node.GetToken(), f}
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		v.at = m.Values[0].Key.GetToken()
	}
	return v
}

// stated reports whether the document has the value at all.
func (v value) stated() bool { return v.node != nil }

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

func (v value) isAmong(others []value) bool {
	return slices.ContainsFunc(others, func(o value) bool { return o.node == v.node })
}

func (v value) isMap() bool {
	_, ok := v.node.(*ast.MappingNode)
	return ok
}

func (v value) isEmptyMap() bool {
	m, ok := v.node.(*ast.MappingNode)
	return ok && len(m.Values) == 0
}

func (v value) isList() bool {
	_, ok := v.node.(*ast.SequenceNode)
	return ok
}

// entry is a name in a map, and what stands there.
type entry struct {
	name  string
	key   value
	value value
}

// pairs returns what a map holds, without names that were there before: those are reported.
func (d *decoder) pairs(v value, m *ast.MappingNode) []entry {
	entries := make([]entry, 0, len(m.Values))
	lines := make(map[string]int, len(m.Values))
	for _, pair := range m.Values {
		at := pair.Key.GetToken()
		key := value{node: pair.Key, path: join(v.path, at.Value), at: at}
		if line, ok := lines[at.Value]; ok {
			d.fail(key, "is there twice, first in line %d: remove one of them", line)
			continue
		}
		lines[at.Value] = at.Position.Line
		entries = append(entries, entry{at.Value, key, newValue(pair.Value, key.path, form{})})
	}
	return entries
}

// object decodes a map whose names are known. It reports unknown, repeated and missing fields; it returns false for what is
// no map at all.
func (d *decoder) object(v value, fields []field) bool {
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		d.fail(v, "must be a map with fields such as %q, and is %s", fields[0].name+":", v.is())
		return false
	}
	found := d.index(v, m, fields)
	for _, f := range fields {
		fv, ok := found[f.name]
		switch {
		case !ok && f.missing != "":
			d.fail(v, "%s is missing: %s", f.name, f.missing)
		case ok:
			fv.form = f.form
			if f.at != nil {
				*f.at = fv
			}
			if f.decode != nil {
				f.decode(fv)
			}
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
	for _, e := range d.pairs(v, m) {
		name := e.name
		if !slices.Contains(names, name) {
			d.fail(e.key, "unknown field: %s", instead(name, names, "there are", "and"))
			if name = closest(name, names); name == "" || found[name].stated() {
				continue
			}
		}
		found[name] = e.value
	}
	return found
}

// entries returns the entries of a map that makes up its own names.
func (d *decoder) entries(v value) []entry {
	f := v.form.as(aMap)
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		d.fail(v, "must be a map, such as %s, and is %s", f.example, v.is())
		return nil
	}
	entries := d.pairs(v, m)
	for i := range entries {
		entries[i].value.form = *f.entries
	}
	return entries
}

// list returns the entries of a list.
func (d *decoder) list(v value) []value {
	f := v.form.as(aList)
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		d.fail(v, "must be a list, such as %s, and is %s", f.example, v.is())
		return nil
	}
	entries := make([]value, len(s.Values))
	for i, node := range s.Values {
		entries[i] = newValue(node, fmt.Sprintf("%s[%d]", v.path, i), *f.entries)
	}
	return entries
}

// some returns the entries of a list, or the value alone.
func (d *decoder) some(v value) []value {
	if !v.isList() {
		return []value{v}
	}
	entries := d.list(v)
	if len(entries) == 0 {
		d.fail(v, "is an empty list, which nothing can match: write a value or remove the field")
	}
	return entries
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
