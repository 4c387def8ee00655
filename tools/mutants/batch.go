package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// batch compiles many mutants of a package together, because to compile takes
// longer than most tests do. A test that fails with a mutant of the batch has
// caught it. A mutant that no test of the batch catches, or that cannot be in
// it, is compiled by itself afterwards.
type batch struct {
	overlay string // the flag that makes the go command read the batch
	holds   map[*mutant]bool
}

// numberVariable is the environment variable that selects a mutant of a batch.
const numberVariable = "MUTANT_NUMBER"

// newBatch writes the batch of these results to dir. It leaves out mutants that
// do not compile.
func newBatch(ctx context.Context, dir, pkg string, results []result) (*batch, error) {
	b := &batch{holds: map[*mutant]bool{}}
	for i := range results {
		b.holds[&results[i].mutant] = true
	}
	for {
		files, err := b.write(dir, pkg, results)
		if err != nil {
			return nil, err
		}
		out, err := goTool(ctx, "build", "-gcflags=-e", b.overlay, "./"+pkg)
		if err == nil {
			return b, nil
		}
		if !b.leaveOut(files, out+err.Error()) {
			return nil, err
		}
	}
}

// write writes the package's files with a copy for each mutant that the batch
// holds. A mutant that cannot have a copy leaves the batch.
func (b *batch) write(dir, pkg string, results []result) (map[string]*copies, error) {
	mutants, name := map[string][]*mutant{}, ""
	for i := range results {
		if m := &results[i].mutant; b.holds[m] {
			mutants[m.File] = append(mutants[m.File], m)
		}
	}
	clear(b.holds)
	files, replace := map[string]*copies{}, map[string]string{}
	for file := range mutants {
		c, err := makeCopies(mutants[file])
		if err != nil {
			return nil, err
		}
		for _, m := range c.mutants {
			b.holds[m] = true
		}
		files[filepath.Base(file)], name, replace[file] = c, c.pkg, c.text
	}
	replace[filepath.Join(pkg, "mutant_number.go")] = fmt.Sprintf(numberSource, name, numberVariable)
	overlay, err := writeOverlay(dir, replace)
	b.overlay = overlay
	return files, err
}

const numberSource = `package %s

import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv(%q))
`

// position is how the compiler starts a message.
var position = regexp.MustCompile(`([^/\s]+\.go):(\d+):`)

// leaveOut takes out the mutants in whose copies the compiler found mistakes.
// It reports whether there was one.
func (b *batch) leaveOut(files map[string]*copies, messages string) bool {
	before := len(b.holds)
	for _, match := range position.FindAllStringSubmatch(messages, -1) {
		if c := files[match[1]]; c != nil {
			line, _ := strconv.Atoi(match[2])
			delete(b.holds, c.at(line))
		}
	}
	return len(b.holds) < before
}

// compile compiles the batch with the tests of a suite and runs them without a
// mutant. A test that fails then, because functions have copies, could not show
// that it catches one.
func (b *batch) compile(ctx context.Context, s *suite, dir string) error {
	binary, err := s.compile(ctx, dir, b.overlay)
	if err != nil {
		return err
	}
	if out, err := runTests(ctx, s.dir, baselineTimeout, 0, binary, s.flags...); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	s.batch = binary
	return nil
}

// batchTogether compiles the mutants of a package into one binary for each
// suite, and clears the numbers of those that are not in it.
func batchTogether(ctx context.Context, pkg, scratch string, results []result, suites []suite, progress io.Writer) error {
	dir, err := os.MkdirTemp(scratch, "batch")
	if err != nil {
		return err
	}
	b, err := newBatch(ctx, dir, pkg, results)
	if err != nil {
		return err
	}
	for i := range results {
		if m := &results[i].mutant; !b.holds[m] {
			m.number = 0
		}
	}
	fmt.Fprintf(progress, "%s: %d of %d mutants are compiled together\n", pkg, len(b.holds), len(results))
	for i := range suites {
		if err := b.compile(ctx, &suites[i], dir); err != nil {
			fmt.Fprintf(progress, "%s: the tests of %s run with one mutant at a time: %v\n", pkg, suites[i].dir, err)
		}
	}
	return nil
}
