package rules

import (
	"fmt"
	"strings"
	"sync"
)

// maxTemplate is the length of the longest key template, in bytes.
const maxTemplate = 256

// template is how a rule makes a key out of a request. Every source is followed by a separator or the end, and values are
// escaped, so a key can be read back in one way only.
type template struct {
	parts  []part
	client []string // the sources that the client fills, as written
	hash   *keyHash // what stands in the place of the keys; nil for themselves
	typed  func() *typedForms
}

func isSeparator(c byte) bool { return c == ':' || c == '|' }

// parseTemplate reads a key template such as "tenant:{header.x-tenant}|{ip}". The problems say what to write instead;
// there are none for a good template.
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
			problems = append(problems, fmt.Sprintf("write : or | after {%s}, so that no two requests can spell the same key", inside))
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

// isToken reports whether s is a token of RFC 9110, section 5.6.2: the form of header names and methods.
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
