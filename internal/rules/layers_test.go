package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestLayers: the files compile*.go use the rest of the package, which never
// uses them.
func TestLayers(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := map[string]string{}, map[string]string{} // names by file
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "compile") {
			for _, d := range file.Decls {
				for _, declaredName := range namesOfDecl(d) {
					declared[declaredName] = name
				}
			}
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok { // a field, or of another package
				ast.Inspect(selector.X, func(n ast.Node) bool { return note(used, n, name) })
				return false
			}
			return note(used, n, name)
		})
	}
	for name, by := range used {
		if in, ok := declared[name]; ok {
			t.Errorf("%s uses %s of %s", by, name, in)
		}
	}
	if len(declared) < 20 || len(used) < 20 {
		t.Errorf("%d names of the compiler, %d of the rest", len(declared), len(used))
	}
}

func note(used map[string]string, n ast.Node, file string) bool {
	if id, ok := n.(*ast.Ident); ok {
		used[id.Name] = file
	}
	return true
}

// namesOfDecl returns the names that a declaration has at the top, methods aside.
func namesOfDecl(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
