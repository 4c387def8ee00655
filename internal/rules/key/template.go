package key

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slidegate/slidegate/internal/urlpath"
)

// maxTemplate is the length of the longest key template, in bytes.
const maxTemplate = 256

// Template makes keys out of requests. Every source is followed by a separator
// or the end, and values are escaped, so a key can be read back in one way
// only.
type Template struct {
	Parts         []Part
	ClientSources []string // the sources that the client fills, as written
	Hash          *Hash    // replaces the keys by hashes; nil for plain keys
	typed         func() *typedForms
}

func isSeparator(c byte) bool { return c == ':' || c == '|' }

// Parse reads a key template such as "tenant:{header.x-tenant}|{ip}".
// The problems say what to write instead.
func Parse(text string) (t Template, problems []string) {
	if len(text) == 0 || len(text) > maxTemplate {
		return t, []string{fmt.Sprintf("a key is 1 to %d bytes long: write \"ip:{ip}\" to count by address, "+
			"or a fixed text to count all requests together", maxTemplate)}
	}
	for rest := text; rest != ""; {
		if rest[0] != '{' {
			n := strings.IndexByte(rest+"{", '{')
			problems = appendProblem(problems, t.addLiteral(rest[:n]))
			rest = rest[n:]
			continue
		}
		inside, tail, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return t, append(problems, fmt.Sprintf("%q is never closed: write } after the name", rest))
		}
		problems = appendProblem(problems, t.addSource(inside))
		if tail != "" && !isSeparator(tail[0]) {
			problems = append(problems, fmt.Sprintf("write : or | after {%s}, so that no two requests can have the same key", inside))
		}
		rest = tail
	}
	untyped := t
	t.typed = sync.OnceValue(untyped.patterns)
	return t, problems
}

func appendProblem(problems []string, problem string) []string {
	if problem == "" {
		return problems
	}
	return append(problems, problem)
}

func (t *Template) addLiteral(text string) (problem string) {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '%' || c == '}' {
			return fmt.Sprintf("%q cannot stand in a key's own text: use printable ASCII without %%, { and }", c)
		}
	}
	t.Parts = append(t.Parts, Part{Literal, text})
	return ""
}

func (t *Template) addSource(text string) (problem string) {
	p, client, problem := parseBraced(text)
	if problem != "" {
		return problem
	}
	if client {
		t.ClientSources = append(t.ClientSources, "{"+text+"}")
	}
	t.Parts = append(t.Parts, p)
	return ""
}

// Has reports whether a source is part of the template, which may be nil.
func (t *Template) Has(p Part) bool { return t != nil && slices.Contains(t.Parts, p) }

// String writes the template as a document has it; "" for none.
func (t *Template) String() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Kind == Literal {
			b.WriteString(p.Text)
		} else {
			b.WriteString("{" + p.String() + "}")
		}
	}
	return b.String()
}

// Check reports why the template can never have made a key, hashed keys aside;
// nil if it can.
func (t *Template) Check(key string) error {
	if t.Hash == nil && len(key) >= MaxLen {
		return checkCut(key)
	}
	rest := key
	for _, p := range t.Parts {
		if p.Kind == Literal {
			tail, ok := strings.CutPrefix(rest, p.Text)
			if !ok {
				return fmt.Errorf("%q is not in its place", p.Text)
			}
			rest = tail
			continue
		}
		n := len(rest)
		if i := strings.IndexAny(rest, ":|"); i >= 0 {
			n = i
		}
		if err := checkValue(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if rest != "" {
		return fmt.Errorf("%q is too much: a : or | inside a value is written %%3A or %%7C", rest)
	}
	return nil
}

func checkCut(key string) error {
	if len(key) > MaxLen {
		return fmt.Errorf("a key is at most %d bytes long", MaxLen)
	}
	if key[cutPrefix] != '~' || strings.Trim(key[cutPrefix+1:], "0123456789abcdef") != "" {
		return fmt.Errorf("a key of %d bytes ends in ~ and %d hex digits", MaxLen, hashDigits)
	}
	return nil
}

// checkValue reports why appendValue and appendValues cannot have written a
// value.
func checkValue(v string) error {
	if v == "" {
		return fmt.Errorf("a part that a request lacks is written %c", absent)
	}
	for i := 0; i < len(v); i++ {
		escape := v[i:min(i+3, len(v))]
		switch c := v[i]; {
		case c == '%' && !urlpath.HasEscape(escape):
			return errors.New("a % inside a value is written %25")
		case c == '%':
			b := urlpath.Decode(escape)[0]
			if !mustEscape(b) && v != "%2D" || escape != strings.ToUpper(escape) {
				return fmt.Errorf("%s is not how a key encodes %q", escape, b)
			}
			i += 2
		case mustEscape(c):
			return fmt.Errorf("a byte outside printable ASCII is written as an escape, here %s", appendEscape(nil, c))
		}
	}
	return nil
}
