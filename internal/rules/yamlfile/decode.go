// Package yamlfile decodes files of plain YAML, which includes JSON, into tagged
// structs. It reports everything at once that does not fit the types, and where
// it stands, and keeps the place of every value for checks that follow.
//
// Plain YAML is one document of maps, lists and values. Anchors, aliases, tags
// and merge keys are refused: every value then stands where it is used, where a
// person can read it and an error can name its place. The bounds on size and
// nesting in parse.go keep the worst file to seconds.
package yamlfile

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Decode decodes text into what into points to: a struct, or a map with text for
// keys, a slice, a text, a boolean, a signed integer, a time.Time, a Union, an
// any, or a pointer to one of these. Tags describes the struct tags that it
// heeds. It checks forms and ranges alone; what values mean, and whether required
// fields are there, is for the caller to check, with Locate to report it.
//
// The error is of type Errors. If it is not nil, into still holds all that could
// be decoded: a misspelled field counts as the one that was probably meant, and
// of two fields with the same name the first counts. The positions are nil only
// if text is not plain YAML. File is the name of the text in errors.
func Decode(file string, text []byte, into any) (*Positions, error) {
	return decodeInto(file, text, into, false)
}

// DecodeForeign is Decode for formats of other programs. There null is the same
// as no value, and texts may be numbers or booleans, which it keeps as written:
// 007 is the text "007".
func DecodeForeign(file string, text []byte, into any) (*Positions, error) {
	return decodeInto(file, text, into, true)
}

func decodeInto(file string, text []byte, into any, foreign bool) (*Positions, error) {
	target := reflect.ValueOf(into).Elem()
	root, errs := parse(text)
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	p := &Positions{file: file, places: map[string]places{}, undecoded: map[string]bool{}, incomplete: map[string]bool{}}
	if root == nil {
		p.errors = Errors{{Line: 1, Column: 1, Reason: "the document is empty: " + toWrite(target.Type())}}
		return nil, p.errors.in(file)
	}
	d := &decoder{p, foreign}
	d.value(d.newNode(root, "", "", nil), target, ruledoc.NoTags)
	if len(p.errors) > 0 {
		return p, p.errors.in(file)
	}
	return p, nil
}

// toWrite says what to write into an empty document.
func toWrite(t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return "there is nothing to read"
	}
	for _, f := range ruledoc.Fields(t) {
		if f.Tags.Need != "" {
			return f.Tags.Need
		}
	}
	return "write fields such as " + someField(t)
}

// someField names a field of a struct, as messages have it: the first that it
// needs, if there is one.
func someField(t reflect.Type) string {
	fields := ruledoc.Fields(t)
	needed := slices.IndexFunc(fields, func(f ruledoc.Field) bool { return f.Tags.Need != "" })
	if len(fields) == 0 {
		return `"name:"`
	}
	return strconv.Quote(fields[max(0, needed)].Name + ":")
}

// decoder decodes the tree of a document and collects everything that is wrong.
type decoder struct {
	*Positions
	foreign bool // see DecodeForeign
}

// node is a node of the document with its path.
type node struct {
	*yaml.Node
	path  string
	owner string // the path of the map that it is a field of
}

// newNode notes where a value and its key stand. key is nil for a value without
// one.
func (d *decoder) newNode(n *yaml.Node, path, owner string, key *yaml.Node) node {
	d.places[path] = places{key: cmp.Or(key, n), value: n}
	return node{n, path, owner}
}

// fail reports an error in a value that is decoded all the same.
func (d *decoder) fail(n node, format string, args ...any) {
	d.errors = append(d.errors, d.errorIn(n.Node, n.path, fmt.Sprintf(format, args...)))
}

// refuse reports an error that keeps a value from being decoded.
func (d *decoder) refuse(n node, format string, args ...any) {
	d.fail(n, format, args...)
	d.undecoded[n.path] = true
	if n.path != n.owner {
		d.incomplete[n.owner] = true
	}
}

var tagNames = map[string]string{
	"!!map": "a map", "!!seq": "a list", "!!int": "a number", "!!float": "a number", "!!bool": "true or false", "!!null": "empty",
}

// is says what the node is, for messages.
func (n node) is() string { return cmp.Or(tagNames[n.Tag], "text") }

// value decodes a node into a Go value of any type.
func (d *decoder) value(n node, into reflect.Value, tags ruledoc.Tags) {
	if n.is() == "empty" && d.foreign {
		return
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		d.value(n, into.Elem(), tags)
		return
	}
	if at := d.places[n.path]; at.of == nil && !d.foreign {
		at.of, at.meant = into.Type(), tags.Meant
		d.places[n.path] = at
	}
	if forms, ok := ruledoc.FormsOf(into.Type()); ok {
		d.union(n, into, forms, tags)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		if into.Type() == reflect.TypeFor[time.Time]() {
			into.Set(reflect.ValueOf(d.time(n, tags)))
			return
		}
		if n.Kind != yaml.MappingNode && tags.Example != "" {
			d.refuse(n, "must be a map%s, and is %s", suchAs(tags), n.is())
			return
		}
		d.object(n, into)
	case reflect.Map:
		d.entries(n, into, tags)
	case reflect.Slice:
		d.list(n, into, tags)
	case reflect.String:
		into.SetString(d.text(n, tags))
	case reflect.Bool:
		into.SetBool(d.boolean(n, tags))
	case reflect.Interface:
		if v := d.free(n); v != nil {
			into.Set(reflect.ValueOf(v))
		}
	default:
		into.SetInt(d.integer(n, into.Type().Bits(), tags))
	}
}

// entry is a name in a map, and the value that it has.
type entry struct {
	key node
	node
}

// pairs returns the entries of a map, and reports names that stand there twice.
func (d *decoder) pairs(n node) []entry {
	entries := make([]entry, 0, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := node{n.Content[i], ruledoc.Join(n.path, n.Content[i].Value), n.path}
		if len(key.Value) > maxName {
			key.path = n.path
			d.fail(key, "a name in it has %d bytes, and %d is the most: shorten it", len(key.Value), maxName)
			continue
		}
		if line, ok := lines[key.Value]; ok {
			d.fail(key, "is there twice, first in line %d: remove one of them", line)
			continue
		}
		lines[key.Value] = key.Line
		entries = append(entries, entry{key, d.newNode(n.Content[i+1], key.path, n.path, key.Node)})
	}
	return entries
}

// object decodes a map into a struct, and returns the fields that it has.
func (d *decoder) object(n node, into reflect.Value) (found map[string]entry) {
	fields := ruledoc.Fields(into.Type())
	if n.Kind != yaml.MappingNode {
		reason := fmt.Sprintf("must be a map with fields such as %s, and is %s", someField(into.Type()), n.is())
		if n.path == "" && n.Kind == yaml.SequenceNode {
			reason += ": write " + strings.Trim(someField(into.Type()), `"`) + " in a line above it"
		}
		d.refuse(n, "%s", reason)
		return nil
	}
	found = d.byName(n, into.Type(), fields)
	for _, f := range fields {
		if e, ok := found[f.Name]; ok {
			d.value(e.node, into.FieldByIndex(f.Index), f.Tags)
		}
	}
	return found
}

// entries decodes a map whose names the document chooses.
func (d *decoder) entries(n node, into reflect.Value, tags ruledoc.Tags) {
	t := into.Type()
	into.Set(reflect.MakeMap(t))
	switch {
	case n.Kind != yaml.MappingNode:
		d.refuse(n, "must be a map%s, and is %s", suchAs(tags), n.is())
		return
	case len(n.Content) == 0 && tags.Items[0] > 0:
		d.refuse(n, "is empty: %s", tags.InsteadOfNone("entries such as "+tags.Example))
	}
	for _, e := range d.pairs(n) {
		v := reflect.New(t.Elem()).Elem()
		d.value(e.node, v, tags.Entry())
		into.SetMapIndex(reflect.ValueOf(e.key.Value).Convert(t.Key()), v)
	}
}

func (d *decoder) list(n node, into reflect.Value, tags ruledoc.Tags) {
	switch {
	case n.Kind != yaml.SequenceNode:
		d.refuse(n, "must be a list%s, and is %s%s", suchAs(tags), n.is(), n.toList(into.Type().Elem()))
		return
	case len(n.Content) == 0 && tags.Items[0] > 0:
		d.refuse(n, "is an empty list: %s", tags.InsteadOfNone("a value such as "+tags.Entry().Example))
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, v := range n.Content {
		path := ruledoc.Index(n.path, i)
		d.value(d.newNode(v, path, path, nil), into.Index(i), tags.Entry())
	}
}
