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

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// File is a source file.
type File struct {
	Name    string // for messages
	Content []byte
}

// Result is the result of an import.
type Result struct {
	// YAML is a rules document. A comment at each rule names its source.
	YAML []byte
	// Overrides belong to the rules, but may be too many for a document:
	// they are for the overrides table.
	Overrides []Override
	// Lost is in the order of the source.
	Lost []Lost
}

// Override is an override of one exact key.
type Override struct {
	Rule     string // a rule, or ruledoc.PlanOverrides
	Key      string // in the form that rules.Set.OverrideKey takes
	Document string // a ruledoc.Override as JSON, such as {"capacity":5}
}

// OverrideJSON returns o for Override.Document. Only a year after 9999 in
// o.Until fails, and imports set no Until.
func OverrideJSON(o ruledoc.Override) string {
	text, _ := json.Marshal(o)
	return string(text)
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
