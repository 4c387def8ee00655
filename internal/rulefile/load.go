// Package rulefile reads and writes files with rules documents, and describes
// them to editors.
package rulefile

import (
	"io"
	"os"

	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Read reads the text of a rules file: all of it, or enough of one that is too
// long for Parse to say so.
func Read(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, yamlfile.MaxDocument+1)) }

// ReadFile is Read for a file by its name.
func ReadFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file)
}

// Parse reads a rules file and compiles it. The Set has the warnings: single
// lines about rules that are valid but probably not intended. name is the file's
// name in warnings and errors. The error is of type yamlfile.Errors and lists
// everything that is wrong.
func Parse(name string, text []byte) (*rules.Set, error) {
	return ParseWith(name, text, ruledoc.Defaults{})
}

// ParseWith is Parse with defaults for a file that states none.
func ParseWith(name string, text []byte, d ruledoc.Defaults) (*rules.Set, error) {
	set, warnings, caveats, err := check(name, text, d)
	if err != nil {
		return nil, err
	}
	set.Warnings = append(set.Warnings, warnings.Lines()...)
	set.Caveats = append(set.Caveats, caveats.Lines()...)
	return set, nil
}

// Check is Parse with the warnings and caveats beside the Set, each with its
// place.
func Check(name string, text []byte) (set *rules.Set, warnings, caveats yamlfile.Errors, err error) {
	return check(name, text, ruledoc.Defaults{})
}

func check(name string, text []byte, d ruledoc.Defaults) (set *rules.Set, warnings, caveats yamlfile.Errors, err error) {
	document := &ruledoc.Document{}
	positions, err := yamlfile.Decode(name, text, document)
	if positions == nil {
		return nil, nil, nil, err
	}
	if d != (ruledoc.Defaults{}) {
		document.SetDefaults(d)
	}
	set, problems := rules.Compile(document)
	if errs := locate(positions, problems); len(errs) > 0 {
		return nil, nil, nil, errs
	}
	return set, locate(positions, lint.Check(document, set)), locate(positions, lint.Caveats(document, set)), nil
}

// locate returns problems with their places in the file.
func locate(positions *yamlfile.Positions, problems []problem.Problem) yamlfile.Errors {
	located := make([]yamlfile.Problem, len(problems))
	for i, p := range problems {
		missing := p.Code == problem.Missing || p.Code == problem.MissingLeast
		located[i] = yamlfile.Problem{Path: p.Path.String(), AtKey: p.AtKey, Missing: missing, Reason: p.Reason()}
	}
	return positions.Locate(located)
}

// ParseOverride reads one override, as a rules document states it, and compiles
// it. place is its name in errors, which are of type yamlfile.Errors.
// Set.CheckOverride tells whether a rule can have it.
func ParseOverride(place string, text []byte) (*rules.Override, *ruledoc.Override, error) {
	document := &ruledoc.Override{}
	positions, err := yamlfile.Decode(place, text, document)
	if positions == nil {
		return nil, nil, err
	}
	override, problems := rules.CompileOverride(document)
	if errs := locate(positions, problems); len(errs) > 0 {
		return nil, nil, errs
	}
	return override, document, nil
}
