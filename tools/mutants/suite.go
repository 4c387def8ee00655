package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/cover"
)

// baselineTimeout bounds the tests of one package without a mutant.
const baselineTimeout = 10 * time.Minute

// rapidFlags make property tests by pgregory.net/rapid repeatable, quick to
// fail, and free of files left in the tree.
var rapidFlags = []string{"-rapid.seed=1", "-rapid.shrinktime=0s", "-rapid.nofailfile"}

// suite is the tests of one package that must catch the mutants of another.
type suite struct {
	dir     string
	flags   []string
	took    time.Duration
	covered map[string][]cover.ProfileBlock // by the base name of the mutated package's file
	batch   string                          // a binary with many mutants, or ""
}

// baseline runs the tests without a mutant and returns the suites, the quickest
// first. A failing test is an error: it could not show that it catches a
// mutant.
func baseline(ctx context.Context, t target, scratch string) (suites []suite, err error) {
	for _, tests := range t.tests {
		words := strings.Fields(tests)
		s := suite{dir: words[0], flags: words[1:], covered: map[string][]cover.ProfileBlock{}}
		deps, err := goTool(ctx, "list", "-deps", "-test", "./"+s.dir)
		if err != nil {
			return nil, err
		}
		if slices.Contains(strings.Fields(deps), "pgregory.net/rapid") {
			s.flags = append(s.flags, rapidFlags...)
		}
		if err := s.measure(ctx, t.pkg, scratch); err != nil {
			return nil, err
		}
		suites = append(suites, s)
	}
	slices.SortStableFunc(suites, func(a, b suite) int { return cmp.Compare(a.took, b.took) })
	return suites, nil
}

// measure records how long the tests take and which code of a package they
// execute.
func (s *suite) measure(ctx context.Context, pkg, scratch string) error {
	binary, profile := filepath.Join(scratch, "baseline.test"), filepath.Join(scratch, "cover.out")
	if _, err := goTool(ctx, "test", "-c", "-vet=off", "-cover", "-coverpkg=./"+pkg, "-o", binary, "./"+s.dir); err != nil {
		return err
	}
	start := time.Now()
	out, err := runTests(ctx, s.dir, baselineTimeout, 0, binary, append(slices.Clip(s.flags), "-test.coverprofile="+profile)...)
	s.took = time.Since(start)
	if err != nil {
		return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", s.dir, err, out)
	}
	profiles, err := cover.ParseProfiles(profile)
	for _, p := range profiles {
		s.covered[path.Base(p.FileName)] = p.Blocks
	}
	return err
}

// reaches reports whether the tests execute the mutated code. Code outside all
// blocks, such as a constant, counts as reached.
func (s *suite) reaches(m *mutant) bool {
	for _, b := range s.covered[path.Base(m.File)] {
		from := cmp.Or(cmp.Compare(b.StartLine, m.Line), cmp.Compare(b.StartCol, m.Column))
		to := cmp.Or(cmp.Compare(m.Line, b.EndLine), cmp.Compare(m.Column, b.EndCol))
		if from <= 0 && to < 0 {
			return b.Count > 0
		}
	}
	return true
}
