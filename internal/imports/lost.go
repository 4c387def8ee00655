package imports

import (
	"cmp"
	"slices"
)

// Lost is something that is not carried over, or not in the same meaning.
type Lost struct {
	Place string // in the source, such as "limits.yaml:12:5"
	What  string
	Why   string // and what to do about it
}

// String returns one line, "place: what: why".
func (l Lost) String() string { return l.Place + ": " + l.What + ": " + l.Why }

// spot is a place in a source.
type spot struct {
	text string
	rank int // among all places
}

// losses are what an import could not carry over.
type losses struct {
	all   []loss
	noted map[string]bool
}

type loss struct {
	rank int
	Lost
}

func (l *losses) lose(at spot, what, why string) {
	l.all = append(l.all, loss{at.rank, Lost{at.text, what, why}})
}

// note loses what is said once, however often it comes.
func (l *losses) note(at spot, what, why string) {
	if l.noted == nil {
		l.noted = map[string]bool{}
	}
	if !l.noted[what] {
		l.noted[what] = true
		l.lose(at, what, why)
	}
}

// sorted returns them in the order of the source.
func (l *losses) sorted() []Lost {
	slices.SortStableFunc(l.all, func(a, b loss) int { return cmp.Compare(a.rank, b.rank) })
	lost := make([]Lost, len(l.all))
	for i, one := range l.all {
		lost[i] = one.Lost
	}
	return lost
}
