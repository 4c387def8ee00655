package rules

import (
	"fmt"
	"strings"
)

// maxTemplate is the length of the longest key template, in bytes.
const maxTemplate = 256

// source is where a part of a key comes from.
type source uint8

const (
	literal source = iota // the template's own text
	fromIP
	fromHeader
	fromQuery
	fromPath
	fromMethod
	fromRoute
	fromStage
)

// sources are the words that a template knows.
var sources = []struct {
	word   string
	source source
	named  bool // written with a name, as in {header.x-user}
	client bool // the client says it: it can be made up anew for every request
}{
	{"ip", fromIP, false, false},
	{"header", fromHeader, true, true},
	{"query", fromQuery, true, true},
	{"path", fromPath, true, true},
	{"method", fromMethod, false, true},
	{"route", fromRoute, false, false},
	{"stage", fromStage, false, false},
}

const sourcesKnown = "{ip}, {header.NAME}, {query.NAME}, {path.NAME}, {method}, {route} and {stage}"

// part is a piece of a key: text of its own, or the value of a source.
type part struct {
	source source
	text   string // the literal, or the name of the header, query or path parameter
}

// template is how a rule makes a key out of a request. Every source is followed by a separator or the end, and values are
// escaped, so a key can be read back in one way only.
type template struct {
	parts  []part
	client []string // the sources that the client fills, as written
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
	word, name, dotted := strings.Cut(text, ".")
	for _, s := range sources {
		if s.word != word {
			continue
		}
		if problem := checkName(s.source, text, name, s.named, dotted); problem != "" {
			return problem
		}
		if s.source == fromHeader {
			name = strings.ToLower(name)
		}
		if s.client {
			t.client = append(t.client, "{"+text+"}")
		}
		t.parts = append(t.parts, part{s.source, name})
		return ""
	}
	return unknownSource(text, word)
}

func checkName(s source, text, name string, named, dotted bool) (problem string) {
	switch {
	case !named && dotted:
		return fmt.Sprintf("{%s} takes no name: write {%s}", text, text[:len(text)-len(name)-1])
	case named && name == "":
		return fmt.Sprintf("{%s} needs a name: write {%s.NAME}", text, strings.TrimSuffix(text, "."))
	case s == fromHeader && !isToken(name):
		return fmt.Sprintf("{%s} is no header: write a name such as {header.x-user}", text)
	case strings.ContainsRune(name, '{'):
		return fmt.Sprintf("{%s is never closed: write } after the name", text)
	}
	return ""
}

func unknownSource(text, word string) (problem string) {
	if word == "jwt" || word == "apikey" {
		return fmt.Sprintf("{%s} is not supported yet: keys are made of %s", text, sourcesKnown)
	}
	words := make([]string, len(sources))
	for i, s := range sources {
		words[i] = s.word
	}
	if meant := closest(word, words); meant != "" {
		return fmt.Sprintf("unknown source {%s}: did you mean {%s}?", text, strings.Replace(text, word, meant, 1))
	}
	return fmt.Sprintf("unknown source {%s}: keys are made of %s", text, sourcesKnown)
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
