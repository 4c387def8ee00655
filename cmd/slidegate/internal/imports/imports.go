// Package imports has the parts that all imports from other rate limiters use:
// each turns another limiter's configuration into a rules document or
// overrides.
//
// An import drops nothing silently. What a rules document cannot express, or
// expresses with another meaning, becomes a Lost entry with its place in the
// source. If rules cannot express an exception, the general limit stays: the
// result then limits the listed requests too much rather than not at all.
package imports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// File is a source file.
type File struct {
	Name    string // for messages
	Content []byte
}

// Result is the result of an import.
type Result struct {
	Text     string            `json:"text"` // a rules file; a comment at each rule names its source
	Document *ruledoc.Document `json:"document"`
	Lost     []Lost            `json:"lost"` // in the order of the source
	// Overrides belong to the rules, but may be too many for a document: they are
	// for the overrides table.
	Overrides   []Override `json:"overrides"`
	OverridesOf string     `json:"overrides_of,omitempty"` // the rule that they are of, or "plan"
}

// Override is an override of one exact key, as overrides import reads it.
type Override struct {
	Key      string          `json:"key"`      // in the form that rules.Set.OverrideKey takes
	Document json.RawMessage `json:"document"` // a ruledoc.Override, such as {"capacity":5}
}

// NewOverride returns an override of a key. Only a year after 9999 in o.Until
// would fail, and imports set no Until.
func NewOverride(key string, o ruledoc.Override) Override {
	document, _ := json.Marshal(o)
	return Override{key, document}
}

// Lost is something that an import does not carry over, or carries over with
// another meaning.
type Lost struct {
	Place Place  `json:"place"` // in the source, such as "limits.yaml:12:5"
	What  string `json:"what"`
	Why   string `json:"why"` // and what to do about it
}

// String returns one line, "place: what: why".
func (l Lost) String() string { return l.Place.Name + ": " + l.What + ": " + l.Why }

// ReadFiles reads files, each as rulefile.Read does.
func ReadFiles(paths ...string) (files []File, err error) {
	for _, path := range paths {
		content, err := rulefile.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path, content})
	}
	return files, nil
}

// OverrideLines returns the overrides as overrides import reads them.
func (r *Result) OverrideLines() ([]byte, error) {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	for _, o := range r.Overrides {
		if err := e.Encode(o); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

// maxLine bounds a line of overrides, in bytes.
const maxLine = 1 << 20

// OverrideLines reads an object on each line, as overrides list --json prints
// them: key and document, which is text or an object. It counts the grants that
// it skips. Other fields are ignored: the table writes them again.
func OverrideLines(path string, r io.Reader, grants *int) iter.Seq2[Override, error] {
	return func(yield func(Override, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		number := 1
		for ; lines.Scan(); number++ {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			o, granted, err := parseOverrideLine(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", path, number, err)
			}
			*grants += granted
			if err == nil && len(o.Document) == 0 && granted > 0 {
				continue // a line of grants alone
			}
			if !yield(o, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Override{}, fmt.Errorf("%s:%d: %w", path, number, err))
		}
	}
}

// parseOverrideLine returns the override of a line, without a document if the
// line has grants alone.
func parseOverrideLine(line []byte) (o Override, grants int, err error) {
	var fields struct {
		Key      string
		Document json.RawMessage
		Grants   []json.RawMessage
	}
	switch err := json.Unmarshal(line, &fields); {
	case err != nil:
		return o, 0, fmt.Errorf("want a JSON object with key and document: %w", err)
	case fields.Key == "":
		return o, 0, errors.New("key is missing")
	case len(fields.Document) == 0 && len(fields.Grants) == 0:
		return o, 0, fmt.Errorf("key %s: document is missing", text.Printable(fields.Key))
	}
	if bytes.HasPrefix(fields.Document, []byte(`"`)) {
		var document string
		err = json.Unmarshal(fields.Document, &document)
		fields.Document = json.RawMessage(document)
	}
	return Override{fields.Key, fields.Document}, len(fields.Grants), err
}
