package rules

import "github.com/goccy/go-yaml/ast"

// ReadYAML reads a document of plain YAML, which JSON is too, under the bounds that a rules document has: it never panics
// and never takes more than seconds. file is its name in errors, which are of type Errors.
func ReadYAML(file string, document []byte) (ast.Node, error) {
	root, errs := parseYAML(document, "there is nothing to read")
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	return root, nil
}
