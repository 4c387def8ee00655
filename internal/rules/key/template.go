package key

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request/urlpath"
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
}

func isSeparator(c byte) bool { return c == ':' || c == '|' }

// Parse reads a key template such as "tenant:{header.x-tenant}|{ip}". The faults
// say what to write instead.
func Parse(text string) (t Template, faults []problem.Fault) {
	fail := func(code problem.Code, args ...any) { faults = append(faults, problem.New(code, args...)) }
	if len(text) == 0 || len(text) > maxTemplate {
		fail(problem.KeyLength, maxTemplate)
		return t, faults
	}
	if single := strings.NewReplacer("{{", "{", "}}", "}").Replace(text); single != text {
		if _, faults = Parse(single); len(faults) == 0 {
			fail(problem.Instead, "sources have single braces", single)
		}
		return t, faults
	}
	for rest := text; rest != ""; {
		if rest[0] != '{' {
			n := strings.IndexByte(rest+"{", '{')
			if i := strings.IndexFunc(rest[:n], isForbidden); i >= 0 {
				fail(problem.KeyCharacter, []rune(rest[i:n])[0])
			}
			t.Parts, rest = append(t.Parts, Part{Literal, rest[:n]}), rest[n:]
			continue
		}
		inside, tail, closed := strings.Cut(rest[1:], "}")
		if !closed {
			fail(problem.NeverClosed, rest)
			return t, faults
		}
		if p, wrong := parseSource(inside, inBraces); wrong.Found() {
			faults = append(faults, wrong)
		} else {
			t.Parts = append(t.Parts, p)
			if p.Kind.IsClient() {
				t.ClientSources = append(t.ClientSources, inBraces(inside))
			}
		}
		if tail != "" && !isSeparator(tail[0]) {
			fail(problem.NoSeparator, inside)
		}
		rest = tail
	}
	return t, faults
}

// isForbidden reports whether a template's own text cannot hold a character.
func isForbidden(c rune) bool { return c < ' ' || c > '~' || c == '%' || c == '}' }

// Has reports whether a source is part of the template, which may be nil.
func (t *Template) Has(p Part) bool { return t != nil && slices.Contains(t.Parts, p) }

// String writes the template as a document has it; "" for none.
func (t *Template) String() string {
	return t.write(func(p Part) string { return inBraces(p.String()) })
}

// Outline formats what all keys of the template have in common: the text around
// their values, which are {}.
func (t *Template) Outline() string { return t.write(func(Part) string { return "{}" }) }

func (t *Template) write(source func(Part) string) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Kind == Literal {
			b.WriteString(p.Text)
		} else {
			b.WriteString(source(p))
		}
	}
	return b.String()
}

// split returns the values in a key, escaped, in the order of the sources. It
// finds none in a key that was cut. The error says why the template can never
// have made the key, hashed keys aside.
func (t *Template) split(key string) (values []string, err error) {
	if t.Hash == nil && len(key) >= MaxLen {
		switch {
		case len(key) > MaxLen:
			err = fmt.Errorf("a key is at most %d bytes long", MaxLen)
		case key[cutPrefix] != '~' || strings.Trim(key[cutPrefix+1:], "0123456789abcdef") != "":
			err = fmt.Errorf("a key of %d bytes ends in ~ and %d hex digits", MaxLen, hashDigits)
		}
		return nil, err
	}
	for _, p := range t.Parts {
		if p.Kind == Literal {
			tail, ok := strings.CutPrefix(key, p.Text)
			if !ok {
				return nil, fmt.Errorf("%q is missing", p.Text)
			}
			key = tail
			continue
		}
		n := strings.IndexAny(key, ":|")
		if n < 0 {
			n = len(key)
		}
		if err := checkValue(key[:n]); err != nil {
			return nil, err
		}
		values, key = append(values, key[:n]), key[n:]
	}
	if key != "" {
		return nil, fmt.Errorf("%q is too much: a : or | inside a value is written %%3A or %%7C", key)
	}
	return values, nil
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
