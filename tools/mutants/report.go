package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// report is the outcome of a run.
type report struct {
	Packages  []*summary `json:"packages"`
	Survivors []result   `json:"survivors"` // those that are not listed as equivalent
	Stale     []string   `json:"stale"`     // what is out of date in the list of equivalents
}

// summary counts the mutants of one package that compile.
type summary struct {
	Package    string  `json:"package"`
	Mutants    int     `json:"mutants"`
	Killed     int     `json:"killed"`
	TimedOut   int     `json:"timed_out"`
	Survived   int     `json:"survived"`
	Equivalent int     `json:"equivalent"`
	NotRun     int     `json:"not_run"`
	Score      float64 `json:"score"` // percent killed or timed out, of those that were run and are not equivalent
}

// add counts the results of one package and compares them with the list of
// equivalents.
func (r *report) add(pkg string, results []result, known []equivalent) {
	s := &summary{Package: pkg}
	r.Packages = append(r.Packages, s)
	for i := range results {
		if results[i].Outcome != uncompiled {
			s.Mutants++
			r.count(s, &results[i], lookUp(known, pkg, &results[i].mutant))
		}
	}
	for i := range known {
		if known[i].pkg == pkg && !known[i].holds {
			r.Stale = append(r.Stale, known[i].staleness())
		}
	}
	if tried := s.Mutants - s.Equivalent - s.NotRun; tried > 0 {
		s.Score = 100 * float64(s.Killed+s.TimedOut) / float64(tried)
	}
}

// count counts one result; listed is its entry in the list of equivalents, or
// nil.
func (r *report) count(s *summary, m *result, listed *equivalent) {
	if listed != nil {
		listed.found = true
		listed.holds = listed.holds || m.Outcome != killed && m.Outcome != timedOut
	}
	switch {
	case m.Outcome == killed:
		s.Killed++
	case m.Outcome == timedOut:
		s.TimedOut++
	case m.Outcome == notRun:
		s.NotRun++
	case listed != nil:
		s.Equivalent++
	default:
		s.Survived++
		r.Survivors = append(r.Survivors, *m)
	}
}

func (r *report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "package\tmutants\tkilled\ttimed out\tsurvived\tequivalent\tnot run\tscore\t")
	for _, s := range r.Packages {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f%%\t\n",
			s.Package, s.Mutants, s.Killed, s.TimedOut, s.Survived, s.Equivalent, s.NotRun, s.Score)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, m := range r.Survivors {
		note := ""
		if m.Outcome == unreached {
			note = ", which no test executes"
		}
		fmt.Fprintf(w, "\n%s:%d:%d: %s in %s%s\n%s", m.File, m.Line, m.Column, m.Operator, m.Function, note, m.diff())
	}
	for _, s := range r.Stale {
		fmt.Fprintf(w, "\n%s\n", s)
	}
	return nil
}

// verdict returns an error unless every mutant was run, and was caught or is
// listed as equivalent.
func (r *report) verdict() error {
	missing := 0
	for _, s := range r.Packages {
		missing += s.NotRun
	}
	if len(r.Survivors)+len(r.Stale)+missing == 0 {
		return nil
	}
	return fmt.Errorf("%d mutants survived, %d were not run, %d entries of the list of equivalents are out of date",
		len(r.Survivors), missing, len(r.Stale))
}
