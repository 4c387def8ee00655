package rules

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

// template makes keys out of requests. Every source is followed by a separator
// or the end, and values are escaped, so a key can be read back in one way
// only.
type template struct {
	parts  []part
	client []string // the sources that the client fills, as written
	hash   *keyHash // replaces the keys by hashes; nil for plain keys
	typed  func() *typedForms
}

func isSeparator(c byte) bool { return c == ':' || c == '|' }

// parseTemplate reads a key template such as "tenant:{header.x-tenant}|{ip}".
// The problems say what to write instead.
func parseTemplate(text string) (t template, problems []string) {
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
	t.typed = sync.OnceValue(untyped.forms)
	return t, problems
}

func appendProblem(problems []string, problem string) []string {
	if problem == "" {
		return problems
	}
	return append(problems, problem)
}

func (t *template) addLiteral(text string) (problem string) {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '%' || c == '}' {
			return fmt.Sprintf("%q cannot stand in a key's own text: use printable ASCII without %%, { and }", c)
		}
	}
	t.parts = append(t.parts, part{literal, text})
	return ""
}

func (t *template) addSource(text string) (problem string) {
	p, client, problem := parseSource(text)
	if problem != "" {
		return problem
	}
	if client {
		t.client = append(t.client, "{"+text+"}")
	}
	t.parts = append(t.parts, p)
	return ""
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2: the form of
// header names and methods.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// has reports whether a source is part of the template, which may be nil.
func (t *template) has(p part) bool { return t != nil && slices.Contains(t.parts, p) }

// text writes the template as a document has it; "" for none.
func (t *template) text() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.source == literal {
			b.WriteString(p.text)
		} else {
			b.WriteString("{" + p.spell() + "}")
		}
	}
	return b.String()
}

// fits reports why the template can never have made a key, hashed keys aside;
// nil if it can.
func (t *template) fits(key string) error {
	if t.hash == nil && len(key) >= MaxKey {
		return fitsCut(key)
	}
	rest := key
	for _, p := range t.parts {
		if p.source == literal {
			tail, ok := strings.CutPrefix(rest, p.text)
			if !ok {
				return fmt.Errorf("%q is not in its place", p.text)
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

func fitsCut(key string) error {
	if len(key) > MaxKey {
		return fmt.Errorf("a key is at most %d bytes long", MaxKey)
	}
	if key[hashedPrefix] != '~' || strings.Trim(key[hashedPrefix+1:], "0123456789abcdef") != "" {
		return fmt.Errorf("a key of %d bytes ends in ~ and %d hex digits", MaxKey, hashDigits)
	}
	return nil
}

// checkValue reports why appendValue and appendValues cannot have written a
// value.
func checkValue(v string) error {
	if v == "" {
		return fmt.Errorf("a part that a request lacks is written %c", lacking)
	}
	for i := 0; i < len(v); i++ {
		escape := v[i:min(i+3, len(v))]
		switch c := v[i]; {
		case c == '%' && !urlpath.HasEscape(escape):
			return errors.New("a % inside a value is written %25")
		case c == '%':
			b := urlpath.Decode(escape)[0]
			if !mustEscape(b) && v != "%2D" || escape != strings.ToUpper(escape) {
				return fmt.Errorf("%s is not how a key spells %q", escape, b)
			}
			i += 2
		case mustEscape(c):
			return fmt.Errorf("a byte outside printable ASCII is written as an escape, here %s", appendEscape(nil, c))
		}
	}
	return nil
}
