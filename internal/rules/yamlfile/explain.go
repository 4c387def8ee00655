package yamlfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// explain says what is wrong with a value, and what to write instead.
func (m misfit) explain() string {
	if m.reason != "" {
		return m.reason
	}
	is := m.is()
	must := func(be string) string {
		if m.tags.Example != "" {
			be += ", such as " + m.tags.Example
		}
		return "must be " + be + ", and is " + is
	}
	switch kind := m.of.Kind(); {
	case m.of == reflect.TypeFor[json.Number]():
		return "must be a number in plain digits without quotes, such as " + m.tags.Example
	case kind == reflect.String:
		return m.noText(must)
	case m.of == reflect.TypeFor[time.Time]():
		if is != "text" || m.Value == "" {
			return m.noText(must)
		}
		return fmt.Sprintf("%q is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00", m.Value)
	case kind == reflect.Bool:
		return m.noBoolean()
	case kind == reflect.Slice && is == "a list":
		return "is an empty list: " + m.tags.InsteadOfNone("a value such as "+m.tags.Entry().Example)
	case kind == reflect.Slice:
		return must("a list") + m.toList(m.of.Elem())
	case kind == reflect.Map && is == "a map":
		return "is empty: " + m.tags.InsteadOfNone("entries such as "+m.tags.Example)
	case kind == reflect.Map || kind == reflect.Struct && m.tags.Example != "":
		return must("a map")
	case kind == reflect.Struct:
		name := someField(m.of).Name + ":"
		reason := must("a map with fields such as " + strconv.Quote(name))
		if m.path == "" && m.Kind == yaml.SequenceNode {
			reason += ": write " + name + " in a line above it"
		}
		return reason
	}
	return m.noInteger()
}

func (m misfit) noText(must func(string) string) string {
	is := m.is()
	_, notTime := time.ParseDuration(m.tags.Example)
	switch inside := m.inBraces(); {
	case is == "text" || is == "empty":
		return "is empty: write text, such as " + m.tags.Example
	case inside != "":
		return fmt.Sprintf("{%s} without quotes is a YAML map: write \"{%[1]s}\"", inside)
	case m.Kind != yaml.ScalarNode:
		return must("text")
	case m.tags.Scalar:
		return m.Value + " is not a number as JSON writes one: put it in quotes, as the token has it"
	case m.Tag == "!!int" && notTime == nil:
		return fmt.Sprintf("needs a unit: write %ss for seconds", m.Value)
	case !regexp.MustCompile(m.tags.Pattern).MatchString(m.Value):
		return must("text")
	}
	return fmt.Sprintf("must be text, and is %s: write %q", is, m.Value)
}

func (m misfit) noInteger() string {
	least, most := bounds(m.of.Bits(), m.tags)
	word, why, _ := strings.Cut(m.tags.Not, ": ")
	meant, ok := ruledoc.MeantNumber(m.Value)
	switch {
	case word == m.Value && why != "":
		return why
	case m.Style == 0 && plainDigits(m.Value):
		return fmt.Sprintf("%s is out of range: write a number from %d to %d", m.Value, least, most)
	case ok && meant >= least && meant <= most:
		return fmt.Sprintf("must be a whole number in plain digits without quotes: write %d", meant)
	}
	return fmt.Sprintf("must be a whole number in plain digits without quotes, such as %d", min(max(least, 10), most))
}

// meantBooleans are texts that YAML or its authors once took for booleans.
var meantBooleans = map[string]bool{"yes": true, "on": true, "true": true, "no": false, "off": false, "false": false}

func (m misfit) noBoolean() string {
	meant, ok := meantBooleans[strings.ToLower(m.Value)]
	switch {
	case m.Tag == "!!bool":
		return "says nothing where it is false: write true, or remove it"
	case ok && (meant || !m.tags.Only):
		return fmt.Sprintf("must be true or false, and is %s: write %t", m.is(), meant)
	}
	return "must be true or false, and is " + m.is()
}

// inBraces returns what stands in the braces of a map that was meant to be a
// text such as {ip}: one name and no value.
func (n node) inBraces() string {
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[1].Tag != "!!null" {
		return ""
	}
	return n.Content[0].Value
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

// toWrite says what to write into an empty document.
func toWrite(t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return "there is nothing to read"
	}
	f := someField(t)
	return cmp.Or(f.Tags.Need, "write fields such as "+strconv.Quote(f.Name+":"))
}

// someField returns a field of a struct for messages: the first that it needs, if
// there is one.
func someField(t reflect.Type) ruledoc.Field {
	fields := ruledoc.Fields(t)
	return fields[max(0, slices.IndexFunc(fields, func(f ruledoc.Field) bool { return f.Tags.Need != "" }))]
}

var fieldName = regexp.MustCompile(`^[\pL\d_-]+$`)

// quotable reports whether messages quote a name. In the expression, a bound would
// repeat all letters, and take milliseconds of each start.
func quotable(name string) bool {
	return fieldName.MatchString(name) && utf8.RuneCountInString(name) <= 48
}

// meantField returns the field of a struct that an unknown name was probably
// meant to be, empty for none, and what to write. found are the fields that the
// map has.
func meantField(name, value string, t reflect.Type, found map[string]entry) (meant, reason string) {
	if before, after, ok := strings.Cut(name, ":"); ok && hasField(t, before) {
		return before, fmt.Sprintf("a space is missing after the colon: write %s: %s", before, after)
	}
	if right := ruledoc.InsteadOfField(t, name, value); right != "" {
		if meant, _, _ = strings.Cut(strings.TrimPrefix(right, "write "), ":"); !hasField(t, meant) {
			meant = ""
		}
		return meant, right
	}
	if list := fieldWith(name, t, found, reflect.Slice); list != "" {
		return "", fmt.Sprintf("it belongs to an entry of %s: indent it like the fields of that entry", list)
	}
	var names []string
	for _, f := range ruledoc.Fields(t) {
		names = append(names, f.Name)
	}
	return ruledoc.Closest(name, names), ruledoc.Suggest(name, names, "there are", "and")
}

// fieldWith returns the field of a struct whose values, or those that it lists or
// points to, have a field of this name: one that the document has, or else the
// first.
func fieldWith(name string, t reflect.Type, found map[string]entry, kind reflect.Kind) (field string) {
	for _, f := range ruledoc.Fields(t) {
		_, stated := found[f.Name]
		if f.Type.Kind() == kind && hasField(f.Type.Elem(), name) && (field == "" || stated) {
			field = f.Name
		}
	}
	return field
}

func hasField(t reflect.Type, name string) bool {
	return t.Kind() == reflect.Struct && slices.ContainsFunc(ruledoc.Fields(t), func(f ruledoc.Field) bool { return f.Name == name })
}
