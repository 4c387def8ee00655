package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalent is a mutant that no test can catch, and the reason. Its text
// identifies it, because edits above it change its line number.
type equivalent struct {
	pkg, function string
	change
	reason string
	place  string // of the entry: file and line
	found  bool   // there is such a mutant
	holds  bool   // and no test caught it
}

// lookUp returns the entry for a mutant of a package, or nil.
func lookUp(known []equivalent, pkg string, m *mutant) *equivalent {
	for i := range known {
		if e := &known[i]; e.pkg == pkg && e.function == m.Function && e.change == m.change {
			return e
		}
	}
	return nil
}

// staleness says why an entry is out of date.
func (e *equivalent) staleness() string {
	if e.found {
		return e.place + ": the tests catch this mutant: take the entry out"
	}
	return fmt.Sprintf("%s: %s has no such mutant: mend the entry or take it out", e.place, e.function)
}

func readEquivalents(file string) ([]equivalent, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseEquivalents(file, string(text))
}

// parseEquivalents reads paragraphs. Each has a package and a function, lines
// with - and + as the report prints them, and one or more lines of reason. A
// line that starts with # is a comment.
func parseEquivalents(file, text string) (all []equivalent, err error) {
	var e *equivalent
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			e = nil
		case e == nil:
			pkg, function, _ := strings.Cut(line, " ")
			all = append(all, equivalent{pkg: pkg, function: function, place: fmt.Sprintf("%s:%d", file, i+1)})
			e = &all[len(all)-1]
		case strings.HasPrefix(line, "- "):
			e.Original = flush(e.Original + "\n" + line[2:])
		case strings.HasPrefix(line, "+ "):
			e.Mutated = flush(e.Mutated + "\n" + line[2:])
		default:
			e.reason = flush(e.reason + "\n" + line)
		}
	}
	for _, e := range all {
		if e.function == "" || e.Original == "" || e.reason == "" {
			return nil, fmt.Errorf("%s: an entry needs a package and a function, a line with -, and a reason", e.place)
		}
	}
	return all, nil
}
