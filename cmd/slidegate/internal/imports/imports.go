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
	"encoding/json"

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
	// Overrides of plan belong to the rules, but may be too many for a document:
	// they are for the overrides table.
	Overrides []Override `json:"overrides"`
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
