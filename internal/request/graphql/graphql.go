// Package graphql finds which operation a server runs for a GraphQL request.
package graphql

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/slidegate/slidegate/internal/request"
)

// Bounds of a query. Its fields nest at most parser.MaxNestingDepth levels deep.
const (
	maxLength = 256 << 10 // bytes
	maxTokens = 15_000    // as many as graphql-java reads by default
)

// Read returns the operation that a query runs. name picks one of several; it is
// empty for none. The operation is ambiguous if the query does not say which one
// runs, cannot be parsed or exceeds a bound.
//
// Root fields are counted as "Collecting Fields" in the GraphQL specification
// has it: one for each alias, those of fragments among them. Fields with @skip or
// @include count, because variables decide whether they run.
func Read(query, name string) request.Operation {
	op, why := read(query, name)
	if why != "" {
		return request.Operation{Ambiguous: why, Count: math.MaxInt64}
	}
	return op
}

func read(query, name string) (op request.Operation, why string) {
	switch {
	case len(query) > maxLength:
		return op, "is too long"
	// Servers end a string or a comment in other places there: some read a fourth
	// quote as part of the string, and some take these separators for line ends.
	// What is text for one of them may be a field for another.
	case strings.Contains(query, `""""`):
		return op, "has more than three quotes in a row"
	case strings.ContainsAny(query, "\u2028\u2029"):
		return op, "has a separator of lines or paragraphs"
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, maxTokens)
	if err != nil {
		return op, "cannot be parsed"
	}
	chosen, why := choose(doc.Operations, name)
	if why != "" {
		return op, why
	}
	c := collector{fragments: map[string]*ast.FragmentDefinition{}, fields: map[[2]string]bool{}}
	for _, f := range doc.Fragments {
		if c.fragments[f.Name] != nil {
			return op, "has two fragments of one name"
		}
		c.fragments[f.Name] = f
	}
	switch {
	case !c.collect(chosen.SelectionSet):
		return op, "lacks a fragment"
	case len(c.fields) == 0: // a fragment contains nothing but itself
		return op, "has no fields"
	}
	names := map[string]bool{}
	for field := range c.fields {
		names[field[1]] = true
	}
	return request.Operation{
		Type: string(chosen.Operation), Name: chosen.Name,
		Fields: slices.Sorted(maps.Keys(names)), Count: int64(len(c.fields)),
	}, ""
}

// choose returns the operation of a name, or the only one: a server runs that or
// none, whatever the name is.
func choose(all ast.OperationList, name string) (chosen *ast.OperationDefinition, why string) {
	if len(all) == 1 {
		return all[0], ""
	}
	for _, op := range all {
		switch {
		case name == "" || op.Name != name:
		case chosen != nil:
			return nil, "has two operations of one name"
		default:
			chosen = op
		}
	}
	if chosen == nil {
		return nil, "does not say which operation runs"
	}
	return chosen, ""
}

// collector collects the root fields of an operation.
type collector struct {
	fragments map[string]*ast.FragmentDefinition // nil for one that was collected
	fields    map[[2]string]bool                 // alias and name
}

// collect adds the fields of a selection set; ok is false if a fragment is
// missing. Each fragment counts once, also if it contains itself.
func (c *collector) collect(set ast.SelectionSet) (ok bool) {
	for _, s := range set {
		ok := true
		switch s := s.(type) {
		case *ast.Field:
			c.fields[[2]string{s.Alias, s.Name}] = true
		case *ast.InlineFragment:
			ok = c.collect(s.SelectionSet)
		case *ast.FragmentSpread:
			var f *ast.FragmentDefinition
			if f, ok = c.fragments[s.Name]; f != nil {
				c.fragments[s.Name] = nil
				ok = c.collect(f.SelectionSet)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}
