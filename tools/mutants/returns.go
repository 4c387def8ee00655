package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// returned adds, for each result, the mutant that returns the zero value
// instead, or the opposite of a bool. The mutant still evaluates the result.
func (f *finder) returned(n *ast.ReturnStmt) {
	types := f.results()
	if len(n.Results) == 1 && len(types) > 1 { // return g(), of several results
		blanks := slices.Repeat([]string{"_"}, len(types))
		f.replace("return", n, strings.Join(blanks, ", ")+" = "+f.text(n.Results[0])+"; return "+strings.Join(zeros(types), ", "))
		return
	}
	values := make([]string, len(n.Results))
	for i, e := range n.Results {
		values[i] = f.text(e)
	}
	for i, e := range n.Results {
		if isZero(e, values[i]) {
			continue // and literals are changed as such
		}
		if types[i] == "bool" {
			f.negate(e)
			continue
		}
		mutated := slices.Clone(values)
		mutated[i] = zeros(types)[i]
		f.replace("return", n, "_ = "+values[i]+"; return "+strings.Join(mutated, ", "))
	}
}

func isZero(e ast.Expr, text string) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	}
	return text == "nil" || text == "true" || text == "false"
}

// negate negates a bool, unless a changed operator has the same effect.
func (f *finder) negate(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return
		}
	case *ast.UnaryExpr:
		return
	}
	f.replace("return", e, "!("+f.text(e)+")")
}

// results returns the type of each result of the current function.
func (f *finder) results() (types []string) {
	var list *ast.FieldList
	for _, n := range f.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			list = n.Type.Results
		case *ast.FuncLit:
			list = n.Type.Results
		}
	}
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		types = append(types, slices.Repeat([]string{f.text(field.Type)}, max(1, len(field.Names)))...)
	}
	return types
}

// zeros returns the text of each type's zero value.
func zeros(types []string) []string {
	values := make([]string, len(types))
	for i, t := range types {
		values[i] = "*new(" + t + ")"
		if t == "error" {
			values[i] = "nil"
		}
	}
	return values
}
