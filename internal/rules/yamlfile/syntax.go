package yamlfile

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntaxError says where the text is not YAML, and what to write instead of a
// usual mistake. For any other it has the parser's words.
func syntaxError(err error, text string) *Error {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	m := &mistake{lines: lines, LoadError: &yaml.LoadError{Message: err.Error()}}
	errors.As(err, &m.LoadError)
	m.moveTo(yaml.Mark{Line: len(lines), Column: utf8.RuneCountInString(lines[len(lines)-1])})
	m.moveTo(m.ContextMark) // an unexpected end is behind the text; its context is what is left open
	m.moveTo(m.Mark)
	reason := strings.TrimSpace(m.Message + " " + m.ContextMsg)
	for _, diagnose := range diagnoses {
		if usual := diagnose(m); usual != "" {
			reason = usual
			break
		}
	}
	column := 1 + utf8.RuneCountInString(m.line()[:m.at])
	return &Error{Line: m.row, Column: column, Reason: "not YAML: " + reason}
}

// mistake is a text that is not YAML, and the place where the parser noticed.
// Diagnoses move the place to the mistake.
type mistake struct {
	*yaml.LoadError
	lines []string
	row   int // of the line, from 1
	at    int // the byte in the line, from 0
}

func (m *mistake) line() string { return m.lines[m.row-1] }

// moveTo moves the place to a mark of the parser, if that is in the text.
func (m *mistake) moveTo(mark yaml.Mark) {
	if mark.Line < 1 || mark.Line > len(m.lines) {
		return
	}
	m.row = mark.Line
	line := []rune(m.line())
	m.at = len(string(line[:min(max(mark.Column-1, 0), len(line))]))
}

// A diagnosis says what to write instead of one usual mistake; nothing if the
// mistake is another one.
type diagnosis func(*mistake) string

// diagnoses are in the order in which they apply.
var diagnoses = []diagnosis{
	inLine(``, `^ *\t.*`, "a tab indents this line: indent with spaces"),
	inLine(`tab character`, `.+`, "a tab stands here: write spaces"),
	inLine(`unknown anchor`, `(?P<at>\*[^\s,\[\]{}:]*)`, "text that begins with * needs quotes: write %q; aliases are not supported"),
	inLine(`unknown escape character`, `.+`, `\ begins an escape in double quotes: write single quotes, or \\ for \`),
	inLine(`did not find expected (key|'-')`, `(?P<at>[\]}])`, "this %s closes nothing: remove it"),
	hereOrAbove(inLine(``, `(?:^|[:,[{-])[ \x{a0}]*(?P<at>\x{a0}).*`, aboutOdd("\u00a0"))),
	hereOrAbove(inLine(``, `[:,[{-] *(?P<at>[“”„‘’]).*`, aboutOdd("%s"))),
	(*mistake).besideQuotes,
	inLine(``, `(?P<at>[^\s"'\[\],{}#]*(?:\{[\w.+-]+\}[^\s"'\[\],{}]*)+)`, "text with braces in it needs quotes: write %q"),
	inLine(``, `^.*[\[,] *- .*`, "entries in brackets have commas between them, and no dash: remove it"),
	inLine(`block sequence entries are not allowed`, `^ *(\S.*?) *(?P<at>-(?: .*)?)$`,
		"an entry of a list begins on a line of its own: move %[2]s below %[1]s"),
	inLine(`quoted scalar: found unexpected end`, `(?P<at>["'])`, "this quote is never closed: write another %s at the end of the text"),
	(*mistake).scanned,
	inLine("^while scanning", "(?P<at>([@`%*&!|>])[^\\s\"',\\[\\]{}:]*)", "text that begins with %[2]s needs quotes: write %[1]q"),
	hereOrAbove(inLine(``, `^ *(?P<at>-)([A-Za-z_][\w-]*:.*)`, "a space is missing after the dash: write %s %s")),
	hereOrAbove(inLine(noColon, `^ *(?:- +)*(?P<at>[A-Za-z_][\w-]*):(\S.*)`, "a space is missing after the colon: write %s: %s")),
	hereOrAbove(inLine(noColon, `^ *(?:- +)*(?P<at>[A-Za-z_][\w-]*)\s*=\s*(.*)`, "a name has a colon after it, and no =: write %s: %s")),
	hereOrAbove(inLine(noColon, `^ *(?:- +)*(?P<at>[A-Za-z_])(?:[^:]|:\S)*$`, writeColon)),
	inLine(`could not find expected ':'`, `.+`, writeColon),
	(*mistake).noComma,
	(*mistake).indentation,
	inLine(`mapping values are not allowed`, `: +(?P<at>.*:(?:.*\S)?)`, "text with a colon and a space in it needs quotes: write %q"),
}

const (
	// noColon matches what the parser says of a name without a colon. It takes
	// the name for the start of a text that goes on in the next line.
	noColon    = `mapping values are not allowed|could not find expected ':'`
	writeColon = "a colon is missing here: write a name, a colon and a value, such as unmatched: allow"
)

// inLine diagnoses a mistake that shows in one line. It needs a match of message
// in the parser's words, and one of pattern at the place. The mistake begins at
// the group with the name at. The reason quotes the groups.
func inLine(message, pattern, reason string) diagnosis {
	said, shown := regexp.MustCompile(message), regexp.MustCompile(pattern)
	return func(m *mistake) string {
		if !said.MatchString(m.ContextMsg + ": " + m.Message) {
			return ""
		}
		line, start := m.line(), 2*max(0, shown.SubexpIndex("at"))
		noticed := min(m.at, len(line)-1)
		matches := shown.FindAllStringSubmatchIndex(line, -1)
		i := slices.IndexFunc(matches, func(found []int) bool { return found[start] <= noticed && noticed < found[1] })
		if i < 0 {
			return ""
		}
		match := matches[i]
		if start > 0 {
			m.at = match[start]
		}
		if !strings.Contains(reason, "%") {
			return reason
		}
		var groups []any
		for i := 2; i < len(match); i += 2 {
			groups = append(groups, line[match[i]:match[i+1]])
		}
		return fmt.Sprintf(reason, groups...)
	}
}

// scanned moves the place to the start of the text that the parser was reading.
func (m *mistake) scanned() string {
	if strings.HasPrefix(m.ContextMsg, "while scanning") {
		m.moveTo(m.ContextMark)
	}
	return ""
}

// hereOrAbove looks for a mistake in the line above too.
func hereOrAbove(diagnose diagnosis) diagnosis {
	return func(m *mistake) string {
		if reason := diagnose(m); reason != "" || m.row == 1 {
			return reason
		}
		above := &mistake{LoadError: m.LoadError, lines: m.lines, row: m.row - 1}
		above.at = len(above.line())
		reason := diagnose(above)
		if reason != "" {
			*m = *above
		}
		return reason
	}
}

// besideQuotes finds text behind a closing quote. If a line above has a quote
// without its partner, the text in quotes began there.
func (m *mistake) besideQuotes() string {
	before := strings.TrimRight(m.line()[:m.at], " ")
	if !strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, "'") {
		return ""
	}
	quote := before[len(before)-1:]
	for row := m.row - 1; row > 0; row-- {
		text, _, _ := strings.Cut(m.lines[row-1], "#") // an apostrophe in a comment is no quote
		if strings.Count(text, quote)%2 == 1 {
			m.row, m.at = row, strings.LastIndex(text, quote)
			return fmt.Sprintf("this quote is not closed in its line: write another %s at the end of the text", quote)
		}
	}
	if m.Message != "did not find expected key" {
		return ""
	}
	return "text follows the quotes: put all of it in quotes, or remove it"
}

// noComma finds entries without a comma between them, and brackets and braces
// that are never closed.
func (m *mistake) noComma() string {
	expected, ok := strings.CutPrefix(m.Message, "did not find expected ',' or '")
	if !ok {
		return ""
	}
	closer := expected[:1]
	opener := fmt.Sprintf("%s in line %d", map[string]string{"]": "[", "}": "{"}[closer], m.ContextMark.Line)
	line := m.line()
	switch rest := line[m.at:]; {
	case rest == "" || m.Mark.Line > len(m.lines):
		return fmt.Sprintf("the %s is never closed: write %s", opener, closer)
	case rest[0] == ']' || rest[0] == '}':
		return fmt.Sprintf("%c does not close the %s: write %s before it", rest[0], opener, closer)
	case rest[0] == ':': // the parser took the name for more of the value before it
		m.at = 1 + strings.LastIndexAny(line[:m.at], " ,[{")
	}
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	if strings.Trim(line[:m.at], " -") == "" && indent(line) <= indent(m.lines[m.ContextMark.Line-1]) {
		m.at = indent(line)
		return fmt.Sprintf("the %s is not closed before this line: write %s", opener, closer)
	}
	return "a comma is missing: write one before " + nextWord.FindString(line[m.at:])
}

var (
	nextWord  = regexp.MustCompile(`^([^\s,\[\]{}:]+|.)`)
	fieldLine = regexp.MustCompile(`^( *)((?:- +)*)([\w"'{][^:#]*):(?: |$)`)
)

// indentation finds a line that no line above is indented like. Of the maps and
// lists that are open there, it names the one with the nearest indentation.
func (m *mistake) indentation() string {
	here := fieldLine.FindStringSubmatch(m.line())
	if here == nil {
		return ""
	}
	indent, isDash := len(here[1]), here[2] != ""
	nearest, least, reason := math.MaxInt, math.MaxInt, ""
	for row := m.row - 1; row > 0; row-- {
		above := fieldLine.FindStringSubmatch(m.lines[row-1])
		if above == nil {
			continue
		}
		level, name, alike := len(above[1]+above[2]), above[3], true
		if isDash {
			level, name, alike = len(above[1]), "-", above[2] != ""
		}
		away := max(indent-level, level-indent)
		if alike && level < least && away < nearest {
			nearest = away
			reason = fmt.Sprintf("the indentation of this line is %d, which fits no line above it: write %d, as %s in line %d has",
				indent, level, name, row)
		}
		least = min(least, len(above[1]))
	}
	if nearest == 0 || reason == "" {
		return ""
	}
	m.at = indent
	return reason
}
