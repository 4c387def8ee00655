package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"sort"
	"strings"
)

// copies is the text of a file in which mutated copies stand below its
// functions. Each function starts with a switch that calls the copy whose
// number is selected.
type copies struct {
	pkg     string
	text    string
	mutants []*mutant // those that have a copy
	lines   []int     // and where the copy of each starts
}

// makeCopies returns the file of these mutants with a copy for each mutant that
// is inside a function which can have copies.
func makeCopies(mutants []*mutant) (*copies, error) {
	file, src := mutants[0].File, string(mutants[0].src)
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &copies{pkg: parsed.Name.Name}
	var text, below strings.Builder
	done := 0
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || callTo(fn) == "" {
			continue
		}
		from, body, to := fset.Position(fn.Type.Func).Offset, fset.Position(fn.Body.Lbrace).Offset+1, fset.Position(fn.End()).Offset
		var cases strings.Builder
		for _, m := range mutants {
			if m.start < body || m.end > to {
				continue
			}
			name := fmt.Sprintf("mutant%d_%s", m.number, fn.Name.Name)
			fmt.Fprintf(&cases, " case %d: "+callTo(fn)+";", m.number, name)
			c.mutants, c.lines = append(c.mutants, m), append(c.lines, 2+strings.Count(src+below.String(), "\n"))
			before := strings.Replace(src[from:m.start], fn.Name.Name+"(", name+"(", 1)
			below.WriteString("\n" + before + m.text + src[m.end:to] + "\n")
		}
		if cases.Len() > 0 {
			text.WriteString(src[done:body] + " switch mutantNumber {" + cases.String() + " };")
			done = body
		}
	}
	c.text = text.String() + src[done:] + below.String()
	return c, nil
}

// at returns the mutant whose copy has this line, or nil.
func (c *copies) at(line int) *mutant {
	if i := sort.SearchInts(c.lines, line+1); i > 0 {
		return c.mutants[i-1]
	}
	return nil
}

// callTo returns the statement by which a function hands its call over to a
// copy, with %s for the copy's name. It returns "" if the function cannot: not
// all parameters have names, it is generic, or it depends on who calls it.
func callTo(fn *ast.FuncDecl) string {
	if fn.Body == nil || fn.Name.Name == "init" || fn.Type.TypeParams != nil || recovers(fn) {
		return ""
	}
	call, ok := "%s(", true
	name := func(field *ast.Field) (names []string) {
		for _, n := range field.Names {
			names = append(names, n.Name)
			ok = ok && n.Name != "_"
		}
		ok = ok && len(names) > 0
		return names
	}
	if fn.Recv != nil {
		call = strings.Join(name(fn.Recv.List[0]), "") + "." + call
		ok = ok && !generic(fn.Recv.List[0].Type)
	}
	var arguments []string
	for _, field := range fn.Type.Params.List {
		arguments = append(arguments, name(field)...)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			arguments[len(arguments)-1] += "..."
		}
	}
	call += strings.Join(arguments, ", ") + ")"
	switch {
	case !ok:
		return ""
	case fn.Type.Results == nil:
		return call + "; return"
	}
	return "return " + call
}

// recovers reports whether a function calls recover, which only works in the
// function that was deferred.
func recovers(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == "recover"
		return !found
	})
	return found
}

func generic(receiver ast.Expr) bool {
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	_, plain := receiver.(*ast.Ident)
	return !plain
}
