package rules

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

const (
	maxDepth   = 32      // maps and lists within each other
	maxEntries = 1 << 14 // of one map or list
	maxEmpty   = 1000    // entries without a value, in the whole document

	// maxKeyWork bounds the sum, over the maps in block style, of the squares of the numbers of their keys: the library
	// copies a map's keys anew for each of them. Two maps may be as long as maxEntries.
	maxKeyWork = 2 * maxEntries * maxEntries
)

// unsupported is YAML that a rules document does without. Every value stands where it is used, so that a person can read
// the rule there, an error can name its place, and no small document unfolds into a large one.
var unsupported = map[token.Type]string{
	token.AnchorType:     "anchors are not supported: write the value out wherever it is used, or quote text that begins with &",
	token.AliasType:      "aliases are not supported: write the value out, or quote text that begins with *",
	token.MergeKeyType:   "merge keys are not supported: write the fields out",
	token.TagType:        "tags are not supported: write the plain value, or quote text that begins with !",
	token.DirectiveType:  "directives are not supported: remove it, or quote text that begins with %",
	token.MappingKeyType: "keys that begin with ? are not supported: write \"name: value\", or quote text that begins with ?",
}

// outline is the check's picture of a document, token by token.
type outline struct {
	open  []collection // from the outermost to the one that the check stands in
	work  int          // on keys in block style so far
	empty int          // entries without a value so far
	begun bool         // the document has
	ended bool
}

// collection is a map or a list. One in brackets is of the kind that opens it; one in block style is of the kind of mark
// that its entries have in common, and their column.
type collection struct {
	kind    token.Type
	column  int
	entries int
}

// checkStructure walks the tokens once and refuses what the parser should not see.
func checkStructure(tokens token.Tokens) (bad Errors) {
	var o outline
	for _, tk := range tokens {
		reason, stop := unsupported[tk.Type], tk.Type == token.DirectiveType
		if reason == "" {
			reason = o.step(tk)
			stop = reason != ""
		}
		if reason != "" {
			bad = append(bad, &Error{Line: tk.Position.Line, Column: tk.Position.Column, Reason: reason})
		}
		if stop {
			break
		}
	}
	return bad
}

// step takes in a token and returns why the document must be refused there; nothing if it is fine.
func (o *outline) step(tk *token.Token) (reason string) {
	if o.ended || o.begun && tk.Type == token.DocumentHeaderType {
		return "a second document begins here: a file holds one"
	}
	o.begun = true
	if o.isEmpty(tk) {
		o.empty++
	}
	switch tk.Type {
	case token.DocumentEndType:
		o.ended = true
	case token.MappingStartType, token.SequenceStartType:
		o.open = append(o.open, collection{kind: tk.Type})
	case token.MappingEndType, token.SequenceEndType:
		if o.inBrackets() {
			o.open = o.open[:len(o.open)-1]
		}
	case token.CollectEntryType:
		if o.inBrackets() {
			o.open[len(o.open)-1].entries++
		}
	case token.SequenceEntryType:
		if o.inBrackets() {
			return "an entry that begins with - cannot stand in brackets: separate entries with commas"
		}
		o.enter(tk.Type, tk.Position.Column)
	case token.MappingValueType:
		if !o.inBrackets() {
			o.enter(tk.Type, keyColumn(tk))
		}
	}
	return o.tooMuch()
}

func (o *outline) isInside(kind token.Type) bool {
	return len(o.open) > 0 && o.open[len(o.open)-1].kind == kind
}

func (o *outline) inBrackets() bool {
	return o.isInside(token.MappingStartType) || o.isInside(token.SequenceStartType)
}

// enter comes to an entry in block style. It closes every collection that the entry is not inside of, then adds to the
// entry's own or opens it. A list may stand in the same column as the map that holds it.
func (o *outline) enter(kind token.Type, column int) {
	for len(o.open) > 0 {
		top := &o.open[len(o.open)-1]
		if top.kind == kind && top.column == column {
			o.add(top)
			return
		}
		holds := top.column < column || top.column == column && top.kind == token.MappingValueType
		if holds {
			break
		}
		o.open = o.open[:len(o.open)-1]
	}
	o.open = append(o.open, collection{kind: kind, column: column})
	o.add(&o.open[len(o.open)-1])
}

// add counts an entry in block style.
func (o *outline) add(c *collection) {
	if c.kind == token.MappingValueType {
		o.work += 2*c.entries + 1 // to the next square
	}
	c.entries++
}

// keyColumn returns the column of the key that a colon follows.
func keyColumn(colon *token.Token) int {
	if key := colon.Prev; key != nil && key.Position.Line == colon.Position.Line {
		return key.Position.Column
	}
	return colon.Position.Column
}

// isEmpty reports whether an entry shows itself at this token to have no value.
func (o *outline) isEmpty(tk *token.Token) bool {
	next := token.InvalidType
	if tk.Next != nil {
		next = tk.Next.Type
	}
	switch {
	case tk.Type == token.SequenceEntryType:
		return !holdsNext(tk, tk.Position.Column)
	case tk.Type == token.MappingValueType && o.inBrackets():
		return isEndOfEntry(next)
	case tk.Type == token.MappingValueType:
		column := keyColumn(tk)
		return !holdsNext(tk, column) && !(next == token.SequenceEntryType && tk.Next.Position.Column == column)
	case tk.Prev != nil && (tk.Prev.Type == token.MappingStartType || tk.Prev.Type == token.CollectEntryType):
		return o.isInside(token.MappingStartType) && isEndOfEntry(next) // a name alone in braces
	}
	return false
}

// holdsNext reports whether the next token belongs to the entry that a mark in this column begins.
func holdsNext(mark *token.Token, column int) bool {
	next := mark.Next
	return next != nil && (next.Position.Line == mark.Position.Line || next.Position.Column > column)
}

func isEndOfEntry(t token.Type) bool {
	return t == token.CollectEntryType || t == token.MappingEndType || t == token.SequenceEndType
}

func (o *outline) tooMuch() (reason string) {
	if o.empty > maxEmpty {
		return fmt.Sprintf("more than %d entries without a value", maxEmpty)
	}
	if len(o.open) > maxDepth {
		return fmt.Sprintf("more than %d maps and lists within each other", maxDepth)
	}
	if len(o.open) == 0 {
		return ""
	}
	if o.open[len(o.open)-1].entries > maxEntries {
		return fmt.Sprintf("more than %d entries in one map or list: split the rules by API, and put so many overrides into the table by `slidegate overrides import`", maxEntries)
	}
	if o.work > maxKeyWork {
		return "the maps have too many keys together: split the rules by API, and put so many overrides into the table by `slidegate overrides import`"
	}
	return ""
}
