package ruledoc

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Check returns what the tags of a document's fields, or those of an override,
// find wrong: required values that are missing, and values outside their
// field's range, words or number of entries. A field with its zero value
// counts as missing.
func Check(of any) []Problem {
	c := &checker{}
	c.value("", reflect.ValueOf(of), NoTags)
	return c.problems
}

type checker struct{ problems []Problem }

func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// value checks a value by the tags of the field that holds it.
func (c *checker) value(path string, v reflect.Value, tags Tags) {
	if c.special(path, v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.value(path, v.Elem(), tags)
		}
	case reflect.Struct:
		c.structure(path, v)
	case reflect.Slice:
		c.list(path, v, tags)
	case reflect.Map:
		c.entries(path, v, tags)
	case reflect.String:
		c.word(path, v.String(), tags)
	case reflect.Int64:
		c.number(path, v.Int(), tags)
	}
}

func (c *checker) structure(path string, v reflect.Value) {
	for _, f := range Fields(v.Type()) {
		switch field := v.FieldByIndex(f.Index); {
		case !field.IsZero():
			c.length(Join(path, f.Name), field, f.Tags)
			c.value(Join(path, f.Name), field, f.Tags)
		case f.Tags.Need != "":
			c.fail(Join(path, f.Name), "is missing: %s", f.Tags.Need)
		}
	}
}

// length checks the number of entries.
func (c *checker) length(path string, v reflect.Value, tags Tags) {
	least, most := tags.MinItems, tags.MaxItems
	switch {
	case most == 0 && least > 0 && v.Len() < least:
		c.fail(path, "is empty: write a value or remove it")
	case most != 0 && (v.Len() < least || v.Len() > most):
		c.fail(path, "holds %d %s: write %d to %d", v.Len(), path[strings.LastIndexByte(path, '.')+1:], least, most)
	}
}

func (c *checker) list(path string, v reflect.Value, tags Tags) {
	switch v.Interface().(type) {
	case Texts, Words, Statuses:
		c.length(path, v, Tags{MinItems: 1})
	}
	for i := range v.Len() {
		c.value(Index(path, i), v.Index(i), tags)
	}
}

func (c *checker) entries(path string, v reflect.Value, tags Tags) {
	for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
		c.value(Join(path, key.String()), v.MapIndex(key), tags)
	}
}

func (c *checker) word(path, word string, tags Tags) {
	if len(tags.Enum) > 0 && !slices.Contains(tags.Enum, word) {
		c.fail(path, "unknown value %q: %s", word, Suggest(word, tags.Enum, "write", "or"))
	}
}

func (c *checker) number(path string, n int64, tags Tags) {
	if least, most := tags.Range[0], tags.Range[1]; n < least || n > most {
		c.fail(path, "%d is out of range: write a number from %d to %d", n, least, most)
	}
}

// maxPercent is the highest candidate in percent of a capacity.
const maxPercent = 1000

// special checks the types that have several forms, in the form that they
// have. It returns false for all other types.
func (c *checker) special(path string, v reflect.Value) bool {
	switch value := v.Interface().(type) {
	case Cost:
		if value != (Cost{Units: value.Units}) {
			return false
		}
		c.number(path, value.Units, formTags(value, "Units"))
	case Anchor:
		if value.From != "" {
			return false
		}
		c.number(path, value.Day, formTags(value, "Day"))
	case Candidate:
		c.candidate(path, value)
	case Capacities:
		c.capacities(path, value)
	case PlanCapacity:
		if !value.Unlimited {
			c.capacities(path, value.Capacity)
		}
	default:
		return false
	}
	return true
}

func (c *checker) candidate(path string, value Candidate) {
	switch {
	case value.Percent == 0:
		c.number(path, value.Units, formTags(value, "Units"))
	case value.Percent < 1 || value.Percent > maxPercent:
		c.fail(path, `"%d%%" is out of range: write a percentage from 1%% to %d%%`, value.Percent, maxPercent)
	}
}

func (c *checker) capacities(path string, all Capacities) {
	if len(all) == 0 {
		c.fail(path, "is empty: write a capacity, such as {requests: 60}")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at, form := path, "Only"
		if name != "" {
			at, form = Join(path, name), "ByName"
		}
		c.number(at, all[name], formTags(all, form))
	}
}

// formTags returns the tags of a form in which documents write a value.
func formTags(value Union, form string) Tags {
	for _, f := range Fields(reflect.TypeOf(value.Forms())) {
		if f.Name == form {
			return f.Tags
		}
	}
	return NoTags
}

// Join returns the path of a field, or of an entry of a map.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of an entry of a list.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
