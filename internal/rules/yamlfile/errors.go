package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Error is one thing that is wrong in a file, and what to write instead.
type Error struct {
	File   string `json:"file"`   // as the caller named it
	Line   int    `json:"line"`   // from 1; 0 for what stands nowhere in the file
	Column int    `json:"column"` // from 1, in characters; 0 for no line
	Path   string `json:"path"`   // such as "rules[1].limits[0].window"; empty for the document itself
	Reason string `json:"reason"`
}

// Error returns one line, "file:line:column: path: reason", or "file: path:
// reason" without a line.
func (e *Error) Error() string {
	text := e.Reason
	if e.Path != "" {
		text = e.Path + ": " + e.Reason
	}
	if e.Line == 0 {
		return e.File + ": " + strings.Map(visible, escapes.Replace(text))
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, strings.Map(visible, escapes.Replace(text)))
}

var escapes = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// visible keeps text that a message quotes from a file from breaking the line
// or controlling a terminal.
func visible(c rune) rune {
	if unicode.IsControl(c) {
		return unicode.ReplacementChar
	}
	return c
}

// Errors is everything that is wrong in a file, in the order of its text.
type Errors []*Error

// Error returns a line for each error.
func (e Errors) Error() string { return strings.Join(e.Lines(), "\n") }

// Lines returns the texts of the errors.
func (e Errors) Lines() []string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return lines
}

// Unwrap gives errors.As each *Error.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// in names the file, sorts the errors by place, and leaves out repeated ones.
func (e Errors) in(file string) Errors {
	for _, err := range e {
		err.File = file
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	// Several problems of one value may have one cause, such as a curly quote.
	return slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b })
}
