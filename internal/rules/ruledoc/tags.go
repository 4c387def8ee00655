package ruledoc

import (
	"cmp"
	_ "embed" // for texts.txt
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Tags bound a value and describe it to people. They are struct tags of the field
// that has the value, here or in texts.txt. Each tag has the name of a field here,
// in lower case.
type Tags struct {
	Doc     string   // for people who write rules
	Example string   // that messages quote; the first word of Enum by default
	Need    string   // what to write if the value is missing
	Unless  []string // the fields beside it without which it is needed
	Pattern string   // of a text, for editors
	Names   []string // the patterns of the names of a map, and of the maps inside it
	Enum    []string // the only values
	Not     string   // "word: why it cannot stand here"; "a list" for any list
	Meant   string   // what to write in place of usual mistakes: see instead

	Range [2]int64 // of an integer
	Items [2]int64 // the least and the most entries of a list or map; 0 for no bound

	Partial bool // of a form: its fields do not identify it

	Only   bool // a boolean may only be true
	Empty  bool // a text may be empty although it has an example
	Scalar bool // text, or a number or boolean as written
}

// NoTags are those of a value without a field.
var NoTags = Tags{Range: [2]int64{math.MinInt64, math.MaxInt64}}

// With returns t, overwritten by the values that tag states.
func (t Tags) With(tag reflect.StructTag) Tags {
	for f, into := range reflect.ValueOf(&t).Elem().Fields() {
		stated, ok := tag.Lookup(strings.ToLower(f.Name))
		if !ok {
			continue
		}
		switch into := into.Addr().Interface().(type) {
		case *string:
			*into = stated
		case *[]string:
			*into = strings.Fields(stated)
		case *[2]int64:
			_, _ = fmt.Sscan(stated, &into[0], &into[1])
		case *bool:
			*into = true
		}
	}
	if t.Example == "" && len(t.Enum) > 0 {
		t.Example = t.Enum[0]
	}
	return t
}

// Entry returns the tags of the entries of a list or map with the tags t. The
// example of an entry is the first one inside the example of all.
func (t Tags) Entry() Tags {
	t.Doc, t.Need, t.Items = "", "", [2]int64{}
	if len(t.Names) > 0 {
		t.Names = t.Names[1:]
	}
	inside, isList := strings.CutPrefix(t.Example, "[")
	if isList {
		if t.Example = strings.TrimSuffix(inside, "]"); !strings.HasPrefix(inside, "{") {
			t.Example, _, _ = strings.Cut(t.Example, ", ")
		}
	} else if _, entry, isMap := strings.Cut(t.Example, ": "); isMap && strings.HasPrefix(t.Example, "{") {
		t.Example = strings.TrimSuffix(entry, "}")
	}
	return t
}

// InsteadOfNone says what to write instead of an empty list or map.
func (t Tags) InsteadOfNone(entries string) string {
	return cmp.Or(t.Need, "write "+entries+", or remove it")
}

// Field is a field of a struct, as documents name it.
type Field struct {
	Name  string
	Type  reflect.Type
	Index []int // for reflect.Value.FieldByIndex
	Tag   reflect.StructTag
	Tags  Tags
}

var fieldsOf sync.Map // reflect.Type to []Field

//go:embed texts.txt
var textsFile string

// texts returns the tags of texts.txt, by type and field.
var texts = sync.OnceValue(func() map[string]string {
	tags, field := map[string]string{}, ""
	for line := range strings.Lines(textsFile) {
		line = strings.TrimSuffix(line, "\n")
		if tag, value, ok := strings.Cut(line, ": "); ok && line[0] == '\t' {
			tags[field] += " " + tag[1:] + ":" + strconv.Quote(value)
		} else {
			field = line
		}
	}
	return tags
})

// tagOf returns the tag of a field with what texts.txt says of it. A type whose
// name begins with "stated" is a form of the type after that.
func tagOf(owner reflect.Type, name string, tag reflect.StructTag) reflect.StructTag {
	if owner.PkgPath() != reflect.TypeFor[Tags]().PkgPath() {
		return tag
	}
	return tag + reflect.StructTag(texts()[strings.TrimPrefix(owner.Name(), "stated")+"."+name])
}

// Fields returns the fields of a struct type that documents can hold, those of
// embedded structs among them. The name is that of the json tag, or the Go name.
func Fields(t reflect.Type) []Field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]Field)
	}
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		owner := t
		if len(f.Index) > 1 { // of an embedded struct
			owner = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		tag := tagOf(owner, name, f.Tag)
		fields = append(fields, Field{name, f.Type, f.Index, tag, NoTags.With(tag)})
	}
	fieldsOf.Store(t, fields)
	return fields
}

// Pattern returns the pattern that the tags of a field of a struct state, for its
// text or for the names of its map, as Regexp does.
func Pattern(of any, field string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		fields := Fields(reflect.TypeOf(of))
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == field })
		tags := fields[i].Tags
		return regexp.MustCompile(cmp.Or(append([]string{tags.Pattern}, tags.Names...)...))
	})
}

// Regexp returns a regular expression that is compiled when it is first used. A
// Lambda starts without those that its rules do not need.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Union is a type whose values have several forms in documents. Forms returns a
// struct with a field for each form, and fills in the one that the value has.
// UnmarshalJSON of the type reads its JSON.
type Union interface{ Forms() any }

// form is a value in one of its forms.
type form struct {
	Field
	value reflect.Value
}

// formsIn returns the form of a value. A value that a Go program built may have
// several, which no document can state. The zero value has the first form that
// is not text.
func formsIn(u Union) (stated []form) {
	v := reflect.ValueOf(u.Forms())
	var zero []form
	for _, f := range Fields(v.Type()) {
		switch value := v.FieldByIndex(f.Index); {
		case !value.IsZero():
			stated = append(stated, form{f, value})
		case zero == nil && value.Kind() != reflect.String:
			zero = []form{{f, value}}
		}
	}
	if stated == nil {
		return zero
	}
	return stated
}

// FormsOf returns the forms of a type; ok is false if it is no Union.
func FormsOf(t reflect.Type) (forms reflect.Type, ok bool) {
	u, ok := reflect.Zero(t).Interface().(Union)
	if !ok || t.Kind() == reflect.Pointer {
		return nil, false
	}
	return reflect.TypeOf(u.Forms()), true
}
