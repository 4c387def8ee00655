package logs

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ErrUnreadable is returned for logs that have lines, but none that could be
// read.
var ErrUnreadable = errors.New("no line could be read")

// Extent says what was read of logs.
type Extent struct {
	Requests     int64      `json:"requests"`     // read and decided
	Skipped      int64      `json:"skipped"`      // lines that could not be read
	FirstSkipped *LineError `json:"-"`            // before those in no known format
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

	peer    netip.Addr // of the first request; the zero Addr for a Unix socket
	several bool       // whether another request has another one
	via     netip.Addr // another address of one of them
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

// Client returns the address that a request has in a later field if all requests
// are from one address, or one socket: that of a proxy.
func (x *Extent) Client() (client netip.Addr, ok bool) {
	return x.via, x.Requests > 1 && !x.several && x.via.IsValid()
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
	if x.Requests == 0 {
		x.peer = e.Request.IP
	}
	if x.several = x.several || x.peer != e.Request.IP; !x.several {
		later := cmp.Or(e.Later, e.Request.LastForwarded())
		if later != x.peer {
			x.via = cmp.Or(x.via, later)
		}
	}
	if x.Requests++; x.Requests == 1 || at.Before(x.First) {
		x.First = at
	}
	if x.Requests == 1 || at.After(x.Last) {
		x.Last = at
	}
}

// maxFields bounds how many names are kept: clients may send any header.
const maxFields = 100

// fields are the names of the fields that logs have, as rules name them.
type fields []string

// see adds the fields of a record that was checked.
func (f *fields) see(r *record) {
	f.add("method", "", r.Method != "")
	f.add("path", "", r.Target != "")
	f.add("ip", "", r.addr.IsValid())
	f.add("route", "", r.Route != "")
	f.add("apikey", "", r.APIKey != "")
	f.add("stage", "", r.Stage != "")
	for i := range r.headers {
		f.add("header.", r.headers[i].name, true)
	}
	for name := range r.Claims {
		f.add("jwt.", name, true)
	}
	for name := range r.PathParams {
		f.add("path.", name, true)
	}
}

// add adds a field if it is there. It allocates nothing for one that is known.
func (f *fields) add(source, name string, there bool) {
	known := func(field string) bool {
		return len(field) == len(source)+len(name) && field[len(source):] == name && strings.HasPrefix(field, source)
	}
	if there && len(*f) < maxFields && !slices.ContainsFunc(*f, known) {
		*f = append(*f, source+name)
	}
}

// sorted returns the fields in order, and time, which every log has.
func (f *fields) sorted() []string {
	all := []string{"time"}
	for _, field := range *f {
		if strings.HasPrefix(field, "header.") {
			field = strings.ToLower(field)
		}
		all = append(all, field)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
