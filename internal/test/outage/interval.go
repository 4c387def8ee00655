package outage

import (
	"slices"
	"time"
)

// entry is a charge at a time of the interval log.
type entry struct {
	at    int64
	units int64
}

// intervals is an exact log of charges by time, for intervals of one length.
type intervals struct {
	entries []entry // ascending
	first   int     // of the interval that ends at the newest entry
	sum     int64   // from there on
	length  int64
}

// keptIntervals is how many intervals back entries are kept.
const keptIntervals = 3

// add logs a charge and returns the most units in any interval of this length
// that contains the charge. Intervals are (t-length, t]. The length may only
// shrink from one call to the next.
func (l *intervals) add(at, units int64, length time.Duration) int64 {
	l.length = int64(length)
	n := len(l.entries)
	if n == 0 || l.entries[n-1].at <= at {
		l.entries = append(l.entries, entry{at, units})
		l.advance(n)
		l.prune()
		return l.sum
	}
	i := n
	for i > 0 && l.entries[i-1].at > at {
		i--
	}
	l.entries = slices.Insert(l.entries, i, entry{at, units})
	return l.around(i)
}

// advance moves on to the interval that ends at the next entry.
func (l *intervals) advance(last int) {
	l.sum += l.entries[last].units
	for ; l.entries[l.first].at <= l.entries[last].at-l.length; l.first++ {
		l.sum -= l.entries[l.first].units
	}
}

// around computes every interval again, and returns the most units in any that
// contains entry i.
func (l *intervals) around(i int) (most int64) {
	l.first, l.sum = 0, 0
	for last := range l.entries {
		if l.advance(last); last >= i && l.entries[l.first].at <= l.entries[i].at {
			most = max(most, l.sum)
		}
	}
	return most
}

// prune drops entries that no late charge can reach any more. It drops a
// thousand at a time, because a deletion moves all later entries.
func (l *intervals) prune() {
	const some = 1024
	if l.first < some || l.entries[some-1].at >= l.entries[len(l.entries)-1].at-keptIntervals*l.length {
		return
	}
	l.entries = slices.Delete(l.entries, 0, some)
	l.first -= some
}
