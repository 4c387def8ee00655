package rulefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// Write returns a document as YAML, laid out as a person would write it: a line
// for each limit, plan capacity and override, with fields in the order of the
// struct and names sorted. Comments have the paths of problems, such as
// "rules[0]"; the one with the path "" stands at the head and may have several
// lines. There is no place for comments inside what fits in one line. Reading
// the result gives the same document.
func Write(d *ruledoc.Document, comments map[string]string) ([]byte, error) {
	text, err := ruledoc.Marshal(d)
	if err != nil {
		return nil, err
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	root, err := readTree(tokens)
	if err != nil {
		return nil, err
	}
	w := &writer{comments: comments}
	if head := comments[""]; head != "" {
		for line := range strings.SplitSeq(head, "\n") {
			w.line(strings.TrimRight("# "+oneLine(line), " "), "")
		}
	}
	w.fields(root, "", "", 0)
	return w.Bytes(), nil
}

// tree is a value of the document, with the order of its fields.
type tree struct {
	open   rune     // '{', '[', or 0 for a scalar
	scalar string   // as YAML has it
	names  []string // of the values, if open is '{'
	values []*tree
}

// readTree reads the next value.
func readTree(tokens *json.Decoder) (*tree, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		return readEntries(tokens, rune(token))
	case string:
		return &tree{scalar: quote(token)}, nil
	case nil:
		return &tree{scalar: "null"}, nil
	default:
		return &tree{scalar: fmt.Sprint(token)}, nil
	}
}

func readEntries(tokens *json.Decoder, open rune) (*tree, error) {
	t := &tree{open: open}
	for tokens.More() {
		if open == '{' {
			name, err := tokens.Token()
			if err != nil {
				return nil, err
			}
			t.names = append(t.names, name.(string))
		}
		value, err := readTree(tokens)
		if err != nil {
			return nil, err
		}
		t.values = append(t.values, value)
	}
	_, err := tokens.Token() // the closing bracket
	return t, err
}

// flow returns the value in one line.
func (t *tree) flow() string {
	if t.open == 0 {
		return t.scalar
	}
	parts := make([]string, len(t.values))
	for i, v := range t.values {
		parts[i] = v.flow()
		if t.open == '{' {
			parts[i] = quote(t.names[i]) + ": " + parts[i]
		}
	}
	closing := map[rune]string{'{': "}", '[': "]"}[t.open]
	return string(t.open) + strings.Join(parts, ", ") + closing
}

type writer struct {
	bytes.Buffer
	comments map[string]string
}

// longestLine is the length up to which a map or list stands in one line.
const longestLine = 120

// spread has the fields of a document that get a line for each entry, however
// short they are, and over how many levels of maps and lists.
var spread = map[string]int{"rules": 2, "deny": 1, "skip": 1, "plans": 2, "overrides": 2}

// fields writes a map with a line or more for each field. The first line begins
// with lead, the others with as many blanks. The values are spread over so many
// levels; a document knows those of its fields.
func (w *writer) fields(t *tree, path, lead string, levels int) {
	indent := strings.Repeat(" ", len(lead))
	for i, name := range t.names {
		value, at := t.values[i], strings.TrimPrefix(path+"."+name, ".")
		if path == "" {
			levels = spread[name]
		}
		lead += quote(name) + ":"
		if flow := value.flow(); value.fits(len(lead)+1+len(flow), levels) {
			w.line(lead+" "+flow, at)
		} else {
			w.line(lead, at)
			w.entries(value, at, indent+"  ", levels)
		}
		lead = indent
	}
}

// entries writes a map or a list below its name.
func (w *writer) entries(t *tree, path, indent string, levels int) {
	if t.open == '{' {
		w.fields(t, path, indent, levels-1)
		return
	}
	for i, value := range t.values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if flow := value.flow(); value.open != '{' || value.fits(len(indent)+2+len(flow), levels-1) {
			w.line(indent+"- "+flow, at)
			continue
		}
		if c := w.comments[at]; c != "" {
			w.line(indent+"# "+oneLine(c), "")
		}
		w.fields(value, at, indent+"- ", levels-2)
	}
}

// line writes a line with the comment of a path, if there is one.
func (w *writer) line(text, path string) {
	if c := w.comments[path]; c != "" && path != "" {
		text += " # " + oneLine(c)
	}
	w.WriteString(text + "\n")
}

// fits reports whether a value that ends in this column stands in one line.
func (t *tree) fits(column, levels int) bool {
	return len(t.values) == 0 || levels <= 0 && column <= longestLine
}

// plain is text that YAML cannot take for anything else: words, lengths of time,
// classes of statuses, networks and percentages.
var plain = regexp.MustCompile(`^([A-Za-z/][A-Za-z0-9/._*-]*|(\d+(ms|s|m|h|d|w|mo))+|[1-5]xx|\d+\.\d+\.\d+\.\d+/\d+|\d+%)$`)

// quote writes a text as YAML, in quotes unless it is plain.
func quote(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), "<", `\u003c`) // files hold few < in a row
}

var angles = regexp.MustCompile(`<{3,}`)

// oneLine keeps a comment on its line, and within what files may hold.
func oneLine(comment string) string {
	return angles.ReplaceAllString(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, comment), "<<")
}
