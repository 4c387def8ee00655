package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/slidegate/slidegate/internal/yamlfile"
)

// tree reads a YAML or JSON file and collects everything in it that is wrong.
type tree struct {
	file   string
	number int // of the file, among several
	errors yamlfile.Errors
}

// value is a node of the file. The zero value stands for what the file does not have.
type value struct {
	node ast.Node
	at   *token.Token
	path string // such as "descriptors[0].key"
}

func readTree(f File, number int) (*tree, value, error) {
	root, err := yamlfile.ReadTree(f.Name, f.Content)
	if err != nil {
		return nil, value{}, err
	}
	return &tree{file: f.Name, number: number}, newValue(root, ""), nil
}

// newValue finds where a person would say that the node begins. The library gives a map the place of its first colon.
func newValue(node ast.Node, path string) value {
	v := value{node, node.GetToken(), path}
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		v.at = m.Values[0].Key.GetToken()
	}
	return v
}

// err returns all that was found to be wrong, nil for nothing.
func (t *tree) err() error {
	if len(t.errors) == 0 {
		return nil
	}
	return t.errors
}

func (t *tree) fail(v value, format string, args ...any) {
	t.errors = append(t.errors, &yamlfile.Error{
		File: t.file, Line: v.at.Position.Line, Column: v.at.Position.Column, Path: v.path, Reason: fmt.Sprintf(format, args...),
	})
}

func (t *tree) spot(v value) spot {
	p := v.at.Position
	return spot{fmt.Sprintf("%s:%d:%d", t.file, p.Line, p.Column), t.number<<48 | p.Line<<24 | p.Column}
}

// missing reports whether the file says nothing here.
func (v value) missing() bool {
	_, null := v.node.(*ast.NullNode)
	return v.node == nil || null
}

// is says what the node is, for messages.
func (v value) is() string {
	switch v.node.(type) {
	case *ast.MappingNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	}
	return strconv.Quote(short(v.at.Value))
}

// entry is a field of a map.
type entry struct {
	name string
	value
}

// entries returns the fields of a map, in the order of the file.
func (t *tree) entries(v value) []entry {
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		t.fail(v, "must be a map, and is %s", v.is())
		return nil
	}
	lines := make(map[string]int, len(m.Values))
	var entries []entry
	for _, e := range m.Values {
		key := e.Key.GetToken()
		path := strings.TrimPrefix(v.path+"."+short(key.Value), ".")
		if line, ok := lines[key.Value]; ok {
			t.fail(value{e.Key, key, path}, "is there twice, first in line %d: remove one of them", line)
			continue
		}
		lines[key.Value] = key.Position.Line
		entries = append(entries, entry{key.Value, newValue(e.Value, path)})
	}
	return entries
}

// fields returns the fields of a map by name, and reports those that are not known: one that is passed over could change
// what the others mean.
func (t *tree) fields(v value, known ...string) map[string]value {
	found := map[string]value{}
	for _, e := range t.entries(v) {
		if !slices.Contains(known, e.name) {
			t.fail(e.value, "unknown field: there are %s; if it changes nothing, remove it", strings.Join(known, ", "))
			continue
		}
		found[e.name] = e.value
	}
	return found
}

// list returns the entries of a list, none for what is missing.
func (t *tree) list(v value) []value {
	if v.missing() {
		return nil
	}
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		t.fail(v, "must be a list, and is %s", v.is())
		return nil
	}
	values := make([]value, len(s.Values))
	for i, node := range s.Values {
		values[i] = newValue(node, fmt.Sprintf("%s[%d]", v.path, i))
	}
	return values
}

// text returns a plain value as it is written, "" for what is missing.
func (t *tree) text(v value) string {
	switch n := v.node.(type) {
	case nil, *ast.NullNode:
		return ""
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.MappingNode, *ast.SequenceNode:
		t.fail(v, "must be text, and is %s", v.is())
		return ""
	}
	return v.at.Value
}

// whole returns a whole number from 0 to most, 0 for what is missing.
func (t *tree) whole(v value, most int64) int64 {
	if v.missing() {
		return 0
	}
	text := t.text(v)
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || int64(n) > most {
		t.fail(v, "must be a whole number from 0 to %d, and is %s", most, v.is())
		return 0
	}
	return int64(n)
}

func (t *tree) flag(v value) bool {
	if v.missing() {
		return false
	}
	n, ok := v.node.(*ast.BoolNode)
	if !ok {
		t.fail(v, "must be true or false, and is %s", v.is())
		return false
	}
	return n.Value
}
