package rules

import (
	"regexp"
	"slices"
)

// kind is what a value can be, as YAML and JSON tell values apart.
type kind uint8

const (
	aNumber kind = iota // a whole one
	aText
	aFlag   // true or false
	aScalar // text, true or false, or any number, taken as it is written
	aList
	aMap
	anyOf // several of them
)

// form is how a value is written. The decoder reads by it and the schema is made of it, so the two cannot come apart.
type form struct {
	kind        kind
	least, most int64          // of a number, or the entries of a list, where most is 0 for any
	words       []string       // that a text can be; nil for others too
	pattern     *regexp.Regexp // of a text, or of the names of a map that makes up its own; nil for any
	example     string         // for messages
	entries     *form          // of a list, or of a map that makes up its own names
	fields      func() []field // of a map whose names are known
	name        string         // under which the schema keeps it; empty where it stands in one place only
	either      []form         // what anyOf can be, one of each kind
}

// field is one that a map may have. Fields are decoded in the order of the table, not of the document, so that one may
// build on another.
type field struct {
	name    string
	doc     string // what it means, in one sentence for people who write rules
	form    form
	at      *value      // where to note the place; nil for nowhere
	decode  func(value) // nil where the place is enough
	missing string      // what to write, if the field has to be there
}

// allBut leaves out fields.
func allBut(fields []field, names ...string) []field {
	return slices.DeleteFunc(fields, func(f field) bool { return slices.Contains(names, f.name) })
}

func number(least, most int64) form { return form{kind: aNumber, least: least, most: most} }

func text(example string) form { return form{kind: aText, example: example} }

func textLike(pattern *regexp.Regexp, example string) form {
	return form{kind: aText, pattern: pattern, example: example}
}

func oneOf(words []string) form { return form{kind: aText, words: words, example: words[0]} }

func trueOrFalse() form { return form{kind: aFlag} }

func listOf(entry form, example string) form {
	return form{kind: aList, entries: &entry, example: example}
}

// someOf is a list of entries, or one alone.
func someOf(entry form) form {
	return either(entry, listOf(entry, entry.example).between(1, 0))
}

func mapOf(fields func() []field) form { return form{kind: aMap, fields: fields} }

// namesTo is a map that makes up its own names.
func namesTo(entry form, pattern *regexp.Regexp, example string) form {
	return form{kind: aMap, entries: &entry, pattern: pattern, example: example}
}

// either takes apart what it is given, so that each of the result's is of one kind.
func either(forms ...form) form {
	f := form{kind: anyOf}
	for _, one := range forms {
		if one.kind == anyOf {
			f.either = append(f.either, one.either...)
		} else {
			f.either = append(f.either, one)
		}
	}
	return f
}

// as returns what the form says of values of a kind: nothing, if there are none.
func (f *form) as(k kind) form {
	if f.kind == k {
		return *f
	}
	for _, one := range f.either {
		if one.kind == k {
			return one
		}
	}
	return form{}
}

// between says how many entries a list has.
func (f form) between(least, most int64) form {
	f.least, f.most = least, most
	return f
}

func (f form) named(name string) form {
	f.name = name
	return f
}
