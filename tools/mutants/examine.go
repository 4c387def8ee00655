package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// order returns the order in which to try n mutants. It is random, so that a
// budget tries a fair sample, but the same in every run.
func order(n int) []int { return rand.New(rand.NewPCG(1, 1)).Perm(n) }

// examine tries every mutant of a target and returns the results.
func examine(ctx context.Context, t target, workers int, grace time.Duration, progress io.Writer) ([]result, error) {
	results, err := mutantsOf(t.pkg)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	suites, err := baseline(ctx, t, scratch)
	if err == nil {
		err = batchTogether(ctx, t.pkg, scratch, results, suites, progress)
	}
	if ctx.Err() != nil {
		return results, nil // none of them was run
	}
	if err != nil {
		return nil, err
	}
	tally := newTally(progress, t.pkg, len(results))
	var group errgroup.Group
	group.SetLimit(workers)
	for _, i := range order(len(results)) {
		group.Go(func() error {
			dir, err := os.MkdirTemp(scratch, "")
			if err != nil || ctx.Err() != nil {
				return err
			}
			defer os.RemoveAll(dir)
			results[i].Outcome, err = try(ctx, dir, grace, &results[i].mutant, suites)
			tally.count(results[i].Outcome)
			return err
		})
	}
	return results, group.Wait()
}

// mutantsOf returns the mutants of a package as results that are not run yet.
func mutantsOf(pkg string) (results []result, err error) {
	names, err := goTool(context.Background(), "list", "-f", `{{join .GoFiles "\n"}}`, "./"+pkg)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(names) {
		file := filepath.Join(pkg, name)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mutants, err := find(file, src)
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			m.number = len(results) + 1
			results = append(results, result{m, notRun})
		}
	}
	return results, nil
}
