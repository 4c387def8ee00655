package problem

import (
	"fmt"
	"strings"
)

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
