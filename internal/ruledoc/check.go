package ruledoc

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Check returns what the tags of a document's fields, or those of an override,
// find wrong: required values that are missing, and values outside their
// field's range, words or number of entries. A field with its zero value
// counts as missing.
func Check(of any) []Problem {
	c := &checker{}
	c.value("", reflect.ValueOf(of), "")
	return c.problems
}

type checker struct{ problems []Problem }

func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// value checks a value by the tags of the field that holds it.
func (c *checker) value(path string, v reflect.Value, tags reflect.StructTag) {
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
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		need := field.Tag.Get("need")
		switch {
		case name == "-" || !field.IsExported():
		case !v.Field(i).IsZero():
			c.length(Join(path, name), v.Field(i), field.Tag.Get("items"))
			c.value(Join(path, name), v.Field(i), field.Tag)
		case need != "":
			c.fail(Join(path, name), "is missing: %s", need)
		}
	}
}

// length checks the number of entries by a tag such as items:"1 8", where 0 as
// the second number stands for any number.
func (c *checker) length(path string, v reflect.Value, items string) {
	least, most, ok := bounds(items)
	switch {
	case !ok:
	case most == 0 && int64(v.Len()) < least:
		c.fail(path, "is empty: write a value or remove it")
	case most != 0 && (int64(v.Len()) < least || int64(v.Len()) > most):
		c.fail(path, "holds %d %s: write %d to %d", v.Len(), path[strings.LastIndexByte(path, '.')+1:], least, most)
	}
}

func (c *checker) list(path string, v reflect.Value, tags reflect.StructTag) {
	switch v.Interface().(type) {
	case Texts, Words, Statuses:
		c.length(path, v, "1 0")
	}
	for i := range v.Len() {
		c.value(Index(path, i), v.Index(i), tags)
	}
}

func (c *checker) entries(path string, v reflect.Value, tags reflect.StructTag) {
	for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
		c.value(Join(path, key.String()), v.MapIndex(key), tags)
	}
}

func (c *checker) word(path, word string, tags reflect.StructTag) {
	if known := strings.Fields(tags.Get("enum")); len(known) > 0 && !slices.Contains(known, word) {
		c.fail(path, "unknown value %q: %s", word, Suggest(word, known, "write", "or"))
	}
}

func (c *checker) number(path string, n int64, tags reflect.StructTag) {
	if least, most, ok := bounds(tags.Get("range")); ok && (n < least || n > most) {
		c.fail(path, "%d is out of range: write a number from %d to %d", n, least, most)
	}
}

// bounds reads a tag such as range:"1 28".
func bounds(tag string) (least, most int64, ok bool) {
	first, second, ok := strings.Cut(tag, " ")
	if !ok {
		return 0, 0, false
	}
	least, err := strconv.ParseInt(first, 10, 64)
	most, err2 := strconv.ParseInt(second, 10, 64)
	return least, most, err == nil && err2 == nil
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
func formTags(value interface{ Forms() any }, form string) reflect.StructTag {
	field, _ := reflect.TypeOf(value.Forms()).FieldByName(form)
	return field.Tag
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
