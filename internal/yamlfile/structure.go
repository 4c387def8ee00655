package yamlfile

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

const (
	maxDepth   = 32      // maps and lists within each other
	maxEntries = 1 << 14 // of one map or list
	maxEmpty   = 1000    // entries without a value, in the whole document
	maxName    = 2048    // bytes of a name, which is a part of many paths

	// maxKeyWork bounds the sum of the squares of the numbers of keys, over all
	// maps in block style: for every key the library copies those before it.
	// Two maps may be as long as maxEntries.
	maxKeyWork = 2 * maxEntries * maxEntries
)

// unsupported is YAML that files do without. Every value stands where it is
// used, and no small file can expand into a large one.
var unsupported = map[token.Type]string{
	token.AnchorType:     "anchors are not supported: write the value out wherever it is used, or quote text that begins with &",
	token.AliasType:      "aliases are not supported: write the value out, or quote text that begins with *",
	token.MergeKeyType:   "merge keys are not supported: write the fields out",
	token.TagType:        "tags are not supported: write the plain value, or quote text that begins with !",
	token.DirectiveType:  "directives are not supported: remove it, or quote text that begins with %",
	token.MappingKeyType: "keys that begin with ? are not supported: write \"name: value\", or quote text that begins with ?",
}

// outline is what the check knows of a document after some of its tokens.
type outline struct {
	open  []collection // the maps and lists around the last token, outermost first
	work  int          // on keys in block style; see maxKeyWork
	empty int          // entries without a value
	begun bool         // the document has begun
	ended bool
}

// collection is a map or a list. In brackets, its kind is that of the opening
// bracket. In block style, it is that of the mark of its entries, which all
// stand in the same column.
type collection struct {
	kind    token.Type
	column  int
	entries int
}

// checkStructure walks the tokens once and reports what the parser must not see.
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

// step adds a token and returns why the document must be refused there, or "".
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

// enter adds an entry in block style. It closes the collections that do not hold
// the entry, then counts the entry in its own collection, which it may open. A
// list may stand in the same column as the map that holds it.
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

// keyColumn returns the column of the key before a colon.
func keyColumn(colon *token.Token) int {
	if key := colon.Prev; key != nil && key.Position.Line == colon.Position.Line {
		return key.Position.Column
	}
	return colon.Position.Column
}

// isEmpty reports whether this token shows that an entry has no value.
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

// holdsNext reports whether the next token belongs to the entry that a mark in
// this column begins.
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
		return fmt.Sprintf("more than %d entries in one map or list: split it; `slidegate overrides import` reads longer lists", maxEntries)
	}
	if o.work > maxKeyWork {
		return "the maps have too many keys together: split it; `slidegate overrides import` reads longer lists"
	}
	return ""
}
