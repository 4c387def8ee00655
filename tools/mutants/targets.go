package main

import (
	"fmt"
	"slices"
)

// target is the directory of a package to mutate, and the tests that must catch
// its mutants. Each of the tests is the directory of a package and optional
// flags.
type target struct {
	pkg   string
	tests []string
}

var targets = []target{
	{"internal/limit", []string{"internal/limit", "internal/memory"}},
	{"internal/memory", []string{"internal/memory"}},
	{"internal/dynamo", []string{"internal/dynamo -model"}},
	{"internal/dynamo/itemjson", []string{"internal/dynamo/itemjson", "internal/dynamo -model"}},
	{"internal/dynamo/lease", []string{"internal/dynamo/lease -test.skip=^TestSimulation$"}},
	{"internal/dynamo/protocol", []string{"internal/dynamo/protocol -test.skip=^TestExplore", "internal/dynamo -model"}},
	{"internal/redis", []string{"internal/redis"}},
	{"internal/engine", []string{"internal/engine", "internal/receipt", "internal/apigw"}},
}

// choose returns the targets for these packages, or all of them if none is
// named.
func choose(all []target, packages []string) ([]target, error) {
	if len(packages) == 0 {
		return all, nil
	}
	var chosen []target
	for _, pkg := range packages {
		i := slices.IndexFunc(all, func(t target) bool { return t.pkg == pkg })
		if i < 0 {
			return nil, fmt.Errorf("nothing says whose tests have to notice the mutants of %q: add it to targets.go", pkg)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
