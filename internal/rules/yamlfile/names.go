package yamlfile

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// byName finds the fields of a map by name. A misspelled one counts as the one
// that was probably meant, so that errors inside it are reported too.
func (d *decoder) byName(n node, t reflect.Type, fields []ruledoc.Field) map[string]entry {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	found := make(map[string]entry, len(n.Content)/2)
	var unknown []entry
	for _, e := range d.pairs(n) {
		if slices.Contains(names, e.key.Value) {
			found[e.key.Value] = e
		} else {
			unknown = append(unknown, e)
		}
	}
	for _, e := range unknown {
		meant, reason := meantField(e.key.Value, t, names, found)
		if !fieldName.MatchString(e.key.Value) { // it may be a secret of another file
			e.key.path = n.path
		}
		d.fail(e.key, "unknown field: %s", reason)
		if _, stated := found[meant]; meant != "" && !stated {
			where := d.places[e.path]
			e.path = ruledoc.Join(n.path, meant)
			d.places[e.path] = where
			if !strings.HasPrefix(e.key.Value, meant+":") { // else its value is in the name
				found[meant] = e
				continue
			}
		}
		d.undecoded[e.path], d.incomplete[n.path] = true, true
	}
	return found
}

// fieldName matches names that messages quote.
var fieldName = regexp.MustCompile(`^[\pL\d_-]{1,48}$`)

// meantField returns the field of a struct that an unknown name was probably
// meant to be, empty for none, and what to write. found are the fields that the
// map has.
func meantField(name string, t reflect.Type, names []string, found map[string]entry) (meant, reason string) {
	if before, value, ok := strings.Cut(name, ":"); ok && slices.Contains(names, before) {
		return before, fmt.Sprintf("a space is missing after the colon: write %s: %s", before, value)
	}
	if right := ruledoc.InsteadOfField(t, name); right != "" {
		if meant = strings.TrimPrefix(right, "write "); !slices.Contains(names, meant) {
			meant = ""
		}
		return meant, right
	}
	if reason := belongs(name, t, found); reason != "" {
		return "", reason
	}
	return ruledoc.Closest(name, names), ruledoc.Suggest(name, names, "there are", "and")
}

// belongs says in which field of a struct an unknown name is a field, if it is
// one: in a list or a map that the document has, or else in the first.
func belongs(name string, t reflect.Type, found map[string]entry) (reason string) {
	for _, f := range ruledoc.Fields(t) {
		_, stated := found[f.Name]
		if reason != "" && !stated {
			continue
		}
		switch f.Type.Kind() {
		case reflect.Slice:
			if hasField(f.Type.Elem(), name) {
				reason = fmt.Sprintf("it belongs to an entry of %s: indent it like the fields of that entry", f.Name)
			}
		case reflect.Pointer:
			if hasField(f.Type.Elem(), name) {
				reason = fmt.Sprintf("it belongs in %s: write %[1]s: {%s: ...}", f.Name, name)
			}
		}
	}
	return reason
}

func hasField(t reflect.Type, name string) bool {
	return t.Kind() == reflect.Struct && slices.ContainsFunc(ruledoc.Fields(t), func(f ruledoc.Field) bool { return f.Name == name })
}

// toList says how a map becomes the only entry of the list that is expected;
// nothing if it is no such entry.
func (n node) toList(entry reflect.Type) string {
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && hasField(entry, "name") {
		if inside := n.Content[1].Content; len(inside) > 0 && hasField(entry, inside[0].Value) {
			return fmt.Sprintf(": write - name: %s, and its fields below that name", n.Content[0].Value)
		}
	}
	switch {
	case n.Kind != yaml.MappingNode || len(n.Content) == 0 || !hasField(entry, n.Content[0].Value):
		return ""
	case n.Style&yaml.FlowStyle != 0:
		return ": put it in brackets, [{...}]"
	}
	return ": write - before " + n.Content[0].Value + ", and indent the other fields like it"
}
