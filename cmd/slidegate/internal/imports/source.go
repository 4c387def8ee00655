package imports

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

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
		if why := f.Tag.Get("lost"); why != "" && !v.FieldByIndex(f.Index).IsZero() {
			s.Record(s.Place(path+"."+f.Name), owner+": "+f.Name, why)
		}
	}
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
