package ruletable

import (
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// Problems is the error of a document that is not valid.
type Problems struct {
	Name string // the document's place, for messages
	All  []ruledoc.Problem
}

// Error returns a line for each problem.
func (p *Problems) Error() string {
	lines := make([]string, len(p.All))
	for i, problem := range p.All {
		lines[i] = p.Name + ": " + problem.String()
	}
	return strings.Join(lines, "\n")
}

// Compile compiles a document. name is its place, for messages. Its error is of
// type *Problems.
func Compile(name string, d *ruledoc.Document) (*rules.Set, error) {
	set, problems := rules.Compile(d)
	if len(problems) > 0 {
		return nil, &Problems{name, problems}
	}
	return set, nil
}
