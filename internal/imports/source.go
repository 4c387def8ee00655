package imports

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// Source is a file that Read has decoded. It locates what the file holds, and
// collects what is wrong with it. Paths are those of yamlfile, such as
// "descriptors[0].key".
type Source struct {
	name      string
	number    int
	positions *yamlfile.Positions
	problems  []ruledoc.Problem
}

// Read decodes a YAML or JSON file into a tagged struct. number is the file's
// index among the sources. The error is of type yamlfile.Errors, for text that
// is not YAML; Err reports other errors, after the caller's own checks.
func Read(f File, number int, to any) (*Source, error) {
	positions, err := yamlfile.DecodeForeign(f.Name, f.Content, to)
	if positions == nil {
		return nil, err
	}
	return &Source{name: f.Name, number: number, positions: positions}, nil
}

// Place returns the place of the value at a path.
func (s *Source) Place(path string) Place {
	p := s.positions.At(path)
	return Place{fmt.Sprintf("%s:%d:%d", s.name, p.Line, p.Column), s.number, p.Line, p.Column}
}

// Fail records an error at the value at a path.
func (s *Source) Fail(path, format string, args ...any) {
	s.problems = append(s.problems, ruledoc.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// Err returns all that is wrong in the file as yamlfile.Errors, or nil.
func (s *Source) Err() error {
	if all := s.positions.Locate(s.problems); len(all) > 0 {
		return all
	}
	return nil
}
