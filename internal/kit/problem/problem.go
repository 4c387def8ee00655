// Package problem has what is wrong with rules as data, and the words for it.
//
// The compiler of rules reports a Problem: where it is, which kind of mistake it
// is, and what a sentence about it needs. Its Code has the words of the sentence:
// for rules files, and for Go programs where those differ.
package problem

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a document, or suspicious in it.
type Problem struct {
	Path Path
	// AtKey says that the problem is the last name in Path, not the value that
	// it names: an unknown rule in overrides, say.
	AtKey bool
	Fault
}

// String returns "path: reason" in the words of rules files.
func (p Problem) String() string {
	if len(p.Path) == 0 {
		return p.Reason()
	}
	return p.Path.String() + ": " + p.Reason()
}

// Fault is what is wrong with a value. The zero Fault is none.
type Fault struct {
	Code Code
	Args []any // what the words of the code quote, in the order of its comment
}

// New returns a fault.
func New(code Code, args ...any) Fault { return Fault{code, args} }

// Found reports whether there is a fault.
func (f Fault) Found() bool { return f.Code != nil }

// Reason says what is wrong and what to write instead, in the words of rules
// files; "" for no fault.
func (f Fault) Reason() string {
	if f.Code == nil {
		return ""
	}
	return sentence(f.Code.inFiles, f.Args)
}

// sentence fills in the words of a table. They may leave arguments out.
func sentence(words string, args []any) string {
	if !strings.Contains(words, "%") {
		return words
	}
	return fmt.Sprintf(words, args...)
}

// Field is a field of documents, as an argument.
type Field string

// Need says what to write for a field that is missing, as an argument.
type Need struct{ Field, Write string }

// String returns what to write in a file.
func (n Need) String() string { return n.Write }

// Path leads from a document to one of its values. Its steps are names of fields
// and of entries, which are strings, and places in lists, which are ints. The
// empty Path is the document itself.
type Path []any

// Root returns a path of one field.
func Root(field string) Path { return Path{field} }

// To returns the path of a field, or of an entry by its name.
func (p Path) To(name string) Path { return append(p[:len(p):len(p)], name) }

// At returns the path of an entry of a list.
func (p Path) At(i int) Path { return append(p[:len(p):len(p)], i) }

// String returns the path as people read it, such as
// "rules[1].limits[0].window".
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// Last returns the last name of the path; "" for none.
func (p Path) Last() string {
	for i := len(p) - 1; i >= 0; i-- {
		if name, ok := p[i].(string); ok {
			return name
		}
	}
	return ""
}

// entry returns the place in a list that the path leads to or through, and the
// steps after it. ok is false for a path that begins otherwise.
func (p Path) entry(list string) (i int, rest Path, ok bool) {
	if len(p) < 2 || p[0] != list {
		return 0, p, false
	}
	i, ok = p[1].(int)
	return i, p[2:], ok
}
