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

// try runs the suites on a mutant. If the batch has it and a suite catches it
// there, that is enough. Otherwise try compiles the package with the mutant in
// place of its file. It may write to dir.
func try(ctx context.Context, dir string, grace time.Duration, m *mutant, suites []suite) (outcome, error) {
	verdict := unreached
	if m.number != 0 {
		verdict = test(ctx, grace, m, suites, func(s *suite) (string, error) { return s.batch, nil })
	}
	if verdict != killed && verdict != timedOut {
		overlay, err := writeOverlay(dir, map[string]string{m.File: string(m.source())})
		if err != nil {
			return notRun, err
		}
		verdict = uncompiled
		if _, err := goTool(ctx, "build", "-p=1", overlay, "./"+filepath.Dir(m.File)); err == nil {
			verdict = test(ctx, grace, m, suites, func(s *suite) (string, error) { return s.compile(ctx, dir, overlay) })
		}
	}
	select {
	case <-ctx.Done():
		return notRun, nil // a test that was cut short says nothing
	default:
		return verdict, nil
	}
}

// test runs the suites that reach the mutant, until one of them fails. A suite
// without a binary does not run.
func test(ctx context.Context, grace time.Duration, m *mutant, suites []suite, binaryOf func(*suite) (string, error)) outcome {
	verdict := unreached
	for i := range suites {
		s := &suites[i]
		if !s.reaches(m) {
			continue
		}
		binary, err := binaryOf(s)
		if err == nil && binary == "" {
			continue
		}
		if err == nil {
			_, err = runTests(ctx, s.dir, grace+4*s.took, m.number, binary, s.flags...)
		}
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

// compile compiles the tests with an overlay. It reuses a binary that dir
// already has from other flags.
func (s *suite) compile(ctx context.Context, dir, overlay string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(s.dir, "/", "-")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	_, err := goTool(ctx, "test", "-c", "-vet=off", "-ldflags=-s -w", "-p=1", overlay, "-o", binary, "./"+s.dir)
	return binary, err
}

// writeOverlay writes files to dir, and returns the flag that makes the go
// command read them in place of the files of these names.
func writeOverlay(dir string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for name, text := range texts {
		original, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	return "-overlay=" + overlay, errors.Join(err, os.WriteFile(overlay, text, 0o600))
}
