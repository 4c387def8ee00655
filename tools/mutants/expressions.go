package main

import (
	"go/ast"
	"go/token"
)

// swap is a replacement for an operator, and the name of that kind of mutant.
type swap struct{ kind, to string }

var swaps = map[token.Token][]swap{
	token.LSS: {{"boundary", "<="}, {"negation", ">="}},
	token.LEQ: {{"boundary", "<"}, {"negation", ">"}},
	token.GTR: {{"boundary", ">="}, {"negation", "<="}},
	token.GEQ: {{"boundary", ">"}, {"negation", "<"}},
	token.EQL: {{"negation", "!="}}, token.NEQ: {{"negation", "=="}},
	token.LAND: {{"logic", "||"}}, token.LOR: {{"logic", "&&"}},
	token.ADD: {{"arithmetic", "-"}}, token.SUB: {{"arithmetic", "+"}},
	token.MUL: {{"arithmetic", "/"}}, token.QUO: {{"arithmetic", "*"}}, token.REM: {{"arithmetic", "*"}},
	token.AND: {{"arithmetic", "|"}}, token.OR: {{"arithmetic", "&"}}, token.XOR: {{"arithmetic", "&"}},
	token.SHL: {{"arithmetic", ">>"}}, token.SHR: {{"arithmetic", "<<"}}, token.AND_NOT: {{"arithmetic", "&"}},
	token.INC: {{"arithmetic", "--"}}, token.DEC: {{"arithmetic", "++"}},
	token.ADD_ASSIGN: {{"arithmetic", "-="}}, token.SUB_ASSIGN: {{"arithmetic", "+="}},
	token.MUL_ASSIGN: {{"arithmetic", "/="}}, token.QUO_ASSIGN: {{"arithmetic", "*="}}, token.REM_ASSIGN: {{"arithmetic", "*="}},
	token.AND_ASSIGN: {{"arithmetic", "|="}}, token.OR_ASSIGN: {{"arithmetic", "&="}}, token.XOR_ASSIGN: {{"arithmetic", "&="}},
	token.SHL_ASSIGN: {{"arithmetic", ">>="}}, token.SHR_ASSIGN: {{"arithmetic", "<<="}},
}

var names = map[string]swap{
	"true": {"constant", "false"}, "false": {"constant", "true"},
	"min": {"extreme", "max"}, "max": {"extreme", "min"},
}

// moments moves the boundary of a comparison of two times.
var moments = map[string]string{"Before": "After", "After": "Before"}

func (f *finder) expression(n ast.Expr) {
	switch n := n.(type) {
	case *ast.Ident:
		if s, ok := names[n.Name]; ok {
			f.replace(s.kind, n, s.to)
		}
	case *ast.SelectorExpr:
		if to, ok := moments[n.Sel.Name]; ok {
			f.replace("boundary", n, "!"+f.text(n.X)+"."+to)
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			f.add("negation", n.OpPos, n.X.Pos(), "")
		}
	case *ast.BinaryExpr:
		if !joinsStrings(n) {
			f.operator(n.Op, n.OpPos)
			f.operands(n)
		}
	}
}

// joinsStrings reports whether an expression joins string literals. The only
// operator on strings is +.
func joinsStrings(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (joinsStrings(e.X) || joinsStrings(e.Y))
	case *ast.BasicLit:
		return e.Kind == token.STRING
	}
	return false
}

// operator changes an operator. It does not negate the condition of an if:
// other mutants make that always true and always false.
func (f *finder) operator(op token.Token, at token.Pos) {
	_, condition := f.stack[len(f.stack)-1].(*ast.IfStmt)
	for _, s := range swaps[op] {
		if s.kind != "negation" || !condition {
			f.add(s.kind, at, at+token.Pos(len(op.String())), s.to)
		}
	}
}

// operands removes the effect of each operand of && or ||.
func (f *finder) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR {
		return
	}
	for _, operand := range []ast.Expr{n.X, n.Y} {
		if inner, ok := operand.(*ast.BinaryExpr); !ok || inner.Op != n.Op {
			f.replace("operand", operand, "("+f.forced(operand, n.Op == token.LAND)+")")
		}
	}
}

// forced returns the text of a condition that is evaluated as before but always
// has this value.
func (f *finder) forced(e ast.Expr, value bool) string {
	text := f.text(e)
	if _, ok := e.(*ast.BinaryExpr); ok {
		text = "(" + text + ")"
	}
	if value {
		return text + " || true"
	}
	return text + " && false"
}
