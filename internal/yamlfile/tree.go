package yamlfile

import "github.com/goccy/go-yaml/ast"

// ReadTree reads a document of plain YAML as the tree of the YAML library, under
// the bounds that every document has. The error is of type Errors.
func ReadTree(file string, text []byte) (ast.Node, error) {
	root, errs := parse(text)
	if root == nil && len(errs) == 0 {
		errs = Errors{{Line: 1, Column: 1, Reason: "the document is empty: there is nothing to read"}}
	}
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	return root, nil
}
