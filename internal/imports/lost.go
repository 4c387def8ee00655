package imports

import (
	"cmp"
	"slices"
)

// Lost is something that an import does not carry over, or carries over with
// another meaning.
type Lost struct {
	Place string `json:"place"` // in the source, such as "limits.yaml:12:5"
	What  string `json:"what"`
	Why   string `json:"why"` // and what to do about it
}

// String returns one line, "place: what: why".
func (l Lost) String() string { return l.Place + ": " + l.What + ": " + l.Why }

// Place is a place in the source. A place without a position, which has only a
// Name, comes before all others.
type Place struct {
	Name               string // "file:line:column"
	file, line, column int    // file is the index among the sources
}

// Compare orders places as they stand in the source.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// Losses collects what an import loses. The zero value is empty.
type Losses struct {
	entries  []loss
	recorded map[string]bool // by RecordOnce
}

type loss struct {
	at Place
	Lost
}

// Record adds an entry.
func (l *Losses) Record(at Place, what, why string) {
	l.entries = append(l.entries, loss{at, Lost{at.Name, what, why}})
}

// RecordOnce adds an entry unless it has added one with the same what before.
func (l *Losses) RecordOnce(at Place, what, why string) {
	if l.recorded == nil {
		l.recorded = map[string]bool{}
	}
	if !l.recorded[what] {
		l.recorded[what] = true
		l.Record(at, what, why)
	}
}

// Sorted returns the entries in the order of the source.
func (l *Losses) Sorted() []Lost {
	slices.SortStableFunc(l.entries, func(a, b loss) int { return a.at.Compare(b.at) })
	lost := make([]Lost, len(l.entries))
	for i, e := range l.entries {
		lost[i] = e.Lost
	}
	return lost
}
