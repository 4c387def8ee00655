package logs

import (
	"cmp"
	"errors"
	"time"
)

// ErrUnreadable is returned for logs that have lines, but none that could be
// read.
var ErrUnreadable = errors.New("no line could be read")

// Extent says what was read of logs.
type Extent struct {
	Requests     int64      `json:"requests"` // read and decided
	Skipped      int64      `json:"skipped"`  // lines that could not be read
	FirstSkipped *LineError `json:"-"`
	NoMethod     int64      `json:"no_method"`    // requests whose method the log does not have
	NoAddress    int64      `json:"no_address"`   // requests whose proxy's entry for the client is no address
	FirstEntry   string     `json:"-"`            // of these, with its header
	Order        Order      `json:"order"`        // in which the requests were decided
	OutOfOrder   int64      `json:"out_of_order"` // requests earlier than the one before in their log
	Late         int64      `json:"late"`         // requests decided after later ones, although the order is ByTime
	First        time.Time  `json:"-"`            // the earliest request
	Last         time.Time  `json:"-"`            // the latest
	Fields       []string   `json:"-"`            // that lines have, as rules name them
	Statuses     int64      `json:"-"`            // requests whose answer's status the log has
}

// Span is the time from the earliest request to the latest.
func (x *Extent) Span() time.Duration { return x.Last.Sub(x.First) }

// HowOrdered says in what order the requests were decided.
func (x *Extent) HowOrdered() string {
	if x.Order == AsLogged {
		return "left in the order of the files"
	}
	return "sorted by time"
}

// Count counts a request, whose client is located.
func (x *Extent) Count(e *Entry) {
	at := e.Time
	if e.Status > 0 {
		x.Statuses++
	}
	if e.Request.Method == "" {
		x.NoMethod++
	}
	if e.Request.Unreadable != "" {
		x.NoAddress++
		x.FirstEntry = cmp.Or(x.FirstEntry, e.Request.Unreadable)
	}
	if x.Requests++; x.Requests == 1 || at.Before(x.First) {
		x.First = at
	}
	if x.Requests == 1 || at.After(x.Last) {
		x.Last = at
	}
}
