package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type outcome string

const (
	killed     outcome = "killed"     // a test failed, or no longer compiled
	timedOut   outcome = "timed out"  // the tests did not end: as good as killed
	survived   outcome = "survived"   // every test passed
	unreached  outcome = "unreached"  // no test executes the code: it survived without a run
	uncompiled outcome = "uncompiled" // the compiler noticed: no mutant at all
	notRun     outcome = "not run"    // the budget was spent
)

// result is a mutant and its outcome.
type result struct {
	mutant
	Outcome outcome `json:"outcome"`
}

// try compiles the package with the mutant in place of its file and runs the
// suites. It may write to dir.
func try(ctx context.Context, dir string, grace time.Duration, m *mutant, suites []suite) (outcome, error) {
	overlay, err := writeOverlay(dir, m)
	if err != nil {
		return notRun, err
	}
	verdict := uncompiled
	if _, err := goTool(ctx, "build", "-p=1", overlay, "./"+filepath.Dir(m.File)); err == nil {
		verdict = test(ctx, dir, overlay, grace, m, suites)
	}
	select {
	case <-ctx.Done():
		return notRun, nil // a test that was cut short says nothing
	default:
		return verdict, nil
	}
}

// test runs the suites that reach the mutant, until one of them fails.
func test(ctx context.Context, dir, overlay string, grace time.Duration, m *mutant, suites []suite) outcome {
	verdict := unreached
	for _, s := range suites {
		if !s.reaches(m) {
			continue
		}
		err := s.run(ctx, dir, overlay, grace)
		switch {
		case errors.Is(err, errTimeout):
			return timedOut
		case err != nil:
			return killed
		}
		verdict = survived
	}
	return verdict
}

// run compiles the tests with an overlay and runs them. It reuses a binary that
// dir already has from other flags.
func (s *suite) run(ctx context.Context, dir, overlay string, grace time.Duration) error {
	binary := filepath.Join(dir, strings.ReplaceAll(s.dir, "/", "-")+".test")
	if _, err := os.Stat(binary); err != nil {
		if _, err := goTool(ctx, "test", "-c", "-vet=off", "-ldflags=-s -w", "-p=1", overlay, "-o", binary, "./"+s.dir); err != nil {
			return err
		}
	}
	_, err := runTests(ctx, s.dir, grace+4*s.took, binary, s.flags...)
	return err
}

// writeOverlay writes the mutated file to dir. It returns the flag that makes
// the go command read it in place of the original.
func writeOverlay(dir string, m *mutant) (string, error) {
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	mutated, overlay := filepath.Join(dir, filepath.Base(m.File)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	return "-overlay=" + overlay, errors.Join(err, os.WriteFile(mutated, m.source(), 0o600), os.WriteFile(overlay, text, 0o600))
}
