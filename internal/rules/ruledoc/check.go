package ruledoc

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
)

// Check tests a document, or an override, against the tags of its fields. It
// returns required values that are missing, and values outside their field's
// range, words or number of entries. A field with its zero value counts as
// missing.
func Check(of any) []problem.Problem {
	c := &checker{}
	c.value(nil, reflect.ValueOf(of), NoTags)
	return c.problems
}

type checker struct{ problems []problem.Problem }

func (c *checker) fail(path problem.Path, code problem.Code, args ...any) {
	c.problems = append(c.problems, problem.Problem{Path: path, Fault: problem.New(code, args...)})
}

// value checks a value by the tags of the field that holds it.
func (c *checker) value(path problem.Path, v reflect.Value, tags Tags) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			c.value(path, v.Elem(), tags)
		}
		return
	}
	if u, ok := v.Interface().(Union); ok && v.Kind() != reflect.Slice {
		c.union(path, u)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		c.structure(path, v)
	case reflect.Slice:
		c.list(path, v, tags)
	case reflect.Map:
		c.entries(path, v, tags)
	case reflect.String:
		if word := v.String(); len(tags.Enum) > 0 && !slices.Contains(tags.Enum, word) {
			c.fail(path, problem.UnknownWord, strconv.Quote(word), Suggest(word, tags.Enum, "write", "or"))
		}
	case reflect.Int64:
		if n, least, most := v.Int(), tags.Range[0], tags.Range[1]; n < least || n > most {
			c.fail(path, problem.OutOfRange, n, least, most)
		}
	}
}

func (c *checker) structure(path problem.Path, v reflect.Value) {
	for _, f := range Fields(v.Type()) {
		switch field := v.FieldByIndex(f.Index); {
		case !field.IsZero():
			c.length(path.To(f.Name), field, f.Tags)
			c.value(path.To(f.Name), field, f.Tags)
		case f.Tags.Need != "" && !slices.ContainsFunc(Fields(v.Type()), func(other Field) bool {
			return slices.Contains(f.Tags.Unless, other.Name) && !v.FieldByIndex(other.Index).IsZero()
		}):
			c.fail(path.To(f.Name), problem.Missing, problem.Need{Field: f.Name, Write: f.Tags.Need})
		}
	}
}

// length checks the number of entries.
func (c *checker) length(path problem.Path, v reflect.Value, tags Tags) {
	least, most := tags.Items[0], tags.Items[1]
	if least == 0 {
		return
	}
	switch n := int64(v.Len()); {
	case most == 0 && n == 0:
		c.fail(path, problem.EmptyList)
	case most != 0 && (n < least || n > most):
		c.fail(path, problem.Count, n, path.Last(), least, most)
	}
}

func (c *checker) list(path problem.Path, v reflect.Value, tags Tags) {
	if _, ok := v.Interface().(Union); ok {
		c.length(path, v, Tags{Items: [2]int64{1, 0}})
	}
	for i := range v.Len() {
		c.value(path.At(i), v.Index(i), tags)
	}
}

func (c *checker) entries(path problem.Path, v reflect.Value, tags Tags) {
	byName := func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), byName) {
		c.value(path.To(key.String()), v.MapIndex(key), tags)
	}
}

// maxPercent is the highest candidate in percent of a capacity.
const maxPercent = 1000

// union checks a value in the form that it has.
func (c *checker) union(path problem.Path, u Union) {
	forms := formsIn(u)
	if len(forms) > 1 {
		c.fail(path, problem.Twice, forms[0].Name, forms[1].Name)
	}
	for _, f := range forms {
		c.length(path, f.value, f.Tags)
		c.value(path, f.value, f.Tags)
	}
	if value, ok := u.(Candidate); ok && (value.Percent < 0 || value.Percent > maxPercent) {
		c.fail(path, problem.Instead, fmt.Sprintf(`"%d%%" is out of range`, value.Percent),
			fmt.Sprintf("a percentage from 1%% to %d%%", maxPercent))
	}
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
