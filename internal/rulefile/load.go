// Package rulefile reads and writes files with rules documents, and describes
// them to editors.
package rulefile

import (
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Load reads a rules file and compiles it. Warnings are single lines about what
// is valid but probably meant otherwise. name is the file's name in warnings
// and errors. The error is of type yamlfile.Errors and holds everything that is
// wrong.
func Load(name string, text []byte) (set *rules.Set, warnings []string, err error) {
	document := &ruledoc.Document{}
	positions, err := yamlfile.Decode(name, text, document)
	if positions == nil {
		return nil, nil, err
	}
	set, problems := rules.Compile(document)
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, nil, errs
	}
	for _, w := range positions.Locate(lint.Check(document, set)) {
		warnings = append(warnings, w.Error())
	}
	set.Warnings = warnings
	return set, warnings, nil
}

// Parse is Load for callers that find the warnings in the Set.
func Parse(name string, text []byte) (*rules.Set, error) {
	set, _, err := Load(name, text)
	return set, err
}

// ParseOverride reads one override, as a rules document holds it. place is its
// name in errors, which are of type yamlfile.Errors. Set.CheckOverride tells
// whether a rule can have it.
func ParseOverride(place string, text []byte) (*rules.Override, error) {
	document := &ruledoc.Override{}
	positions, err := yamlfile.Decode(place, text, document)
	if positions == nil {
		return nil, err
	}
	override, problems := rules.CompileOverride(document)
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, errs
	}
	return override, nil
}
