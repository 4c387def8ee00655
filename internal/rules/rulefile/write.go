package rulefile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Write returns a document as YAML, laid out as a person would write it: a line
// for each limit, plan capacity and override, with fields in the order of the
// struct and names sorted. Comments have the paths of problems, such as
// "rules[0]"; the one with the path "" comes first and may have several lines. A
// map or list that fits in one line has no comments inside it. Reading the result
// gives the same document, but for a rule's only limit: if that states a capacity
// and a window alone, it is written as limit, such as 100/minute.
func Write(d *ruledoc.Document, comments map[string]string) ([]byte, error) {
	text, err := ruledoc.Marshal(d)
	if err != nil {
		return nil, err
	}
	w := &writer{comments: comments}
	if head := comments[""]; head != "" {
		for line := range strings.SplitSeq(head, "\n") {
			w.line(strings.TrimRight("# "+oneLine(line), " "), "")
		}
	}
	w.fields(text, "", "", 0)
	return w.Bytes(), nil
}

type writer struct {
	bytes.Buffer
	comments map[string]string
}

// longestLine is the longest line, in columns, for a whole map or list.
const longestLine = 120

// spread has the fields of a document that get a line for each entry, even a
// short one, and the number of levels of maps and lists for which that applies.
var spread = map[string]int{"rules": 2, "deny": 1, "skip": 1, "plans": 2, "overrides": 2}

// fields writes a map with a line or more for each field. The first line begins
// with lead, the others with as many blanks. levels is the number
// of levels below with a line for each entry; at the top, the map spread sets the levels of each field.
func (w *writer) fields(value json.RawMessage, path, lead string, levels int) {
	indent := strings.Repeat(" ", len(lead))
	names, values := ruledoc.Entries(value)
	for i, name := range names {
		at := ruledoc.Join(path, name)
		if aRule.MatchString(path) && name == "limit" {
			values[i] = rate(values[i])
		} else if name == "limits" && values[i][0] == '[' {
			name, values[i] = rates(values[i], aRule.MatchString(path) && !slices.Contains(names, "limit"))
		}
		if path == "" {
			levels = spread[name]
		}
		lead += quote(name) + ":"
		if flow, fits := inLine(values[i], len(lead)+1, levels); fits {
			w.line(lead+" "+flow, at)
		} else {
			w.line(lead, at)
			w.entries(values[i], at, indent+"  ", levels)
		}
		lead = indent
	}
}

// entries writes a map or a list below its name.
func (w *writer) entries(value json.RawMessage, path, indent string, levels int) {
	names, values := ruledoc.Entries(value)
	if names != nil {
		w.fields(value, path, indent, levels-1)
		return
	}
	for i, v := range values {
		at := ruledoc.Index(path, i)
		if flow, fits := inLine(v, len(indent)+2, levels-1); fits || v[0] != '{' {
			w.line(indent+"- "+flow, at)
			continue
		}
		if c := w.comments[at]; c != "" {
			w.line(indent+"# "+oneLine(c), "")
		}
		w.fields(v, at, indent+"- ", levels-2)
	}
}

var aRule = regexp.MustCompile(`^rules\[\d+\]$`)

// rate writes a limit as a rate, if it states a capacity and a window alone.
func rate(value json.RawMessage) json.RawMessage {
	var l ruledoc.Limit
	if value[0] != '{' || json.Unmarshal(value, &l) != nil || l.Rate() == "" {
		return value
	}
	return json.RawMessage(strconv.Quote(l.Rate()))
}

// rates writes a list of limits, and the only limit of a rule as its field
// limit if that is a rate.
func rates(list json.RawMessage, alone bool) (name string, value json.RawMessage) {
	_, limits := ruledoc.Entries(list)
	for i := range limits {
		limits[i] = rate(limits[i])
	}
	if len(limits) == 1 && alone && limits[0][0] == '"' {
		return "limit", limits[0]
	}
	value, _ = json.Marshal(limits) // fails for no list of JSON
	return "limits", value
}

// line writes a line with the comment of a path, if there is one.
func (w *writer) line(text, path string) {
	if c := w.comments[path]; c != "" && path != "" {
		text += " # " + oneLine(c)
	}
	w.WriteString(text + "\n")
}

// inLine returns a value in one line, and whether it fits there, after the given
// columns. A map or list that is spread over levels does not fit.
func inLine(value json.RawMessage, columns, levels int) (flow string, fits bool) {
	flow = ruledoc.Flow(value, quote)
	_, values := ruledoc.Entries(value)
	return flow, len(values) == 0 || levels <= 0 && columns+len(flow) <= longestLine
}

// plain is text that YAML cannot take for anything else: words, lengths of time,
// classes of statuses, networks, percentages and rates.
var plain = regexp.MustCompile(`^([A-Za-z/][A-Za-z0-9/._*-]*|(\d+(ms|s|m|h|d|w|mo))+` +
	`|[1-5]xx|\d+\.\d+\.\d+\.\d+/\d+|\d+%|\d+/([a-z]+|[0-9][0-9a-z.]*))$`)

// quote writes a text as YAML, in quotes unless it is plain.
func quote(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

// oneLine keeps a comment on its line, and within what files may hold.
func oneLine(comment string) string {
	return strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, comment)
}
