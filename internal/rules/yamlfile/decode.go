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
	"encoding/json"
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
// keys, a slice, a text, a boolean, a signed integer, a json.Number, a time.Time,
// a Union, an any, or a pointer to one of these. Tags describes the struct tags that it
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
	entries := maxEntries
	if foreign {
		entries = maxForeign
	}
	root, errs := parse(text, entries)
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	p := &Positions{file: file, places: map[string]places{}, undecoded: map[string]bool{}, incomplete: map[string]bool{}}
	if root == nil {
		p.errors = Errors{{Line: 1, Column: 1, Reason: "the document is empty: " + toWrite(target.Type())}}
		return nil, p.errors.in(file)
	}
	d := &decoder{Positions: p, foreign: foreign}
	d.value(d.newNode(root, "", nil), target, ruledoc.NoTags)
	for _, m := range d.misfits {
		p.errors = append(p.errors, p.errorIn(m.Node, m.path, m.explain()))
	}
	if len(p.errors) > 0 {
		return p, p.errors.in(file)
	}
	return p, nil
}

// decoder decodes the tree of a document and collects what does not fit. What is
// wrong with that, and what was meant, is said once all is decoded.
type decoder struct {
	*Positions
	foreign bool // see DecodeForeign
	misfits []misfit
}

// misfit is a value that is none of a type with these tags. Any other mistake has
// its reason.
type misfit struct {
	node
	of     reflect.Type
	tags   ruledoc.Tags
	reason string
}

// node is a node of the document with its path.
type node struct {
	*yaml.Node
	path string
}

// newNode notes where a value and its key stand. key is nil for a value without
// one.
func (d *decoder) newNode(n *yaml.Node, path string, key *yaml.Node) node {
	d.places[path] = places{key: cmp.Or(key, n), value: n}
	return node{n, path}
}

// fail reports a mistake in a value that is decoded all the same.
func (d *decoder) fail(n node, format string, args ...any) {
	d.misfits = append(d.misfits, misfit{node: n, reason: fmt.Sprintf(format, args...)})
}

// refuse reports a mistake that keeps a value from being decoded.
func (d *decoder) refuse(m misfit) {
	d.misfits = append(d.misfits, m)
	d.undecoded[m.path] = true
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
	} else if !d.plain(n, into, tags) {
		d.refuse(misfit{node: n, of: into.Type(), tags: tags})
	}
}

// plain decodes a node into a value of one form. It reports whether the node fits
// that.
func (d *decoder) plain(n node, into reflect.Value, tags ruledoc.Tags) (fits bool) {
	switch into.Kind() {
	case reflect.Struct:
		if into.Type() == reflect.TypeFor[time.Time]() {
			t, err := time.Parse(time.RFC3339, n.Value)
			into.Set(reflect.ValueOf(t))
			return err == nil && n.is() == "text"
		}
		return n.Kind == yaml.MappingNode && d.object(n, into)
	case reflect.Map:
		return d.entries(n, into, tags)
	case reflect.Slice:
		return d.list(n, into, tags)
	case reflect.String:
		if into.Type() == reflect.TypeFor[json.Number]() {
			if fits = n.is() == "a number" && json.Valid([]byte(n.Value)); fits {
				into.SetString(n.Value)
			}
			return fits
		}
		text, fits := d.text(n, tags)
		into.SetString(text)
		return fits
	case reflect.Bool:
		// A field that may only be true counts as true if it is wrong: it is stated,
		// which is what other checks go by.
		is := n.Tag == "!!bool" && strings.EqualFold(n.Value, "true")
		into.SetBool(is || tags.Only)
		return n.Tag == "!!bool" && (is || !tags.Only)
	case reflect.Interface:
		if v := d.free(n); v != nil {
			into.Set(reflect.ValueOf(v))
		}
		return true
	}
	bits := into.Type().Bits()
	i, err := strconv.ParseInt(n.Value, 10, bits)
	least, most := bounds(bits, tags)
	if err != nil || n.Style != 0 || !plainDigits(n.Value) || i < least || i > most {
		return false
	}
	into.SetInt(i)
	return true
}

// text returns a text, and whether the node is one.
func (d *decoder) text(n node, tags ruledoc.Tags) (text string, fits bool) {
	switch is := n.is(); {
	case oddCharacter(n.Node) != "" && tags.Scalar && !d.foreign: // any text is a value there
		return "", false
	case is == "text":
		return n.Value, n.Value != "" || tags.Example == "" || tags.Empty || tags.Scalar
	case is == "empty" || n.Kind != yaml.ScalarNode:
		return "", false
	case tags.Scalar && is == "true or false" && !d.foreign:
		return strings.ToLower(n.Value), true
	case d.foreign || tags.Scalar && json.Valid([]byte(n.Value)):
		return n.Value, true
	}
	return "", false
}

// bounds returns the least and the most of a whole number of so many bits.
func bounds(bits int, tags ruledoc.Tags) (least, most int64) {
	return max(tags.Range[0], -1<<(bits-1)), min(tags.Range[1], 1<<(bits-1)-1)
}

// plainDigits reports whether a text is a whole number as JSON writes it.
func plainDigits(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (len(digits) == 1 || digits[0] != '0')
}

// free decodes a value for which there is no type: into map[string]any, []any,
// string, bool, nil, or json.Number, which holds a number as the file has it.
func (d *decoder) free(n node) any {
	switch n.is() {
	case "a map":
		m := map[string]any{}
		d.value(n, reflect.ValueOf(&m).Elem(), ruledoc.NoTags)
		return m
	case "a list":
		var list []any
		d.value(n, reflect.ValueOf(&list).Elem(), ruledoc.NoTags)
		return list
	case "true or false":
		return strings.EqualFold(n.Value, "true")
	case "a number":
		return json.Number(n.Value)
	case "empty":
		return nil
	}
	return n.Value
}

// union decodes a value into the form that fits it, and has the type read that.
// Mistakes in parts leave the rest of the value.
func (d *decoder) union(n node, into reflect.Value, forms reflect.Type, tags ruledoc.Tags) {
	if what, why, ok := strings.Cut(tags.Not, ": "); ok && n.is() == what {
		d.refuse(misfit{node: n, reason: why})
		return
	}
	before := len(d.misfits)
	fields := ruledoc.Fields(forms) // the first counts if none fits
	form := fields[max(0, slices.IndexFunc(fields, func(f ruledoc.Field) bool { return n.fits(f.Type.Kind()) }))]
	v := reflect.New(form.Type).Elem()
	d.value(n, v, tags.With(form.Tag))
	if form.Type.Kind() == reflect.Struct && !form.Tags.Partial {
		d.requireFields(n, ruledoc.Fields(form.Type))
	}
	if d.undecoded[n.path] {
		return
	}
	if word := v.String(); form.Tag.Get("enum") != "" && !slices.Contains(form.Tags.Enum, word) {
		d.refuse(misfit{node: n, reason: fmt.Sprintf("unknown value %q: %s", word, ruledoc.Suggest(word, form.Tags.Enum, "write", "or"))})
		return
	}
	text, err := json.Marshal(v.Interface())
	if err == nil {
		err = json.Unmarshal(text, into.Addr().Interface())
	}
	if err != nil && len(d.misfits) == before {
		d.refuse(misfit{node: n, reason: err.Error()})
	}
}

// requireFields reports fields that a form needs. Without them the Go value
// might stand for another form.
func (d *decoder) requireFields(n node, fields []ruledoc.Field) {
	for _, f := range fields {
		path := ruledoc.Join(n.path, f.Name)
		if _, stated := d.places[path]; !stated && f.Tags.Need != "" && !d.undecoded[n.path] {
			d.fail(n, "%s is missing: %s", f.Name, f.Tags.Need)
			d.undecoded[path] = true
		}
	}
}

// fits reports whether the node probably means a value of a kind. Digits in
// quotes were probably meant to be a number.
func (n node) fits(kind reflect.Kind) bool {
	switch n.is() {
	case "a map":
		return kind == reflect.Struct || kind == reflect.Map
	case "a list":
		return kind == reflect.Slice
	case "true or false":
		return kind == reflect.Bool
	case "text":
		if strings.Trim(n.Value, "0123456789") != "" {
			return kind == reflect.String
		}
	}
	return kind == reflect.Int64
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
		key := node{n.Content[i], ruledoc.Join(n.path, n.Content[i].Value)}
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
		entries = append(entries, entry{key, d.newNode(n.Content[i+1], key.path, key.Node)})
	}
	return entries
}

// object decodes a map into a struct.
func (d *decoder) object(n node, into reflect.Value) bool {
	found := d.byName(n, into.Type())
	if found == nil {
		return false
	}
	for _, f := range ruledoc.Fields(into.Type()) {
		if e, ok := found[f.Name]; ok {
			d.field(n, e, into.FieldByIndex(f.Index), f.Tags)
		}
	}
	return true
}

// field decodes the value of a map's entry.
func (d *decoder) field(n node, e entry, into reflect.Value, tags ruledoc.Tags) {
	d.value(e.node, into, tags)
	d.incomplete[n.path] = d.incomplete[n.path] || d.undecoded[e.path]
}

// byName finds the fields of a map by name. A misspelled one counts as the one
// that was probably meant, so that mistakes inside it are reported too. It returns
// nil for a map that as a whole is a usual mistake.
func (d *decoder) byName(n node, t reflect.Type) map[string]entry {
	found := make(map[string]entry, len(n.Content)/2)
	var unknown []entry
	for _, e := range d.pairs(n) {
		if hasField(t, e.key.Value) {
			found[e.key.Value] = e
		} else {
			unknown = append(unknown, e)
		}
	}
	if at := d.places[n.path]; len(unknown) > 0 && at.of != nil && ruledoc.Instead(at.meant, at.of, flow(n.Node, false)) != "" {
		return nil
	}
	for _, e := range d.elsewhere(n, t, found, unknown) {
		meant, reason := meantField(e.key.Value, flow(e.Node, false), t, found)
		if !quotable(e.key.Value) { // it may be a secret of another file
			e.key.path = n.path
		}
		d.fail(e.key, "unknown field: %s", reason)
		if _, stated := found[meant]; meant != "" && !stated {
			where := d.places[e.path]
			e.path = ruledoc.Join(n.path, meant)
			d.places[e.path] = where
			if !strings.Contains(reason, meant+": ") { // else the advice has its value
				found[meant] = e
				continue
			}
		}
		d.undecoded[e.path], d.incomplete[n.path] = true, true
	}
	return found
}

// elsewhere reports the unknown names of a map that belong in a field of it, or of
// the document, and returns the others. All that belongs in one field is one
// mistake: the advice is the whole field, with what the file states of it.
func (d *decoder) elsewhere(n node, t reflect.Type, found map[string]entry, unknown []entry) (others []entry) {
	type part struct {
		entry
		name string
	}
	into := map[string][]part{}
	for _, e := range unknown {
		text := flow(e.Node, false)
		field, name := ruledoc.Home(t, e.key.Value, text)
		if field == "" && ruledoc.InsteadOfField(t, e.key.Value, text) == "" {
			field, name = fieldWith(e.key.Value, t, found, reflect.Pointer), e.key.Value
		}
		if field == "" {
			others = append(others, e)
			continue
		}
		for _, stated := range []string{field, field + "s"} { // limit and limits
			if s, ok := found[stated]; ok {
				into[field] = append(into[field], part{s, stated})
				delete(found, stated)
			}
			d.undecoded[ruledoc.Join(n.path, stated)] = true
		}
		into[field] = append(into[field], part{e, name})
		d.undecoded[e.path], d.incomplete[n.path] = true, true
	}
	for field, parts := range into {
		var names []string
		var values [][2]string
		for _, p := range parts {
			names, values = append(names, p.key.Value), append(values, [2]string{p.name, flow(p.Node, true)})
		}
		right := ruledoc.WriteField(t, field, values)
		if len(names) > 1 {
			right += ", in place of " + ruledoc.Enumerate(names, "and")
		}
		d.fail(parts[len(parts)-1].key, "unknown field: write %s", right)
	}
	return others
}

// entries decodes a map whose names the document chooses.
func (d *decoder) entries(n node, into reflect.Value, tags ruledoc.Tags) (fits bool) {
	t := into.Type()
	into.Set(reflect.MakeMap(t))
	if n.Kind != yaml.MappingNode {
		return false
	}
	for _, e := range d.pairs(n) {
		v := reflect.New(t.Elem()).Elem()
		d.field(n, e, v, tags.Entry())
		into.SetMapIndex(reflect.ValueOf(e.key.Value).Convert(t.Key()), v)
	}
	return len(n.Content) > 0 || tags.Items[0] == 0
}

func (d *decoder) list(n node, into reflect.Value, tags ruledoc.Tags) (fits bool) {
	if n.Kind != yaml.SequenceNode {
		return false
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, v := range n.Content {
		d.value(d.newNode(v, ruledoc.Index(n.path, i), nil), into.Index(i), tags.Entry())
	}
	return len(n.Content) > 0 || tags.Items[0] == 0
}
