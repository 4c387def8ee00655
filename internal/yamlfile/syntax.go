package yamlfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntaxError says where the text is not YAML, and what to write instead of a
// usual mistake. For any other it has the parser's words.
func syntaxError(err error, text string) *Error {
	m := &mistake{lines: strings.Split(strings.TrimRight(text, " \n"), "\n"), LoadError: &yaml.LoadError{Message: err.Error()}}
	errors.As(err, &m.LoadError)
	last := Place{len(m.lines), max(1, utf8.RuneCountInString(m.lines[len(m.lines)-1]))}
	m.place = last
	for _, mark := range []yaml.Mark{m.ContextMark, m.Mark} { // an unexpected end is behind the text; its context is what is left open
		if m.has(mark) {
			m.place = Place{mark.Line, mark.Column}
		}
	}
	reason := ""
	for _, diagnose := range []func(*mistake) string{
		(*mistake).tab, (*mistake).alias, (*mistake).escape, (*mistake).strayCloser, (*mistake).besideQuotes, (*mistake).unquotedBraces,
		(*mistake).dashInBrackets, (*mistake).dashBesideName, (*mistake).openQuote, (*mistake).unquotedMark, (*mistake).gluedDash,
		(*mistake).noColon, (*mistake).noComma, (*mistake).indentation, (*mistake).unquotedColon, (*mistake).unknown,
	} {
		if reason = diagnose(m); reason != "" {
			break
		}
	}
	return &Error{Line: m.place.Line, Column: m.place.Column, Reason: "not YAML: " + reason}
}

// mistake is a text that is not YAML, and where the parser noticed. Its methods
// say what to write instead, or nothing if that is not what is wrong. They move
// place to the mistake.
type mistake struct {
	*yaml.LoadError
	lines []string
	place Place
}

// has reports whether a mark of the parser is in the text.
func (m *mistake) has(mark yaml.Mark) bool { return 1 <= mark.Line && mark.Line <= len(m.lines) }

// from returns the rest of the line from a mark on.
func (m *mistake) from(mark yaml.Mark) string {
	here := mistake{lines: m.lines, place: Place{mark.Line, mark.Column}}
	line, at := here.line()
	return line[at:]
}

// line returns the line at place, and the byte in it.
func (m *mistake) line() (line string, at int) {
	line = m.lines[m.place.Line-1]
	for range m.place.Column - 1 {
		_, width := utf8.DecodeRuneInString(line[at:])
		at += width
	}
	return line, at
}

// moveTo moves place to a byte of its line.
func (m *mistake) moveTo(at int) {
	line, _ := m.line()
	m.place.Column = 1 + utf8.RuneCountInString(line[:at])
}

func (m *mistake) unknown() string { return strings.TrimSpace(m.Message + " " + m.ContextMsg) }

var tabIndent = regexp.MustCompile(`^ *\t`)

func (m *mistake) tab() string {
	switch line, _ := m.line(); {
	case tabIndent.MatchString(line):
		return "a tab indents this line: indent with spaces"
	case strings.Contains(m.Message, "tab character"):
		return "a tab stands here: write spaces"
	}
	return ""
}

// braces match text with a source or a parameter of a path in it.
var braces = regexp.MustCompile(`[^\s"'\[\],{}#]*(\{[\w.+-]+\}[^\s"'\[\],{}]*)+`)

func (m *mistake) unquotedBraces() string {
	line, at := m.line()
	for _, found := range braces.FindAllStringIndex(line, -1) {
		if found[0] <= at && at < found[1] {
			m.moveTo(found[0])
			return fmt.Sprintf("text with braces in it needs quotes: write %q", line[found[0]:found[1]])
		}
	}
	return ""
}

var dashInBrackets = regexp.MustCompile(`[\[,] *- `)

func (m *mistake) dashInBrackets() string {
	if line, _ := m.line(); dashInBrackets.MatchString(line) {
		return "entries in brackets have commas between them, and no dash: remove it"
	}
	return ""
}

// dashBesideName finds the first entry of a list in the line of the list's name.
func (m *mistake) dashBesideName() string {
	line, at := m.line()
	if m.Message != "block sequence entries are not allowed in this context" || strings.TrimSpace(line[:at]) == "" {
		return ""
	}
	return fmt.Sprintf("an entry of a list begins on a line of its own: move %s below %s", line[at:], strings.TrimSpace(line[:at]))
}

var strayCloserMessage = regexp.MustCompile("^did not find expected (key|'-' indicator)")

// strayCloser finds a bracket or brace that closes nothing.
func (m *mistake) strayCloser() string {
	if line, at := m.line(); strayCloserMessage.MatchString(m.Message) && at < len(line) && strings.IndexByte("]}", line[at]) >= 0 {
		return fmt.Sprintf("this %c closes nothing: remove it", line[at])
	}
	return ""
}

func (m *mistake) openQuote() string {
	if !strings.HasSuffix(m.ContextMsg, "quoted scalar") || m.has(m.Mark) {
		return ""
	}
	return fmt.Sprintf("this quote is never closed: write another %.1s at the end of the text", m.from(m.ContextMark))
}

var (
	specialStart = regexp.MustCompile("^[@`%*&!|>]")
	plainWord    = regexp.MustCompile(`^[^\s,\[\]{}:]+`)
)

// unquotedMark finds text that begins with a mark that means something in YAML.
func (m *mistake) unquotedMark() string {
	if !strings.HasPrefix(m.ContextMsg, "while scanning") || !m.has(m.ContextMark) {
		return ""
	}
	text := m.from(m.ContextMark)
	if !specialStart.MatchString(text) {
		return ""
	}
	m.place = Place{m.ContextMark.Line, m.ContextMark.Column}
	return fmt.Sprintf("text that begins with %c needs quotes: write %q", text[0], plainWord.FindString(text))
}

// valueNotAllowed is the parser's message about a colon in the middle of a text.
const valueNotAllowed = "mapping values are not allowed in this context"

var (
	plainStart = regexp.MustCompile(`^ *(?:- +)*([A-Za-z_])`)
	gluedColon = regexp.MustCompile(`^([A-Za-z_][\w-]*):(\S.*)`)
	equalSign  = regexp.MustCompile(`^([A-Za-z_][\w-]*)\s*=\s*(.*)`)
)

// noColon finds a name without a colon. Text in the line before a name is one:
// the parser took both lines for one text.
func (m *mistake) noColon() string {
	start := m.ContextMark
	if above := m.place.Line - 1; m.Message == valueNotAllowed && above > 0 && !fieldLine.MatchString(m.lines[above-1]) {
		begins := plainStart.FindStringSubmatchIndex(m.lines[above-1])
		if begins == nil {
			return ""
		}
		start = yaml.Mark{Line: above, Column: 1 + begins[2]}
	} else if m.Message != "could not find expected ':'" || !m.has(start) {
		return ""
	}
	m.place = Place{start.Line, start.Column}
	text := m.from(start)
	if found := gluedColon.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("a space is missing after the colon: write %s: %s", found[1], found[2])
	}
	if found := equalSign.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("a name has a colon after it, and no =: write %s: %s", found[1], found[2])
	}
	return "a colon is missing here: write a name, a colon and a value, such as unmatched: allow"
}

// noComma finds entries without a comma between them, and brackets and braces
// that are never closed.
func (m *mistake) noComma() string {
	closer, ok := strings.CutPrefix(m.Message, "did not find expected ',' or '")
	if !ok || !m.has(m.ContextMark) {
		return ""
	}
	closer = closer[:1]
	opener := fmt.Sprintf("%s in line %d", map[string]string{"]": "[", "}": "{"}[closer], m.ContextMark.Line)
	line, at := m.line()
	if m.Mark.Line > len(m.lines) || at == len(line) {
		return fmt.Sprintf("the %s is never closed: write %s", opener, closer)
	}
	if c := line[at]; c == ']' || c == '}' {
		return fmt.Sprintf("%c does not close the %s: write %s before it", c, opener, closer)
	}
	if line[at] == ':' { // the parser took the name for more of the value before it
		at = 1 + strings.LastIndexAny(line[:at], " ,[{")
	}
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	if startsLine := strings.Trim(line[:at], " -") == ""; startsLine && indent(line) <= indent(m.lines[m.ContextMark.Line-1]) {
		m.moveTo(indent(line))
		return fmt.Sprintf("the %s is not closed before this line: write %s", opener, closer)
	}
	m.moveTo(at)
	next := plainWord.FindString(line[at:])
	if next == "" {
		next = line[at : at+1]
	}
	return fmt.Sprintf("a comma is missing: write one before %s", next)
}

var gluedDash = regexp.MustCompile(`^ *-([A-Za-z_][\w-]*:.*)`)

func (m *mistake) gluedDash() string {
	for n := m.place.Line; n > 0 && n >= m.place.Line-1; n-- {
		if found := gluedDash.FindStringSubmatchIndex(m.lines[n-1]); found != nil {
			m.place = Place{n, found[2]}
			return "a space is missing after the dash: write - " + m.lines[n-1][found[2]:found[3]]
		}
	}
	return ""
}

// unquotedColon finds a text that a second colon makes a map.
func (m *mistake) unquotedColon() string {
	line, at := m.line()
	if m.Message != valueNotAllowed {
		return ""
	}
	name, value, found := strings.Cut(line, ": ")
	if !found || len(name) >= at {
		return ""
	}
	m.moveTo(len(name) + 2)
	return fmt.Sprintf("text with a colon and a space in it needs quotes: write %q", strings.TrimSpace(value))
}

// level is what entries of a map or list that is open have before them.
type level struct {
	indent, line int
	what         string // the name of the entry, or a dash
}

var fieldLine = regexp.MustCompile(`^( *)((?:- +)*)([\w"'{][^:#]*):(?: |$)`)

// indentation finds a line that no line above is indented like.
func (m *mistake) indentation() string {
	here := fieldLine.FindStringSubmatch(m.lines[m.place.Line-1])
	if here == nil {
		return ""
	}
	indent, isDash := len(here[1]), here[2] != ""
	var nearest *level
	for _, l := range m.levels() {
		away := func(l *level) int { return max(indent-l.indent, l.indent-indent) }
		if isDash == (l.what == "-") && (nearest == nil || away(&l) <= away(nearest)) {
			nearest = &l
		}
	}
	if nearest == nil || nearest.indent == indent {
		return ""
	}
	m.place.Column = 1 + indent
	return fmt.Sprintf("the indentation of this line is %d, which fits no line above it: write %d, as %s in line %d has",
		indent, nearest.indent, nearest.what, nearest.line)
}

// levels returns those that are open above place.
func (m *mistake) levels() (open []level) {
	for n, line := range m.lines[:m.place.Line-1] {
		found := fieldLine.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		for len(open) > 0 && open[len(open)-1].indent >= len(found[1]) {
			open = open[:len(open)-1]
		}
		if found[2] != "" {
			open = append(open, level{len(found[1]), n + 1, "-"})
		}
		open = append(open, level{len(found[1] + found[2]), n + 1, found[3]})
	}
	return open
}
