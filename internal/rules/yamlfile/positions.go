package yamlfile

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Place is where something stands in a file. Both count from 1; columns count
// characters.
type Place struct{ Line, Column int }

// Positions know where the values of a decoded file stand.
type Positions struct {
	file   string
	errors Errors
	places map[string]places

	// undecoded has the paths of values that were wrong, and so are missing or
	// incomplete in the Go value.
	undecoded map[string]bool
	// incomplete has the paths of maps with an undecoded field.
	incomplete map[string]bool
}

// places are those of a value and of the key before it; a value in a list has
// none, and the value stands for it.
type places struct {
	key, value *yaml.Node
	of         reflect.Type // that the value has to be of; nil if it is not decoded
	meant      string       // the tag of its field
}

// At returns the place of the value with this path, or of the nearest value
// around it if the file does not state it.
func (p *Positions) At(path string) Place {
	n := p.places[p.nearest(path)].value
	return Place{n.Line, n.Column}
}

// Locate returns the errors that Decode found, and the problems that were found
// later in the decoded value, in the order of the text. It leaves out problems
// that follow from an error of Decode: those of values that it could not
// decode, and those of maps that lack one, for maps may seem empty without it.
//
// A problem whose path the file does not state has the place and the path of
// the nearest value around it. The reason that it is missing then begins with the
// name of the field.
func (p *Positions) Locate(problems []problem.Problem) Errors {
	all := slices.Clone(p.errors)
	for _, one := range problems {
		if path := one.Path.String(); !p.follows(path, one.AtKey) {
			all = append(all, p.locate(path, one))
		}
	}
	return all.in(p.file)
}

func (p *Positions) locate(stated string, one problem.Problem) *Error {
	path, reason := p.nearest(stated), one.Reason()
	missing := strings.TrimPrefix(strings.TrimPrefix(stated, path), ".")
	if missing != "" && (one.Code == problem.Missing || one.Code == problem.MissingLeast) {
		reason = missing + " " + reason
	}
	n := p.places[path].value
	if one.AtKey && missing == "" {
		n = p.places[path].key
	}
	return p.errorIn(n, path, reason)
}

// errorIn returns an error in the value or the name at a path. If that is a
// usual mistake, the error says what to write instead of it.
func (p *Positions) errorIn(n *yaml.Node, path, reason string) *Error {
	at := p.places[path]
	if odd := oddCharacter(n); odd != "" {
		reason = odd
	} else if n == at.value && at.of != nil {
		text := flow(n, false)
		if right := ruledoc.Instead(at.meant, at.of, text); right != "" && (ofRule(path) || !strings.Contains(right, "<")) {
			if (node{Node: n}).is() == "text" {
				text = strconv.Quote(text)
			}
			reason = fmt.Sprintf("unknown value %s: %s", text, right)
		}
	}
	if ofRule(path) {
		reason = p.fillIn(path, reason)
	}
	return &Error{Line: n.Line, Column: n.Column, Path: path, Reason: reason}
}

func ofRule(path string) bool { return strings.HasPrefix(path, "rules[") }

// fillIn puts the name and the selector of the rule around a path into advice that
// leaves room for them.
func (p *Positions) fillIn(path, advice string) string {
	rule, _, _ := strings.Cut(path, "]")
	name, when := p.places[rule+"].name"].value, p.places[rule+"].when"].value
	if name != nil {
		advice = strings.ReplaceAll(advice, "<RULE>", name.Value)
	}
	before, _, skips := strings.Cut(advice, "write skip: [<WHEN>]")
	switch {
	case skips && strings.HasSuffix(path, "]"): // of a list of limits
		return before + "remove it"
	case skips && p.places[rule+"].unless"].value != nil: // which an entry of skip cannot state
		return before + "write limit: 999999999999999/second, which no key reaches"
	case when != nil:
		return strings.ReplaceAll(advice, "<WHEN>", flow(when, true))
	case skips: // the rule is for all requests
		return before + "remove the rule"
	}
	return strings.ReplaceAll(advice, "<WHEN>", "{path: /**}")
}

// flow writes a value in one line, with the quotes that a file needs if it is
// quoted; nothing for one of many parts, which is no usual mistake.
func flow(n *yaml.Node, quoted bool) string {
	if len(n.Content) > 8 && !quoted || len(n.Content) > 64 {
		return ""
	}
	parts := make([]string, len(n.Content))
	for i, child := range n.Content {
		parts[i] = flow(child, quoted)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		text := "{"
		for i := 0; i+1 < len(parts); i += 2 {
			text += parts[i] + ": " + parts[i+1] + ", "
		}
		return strings.TrimSuffix(text, ", ") + "}"
	}
	if quoted && (n.Style != 0 || strings.ContainsAny(n.Value, ",[]{}#\"'")) {
		return strconv.Quote(n.Value)
	}
	return n.Value
}

// oddCharacters are taken for a plain space, or for quotes.
var oddCharacters = regexp.MustCompile("[\u00a0\u202f\u200b]|^[“”„‘’]|[“”„‘’]$")

// oddCharacter says which character of a text without quotes is another than it
// looks like; "" for none.
func oddCharacter(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Style != 0 {
		return ""
	}
	return aboutOdd(oddCharacters.FindString(n.Value))
}

// aboutOdd says what a character is, and what to write instead; "" for none.
func aboutOdd(character string) string {
	switch character {
	case "":
		return ""
	case "\u00a0", "\u202f":
		return "a no-break space stands here: write a plain one"
	case "\u200b":
		return "a space without width stands here: remove it"
	}
	return character + " is a curly quote, and text for YAML: write \" or '"
}

// follows reports whether a problem follows from an error of Decode.
func (p *Positions) follows(path string, atKey bool) bool {
	if atKey {
		path = parent(path) // the key itself was decoded
	} else if p.incomplete[path] {
		return true
	}
	for ; path != ""; path = parent(path) {
		if p.undecoded[path] {
			return true
		}
	}
	return p.undecoded[""]
}

// nearest returns the longest path in the file that path begins with.
func (p *Positions) nearest(path string) string {
	for ; path != ""; path = parent(path) {
		if _, ok := p.places[path]; ok {
			break
		}
	}
	return path
}

// parent cuts the last step off a path. Names in a path may hold dots and
// brackets of their own, so the result need not be the path of a value; but all
// values around the one with this path are among its parents.
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Error is one thing that is wrong in a file, and what to write instead.
type Error struct {
	File   string `json:"file"`   // as the caller named it
	Line   int    `json:"line"`   // from 1; 0 for what stands nowhere in the file
	Column int    `json:"column"` // from 1, in characters; 0 for no line
	Path   string `json:"path"`   // such as "rules[1].limits[0].window"; empty for the document itself
	Reason string `json:"reason"`
}

// Error returns one line, "file:line:column: path: reason", or "file: path:
// reason" without a line.
func (e *Error) Error() string {
	text := e.Reason
	if e.Path != "" {
		text = e.Path + ": " + e.Reason
	}
	if e.Line == 0 {
		return e.File + ": " + strings.Map(visible, escapes.Replace(text))
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, strings.Map(visible, escapes.Replace(text)))
}

var escapes = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// visible keeps text that a message quotes from a file from breaking the line
// or controlling a terminal.
func visible(c rune) rune {
	if unicode.IsControl(c) {
		return unicode.ReplacementChar
	}
	return c
}

// Errors is everything that is wrong in a file, in the order of its text.
type Errors []*Error

// Error returns a line for each error.
func (e Errors) Error() string { return strings.Join(e.Lines(), "\n") }

// Lines returns the texts of the errors.
func (e Errors) Lines() []string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return lines
}

// Unwrap gives errors.As each *Error.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// in names the file, sorts the errors by place, and leaves out repeated ones.
func (e Errors) in(file string) Errors {
	for _, err := range e {
		err.File = file
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	// Several problems of one value may have one cause, such as a curly quote.
	return slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b })
}
