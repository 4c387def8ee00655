package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// finder collects the mutants of one file.
type finder struct {
	file  string
	src   []byte
	fset  *token.FileSet
	stack []ast.Node // the ancestors of the node at hand, the file first
	found []mutant
	seen  map[string]bool
}

// find returns every mutant of a file. Some do not compile, because find does
// not know types.
func find(file string, src []byte) ([]mutant, error) {
	f := &finder{file: file, src: src, fset: token.NewFileSet(), seen: map[string]bool{}}
	parsed, err := parser.ParseFile(f.fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.PreorderStack(parsed, nil, func(n ast.Node, stack []ast.Node) bool {
		f.stack = stack
		return f.node(n)
	})
	return f.found, nil
}

// node adds the mutants of one node, and reports whether to visit the nodes
// below it.
func (f *finder) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.FieldList:
		return false
	case *ast.BasicLit:
		f.literal(n)
	case *ast.CompositeLit:
		f.fields(n)
	case *ast.ReturnStmt:
		f.returned(n)
	case ast.Expr:
		f.expression(n)
	case ast.Stmt:
		f.statement(n)
	}
	return true
}

// add adds the mutant that replaces the source from start to end by text.
func (f *finder) add(operator string, start, end token.Pos, text string) {
	at := f.fset.Position(start)
	m := mutant{File: f.file, Line: at.Line, Column: at.Column, Function: f.function(), Operator: operator,
		src: f.src, start: at.Offset, end: f.offset(end), text: text}
	m.change = m.lines()
	if id := fmt.Sprint(m.Line, m.Mutated); m.Original != m.Mutated && !f.seen[id] {
		f.seen[id] = true
		f.found = append(f.found, m)
	}
}

func (f *finder) replace(operator string, n ast.Node, text string) {
	f.add(operator, n.Pos(), n.End(), text)
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

// function names the declaration around the current node: "plan", "Slots.add",
// or the name of a variable or constant.
func (f *finder) function() string {
	for _, n := range f.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				return n.Name.Name
			}
			return f.receiver(n.Recv.List[0].Type) + "." + n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		}
	}
	return "package"
}

// receiver returns a receiver's type without * and type parameters.
func (f *finder) receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return f.receiver(t.X)
	case *ast.IndexExpr:
		return f.receiver(t.X)
	case *ast.IndexListExpr:
		return f.receiver(t.X)
	}
	return f.text(t)
}
