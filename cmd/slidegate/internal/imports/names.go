package imports

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// Names gives each rule a unique name. It maps a name to the number of rules
// that wanted it.
type Names map[string]int

// longestName is shorter than the longest name of a rule by the room for a
// number.
const longestName = 56

// Take returns a name that it has not returned before: the words in lower-case
// letters, digits and hyphens, and a number if another rule has that name.
func (n Names) Take(words ...string) string {
	var start []string // long values may come with many rules
	for _, w := range words {
		start = append(start, w[:min(len(w), 4*longestName)])
	}
	base := cmp.Or(ruledoc.Slug(strings.Join(start, "-"), longestName), "rule")
	for {
		n[base]++
		name := base
		if n[base] > 1 {
			name = fmt.Sprintf("%s-%d", base, n[base])
		}
		if ruledoc.ReservedNames[name] == "" && (name == base || n[name] == 0) {
			n[name] = max(n[name], 1)
			return name
		}
	}
}

// longestQuote is how many bytes of a source's text a message repeats.
const longestQuote = 60

// Short cuts text that is too long for a message.
func Short(text string) string {
	if len(text) <= longestQuote {
		return text
	}
	return strings.ToValidUTF8(text[:longestQuote], "") + "…"
}

// Show returns text for a message: cut if it is long, and in quotes if it is
// empty or has characters that need escapes.
func Show(text string) string {
	text = Short(text)
	if quoted := strconv.Quote(text); text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// Place is a place in the source. A place without a position, which has only a
// Name, comes before all others.
type Place struct {
	Name               string // "file:line:column"
	file, line, column int    // file is the index among the sources
}

// MarshalText returns the name.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.Name), nil }

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// Source is a file that a Builder has read. Its methods take paths of yamlfile,
// such as "descriptors[0].key".
type Source struct {
	*Builder
	name      string
	number    int
	positions *yamlfile.Positions // nil if the file is not YAML
	syntax    yamlfile.Errors     // why it is not
	problems  []problem.Problem
}

// Read decodes a YAML or JSON file into a tagged struct. It returns nil if the
// file is not YAML. Err reports that and other errors, after the caller's own
// checks.
func (b *Builder) Read(f File, to any) *Source {
	s := &Source{Builder: b, name: f.Name, number: len(b.sources)}
	b.sources = append(b.sources, s)
	var err error
	if of := rulefile.InKubernetes(f.Content); of != "" {
		s.syntax = yamlfile.Errors{{File: f.Name, Line: 1, Column: 1, Reason: of}}
		return nil
	}
	if s.positions, err = yamlfile.DecodeForeign(f.Name, f.Content, to); s.positions == nil {
		errors.As(err, &s.syntax)
		return nil
	}
	return s
}

// Place returns the place of the value at a path.
func (s *Source) Place(path string) Place {
	p := s.positions.At(path)
	return Place{fmt.Sprintf("%s:%d:%d", s.name, p.Line, p.Column), s.number, p.Line, p.Column}
}

// Fail records an error at the value at a path. A format that begins with "is
// missing" continues the name of the field.
func (s *Source) Fail(path, format string, args ...any) {
	reason, code := fmt.Sprintf(format, args...), problem.Refused
	if instead, missing := strings.CutPrefix(reason, "is missing: "); missing {
		reason, code = instead, problem.Missing
	}
	s.problems = append(s.problems, problem.Problem{Path: problem.Root(path), Fault: problem.New(code, reason)})
}

// RecordUnused records the fields of a decoded struct that are set and have a
// tag "lost", which says why the import does not use them. owner names the
// struct.
func (s *Source) RecordUnused(path, owner string, decoded any) {
	v := reflect.ValueOf(decoded)
	for _, f := range ruledoc.Fields(v.Type()) {
		if why := f.Tag.Get("lost"); why != "" && isSet(v.FieldByIndex(f.Index)) {
			s.Record(s.Place(path+"."+f.Name), owner+": "+f.Name, why)
		}
	}
}

// isSet reports whether a field has a value other than an empty list or map.
func isSet(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() > 0
	}
	return v.IsValid() && !v.IsZero()
}

// Err returns all errors in the files as yamlfile.Errors, or nil.
func (b *Builder) Err() error {
	var all yamlfile.Errors
	for _, s := range b.sources {
		all = append(all, s.syntax...)
		if s.positions != nil {
			all = append(all, s.positions.Locate(s.problems)...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
