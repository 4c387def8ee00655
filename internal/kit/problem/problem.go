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
