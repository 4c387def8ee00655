package main

import (
	"go/ast"
	"go/token"
	"slices"
)

// statement adds the mutants of a whole statement: it never runs, or always
// does. A removed statement stays as unreachable code, because unused variables
// do not compile.
func (f *finder) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.replace("condition", n.Cond, f.forced(n.Cond, false))
		f.replace("condition", n.Cond, f.forced(n.Cond, true))
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			f.add("branch", block.Pos(), block.Pos(), "if false ")
		}
	case *ast.ForStmt:
		f.add("loop", n.Body.Lbrace+1, n.Body.Lbrace+1, " break;")
	case *ast.RangeStmt:
		f.add("loop", n.Body.Lbrace+1, n.Body.Lbrace+1, " break;")
	case *ast.CaseClause:
		f.replace("branch", n, "")
	case *ast.IncDecStmt:
		f.operator(n.Tok, n.TokPos)
		f.remove(n)
	case *ast.AssignStmt:
		f.operator(n.Tok, n.TokPos)
		if n.Tok != token.DEFINE {
			f.remove(n)
		}
	case *ast.ExprStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
		f.remove(n)
	}
}

// remove removes a statement of a block or a case. It skips the only statement
// of an if: the mutant whose condition is never true does the same.
func (f *finder) remove(n ast.Stmt) {
	var list []ast.Stmt
	switch parent := f.stack[len(f.stack)-1].(type) {
	case *ast.BlockStmt:
		if _, ok := f.stack[len(f.stack)-2].(*ast.IfStmt); !ok || len(parent.List) > 1 {
			list = parent.List
		}
	case *ast.CaseClause:
		list = parent.Body
	}
	if slices.Contains(list, n) {
		f.replace("statement", n, "if false { "+f.text(n)+" }")
	}
}

// fields removes each keyed element of a composite literal, so that it is zero.
func (f *finder) fields(n *ast.CompositeLit) {
	for _, element := range n.Elts {
		if _, keyed := element.(*ast.KeyValueExpr); !keyed {
			continue
		}
		end := element.End()
		if f.src[f.offset(end)] == ',' {
			end++
		}
		f.add("field", element.Pos(), end, "")
	}
}
