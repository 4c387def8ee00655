// Package rulefile reads and writes files with rules documents, and describes
// them to editors.
package rulefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// Read reads the text of a rules file: all of it, or enough of one that is too
// long for Parse to say so.
func Read(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, yamlfile.MaxDocument+1)) }

// ReadFile is Read for a file by its name.
func ReadFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil && (strings.HasPrefix(name, "dynamodb://") || strings.HasPrefix(name, "stack://")) {
		err = &os.PathError{Op: "open", Path: name, Err: fmt.Errorf("this reads a file: `slidegate rules get --rules %s --output FILE` writes one", name)}
	}
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
	if err != nil && len(text) <= yamlfile.MaxDocument && !rulesLike().Match(text) {
		return nil, nil, nil, notRules(name, text, err)
	}
	if positions == nil {
		return nil, nil, nil, err
	}
	document.SetDefaults(d)
	set, problems := rules.Compile(document)
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, nil, nil, errs
	}
	return set, positions.Locate(lint.Check(document, set)), positions.Locate(lint.Caveats(document, set)), nil
}

// rulesLike matches texts with a field of rules files where a map of them would
// have it, and empty texts. Files of other programs have fields such as limit too,
// further in.
var rulesLike = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"rule", "limit", "limits"}
	for _, f := range ruledoc.Fields(reflect.TypeFor[ruledoc.Document]()) {
		names = append(names, f.Name)
	}
	return regexp.MustCompile(`(?m)(?:^(?:\x{feff}|[ -]{0,2})|\A\s*\{(?s:.*[,{])?\s*)["']?(?:` + strings.Join(names, "|") + `)["']?\s*[:=](?:[\s{\["']|$)|\A\s*(?:#.*\s*)*\z`)
})

// importable are other files that slidegate rules import reads, by its formats.
var importable = []struct {
	format string
	looks  func() *regexp.Regexp
}{
	{"envoy", ruledoc.Regexp(`(?m)(?:^|[{,])\s*"?descriptors"?\s*:`)},
	{"usage-plans", ruledoc.Regexp(`(?m)(?:^|[{,])\s*"?(?:throttle|apiStages)"?\s*:`)},
}

var (
	kubernetes = ruledoc.Regexp(`(?m)(?:^|[{,])\s*"?apiVersion"?\s*:`)
	configFile = ruledoc.Regexp(`(?s)(?:^|[\s{,])"?kind"?\s*:\s*"?ConfigMap\b.*\bdata"?\s*:[\s{]*(?:#[^\n]*\s+)*"?([\w.-]+)`)
	kind       = ruledoc.Regexp(`(?m)(?:^|[{,])\s*"?kind"?\s*:\s*"?(\w+)`)
)

// InKubernetes says of an object of Kubernetes what it is, and how to take a file
// out of it; "" for any other text.
func InKubernetes(text []byte) string {
	is := kind().FindSubmatch(text)
	if is == nil || !kubernetes().Match(text) {
		return ""
	}
	if file := configFile().FindSubmatch(text); file != nil {
		return fmt.Sprintf("this is a ConfigMap of Kubernetes: take the file out of it, such as by kubectl get configmap NAME -o jsonpath='{.data.%s}'",
			strings.ReplaceAll(string(file[1]), ".", `\.`))
	}
	return fmt.Sprintf("this is an object of Kubernetes, kind %s: take the file out of it, or of the ConfigMap that has it", is[1])
}

// shownOfOther is how many errors are shown of a file that holds no rules.
const shownOfOther = 3

// notRules returns the errors for a file without any field of rules files. They
// quote nothing of it but names that look like fields: it may hold secrets.
func notRules(name string, text []byte, err error) error {
	var all, shown yamlfile.Errors
	errors.As(err, &all)
	last := &yamlfile.Error{File: name, Line: all[0].Line, Column: all[0].Column, Reason: `not a rules file: it has no field of one, such as "rules:"`}
	if of := InKubernetes(text); of != "" {
		last.Reason = of
		return yamlfile.Errors{last}
	}
	for _, other := range importable {
		if other.looks().Match(text) {
			last.Reason = "not a rules file: slidegate rules import --format " + other.format + " makes one of it"
			return yamlfile.Errors{last}
		}
	}
	for _, e := range all[:min(len(all), shownOfOther)] {
		switch unknown := strings.HasPrefix(e.Reason, "unknown field"); {
		case unknown && e.Path != "":
			shown = append(shown, &yamlfile.Error{File: name, Line: e.Line, Column: e.Column, Path: e.Path, Reason: "unknown field"})
		case strings.HasPrefix(e.Reason, "must be a map"):
			last.Reason = "not a rules file: it " + e.Reason
		case !unknown && e.Path == "" && !strings.HasPrefix(e.Reason, "not YAML"): // of its form alone
			return yamlfile.Errors{e}
		}
	}
	return append(shown, last)
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
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, nil, errs
	}
	return override, document, nil
}
