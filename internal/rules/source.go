package rules

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

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
	fromClaim
	fromAPIKey
)

// sources are those that a template knows. Sources of the gateway and signed
// claims can be trusted. The client fills in the others, and can make up a new
// value for every request.
var sources = []struct {
	word   string
	source source
	named  bool // written with a name, as in {header.x-user}
	client bool
}{
	{"ip", fromIP, false, false},
	{"jwt", fromClaim, true, false},
	{"apikey", fromAPIKey, false, false},
	{"header", fromHeader, true, true},
	{"query", fromQuery, true, true},
	{"path", fromPath, true, true},
	{"method", fromMethod, false, true},
	{"route", fromRoute, false, false},
	{"stage", fromStage, false, false},
}

const sourcesKnown = "{ip}, {jwt.NAME}, {apikey}, {header.NAME}, {query.NAME}, {path.NAME}, {method}, {route} and {stage}"

// part is a piece of a key: text of its own, or the value of a source.
type part struct {
	source source
	text   string // the literal, or the name of the header, query or path parameter, or claim
}

// parseSource reads a source as documents write it, such as "header.x-user".
// The problem says what to write instead.
func parseSource(text string) (p part, client bool, problem string) {
	word, name, dotted := strings.Cut(text, ".")
	for _, s := range sources {
		if s.word != word {
			continue
		}
		if problem := checkName(s.source, text, name, s.named, dotted); problem != "" {
			return part{}, false, problem
		}
		if s.source == fromHeader {
			name = strings.ToLower(name)
		}
		return part{s.source, name}, s.client, ""
	}
	return part{}, false, unknownSource(text, word)
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
	words := make([]string, len(sources))
	for i, s := range sources {
		words[i] = s.word
	}
	if meant := ruledoc.Closest(word, words); meant != "" {
		return fmt.Sprintf("unknown source {%s}: did you mean {%s}?", text, strings.Replace(text, word, meant, 1))
	}
	return fmt.Sprintf("unknown source {%s}: there are %s", text, sourcesKnown)
}

// isClient reports whether the client fills in the source: it can make up a
// new value for every request.
func (s source) isClient() bool {
	for _, known := range sources {
		if known.source == s {
			return known.client
		}
	}
	return false
}

// bare makes a message about a source of a key one about a source that stands
// by itself.
var bare = strings.NewReplacer("{", "", "}", "")

// parseBare reads a source that stands by itself, such as header.x-tokens.
func parseBare(text string) (p part, problem string) {
	if inside := bare.Replace(text); inside != text {
		return part{}, "a source has braces in keys alone: write " + inside
	}
	p, _, problem = parseSource(text)
	return p, bare.Replace(problem)
}

// parseTrusted reads a source that decides what a caller may do: one that is
// signed or set by the gateway. Any client could write the others.
func parseTrusted(text string) (p part, problem string) {
	p, problem = parseBare(text)
	switch {
	case problem != "":
		return part{}, problem
	case p.source == fromClaim || p.source == fromAPIKey || p.source == fromStage:
		return p, ""
	case p.source.isClient():
		return part{}, text + " can be set by any client: use a claim such as jwt.plan, apikey or stage"
	}
	return part{}, text + " does not tell callers apart: use a claim such as jwt.plan, apikey or stage"
}

// ofCredentials reports whether the source is part of verified credentials.
func (p part) ofCredentials() bool { return p.source == fromClaim || p.source == fromAPIKey }
