package replay

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"
)

// Order is the order in which recorded requests are decided, by its name on the
// command line.
type Order string

const (
	// ByTime sorts the requests of all logs by time. Apache logs a request when
	// it ends, with the time at which it began, so lines are often out of order.
	// Requests of the same time stay in the order of the logs and their lines.
	ByTime Order = "time"
	// AsLogged keeps the order of the logs and their lines. The clock goes back
	// where a line is earlier than the one before it.
	AsLogged Order = "file"
)

// reading is recorded traffic that is being read.
type reading struct {
	*Traffic
	parsers []parser // of the logs
	extent  *Extent
	last    time.Time // of the request that was read last
	at      Progress
}

func newReading(t *Traffic, extent *Extent) *reading {
	extent.Order = cmp.Or(t.Order, ByTime)
	r := &reading{Traffic: t, extent: extent, at: Progress{Size: totalSize(t.Logs)}}
	for i := range t.Logs {
		r.parsers = append(r.parsers, t.Logs[i].Format.parser(func(text string) {
			if t.Warn != nil {
				t.Warn(t.Logs[i].Name + ": " + text)
			}
		}))
	}
	return r
}

// progress reports a request that was read, to sort it, or decided.
func (r *reading) progress(at time.Time) {
	r.at.Requests++
	r.at.At = at
	if r.Progress != nil {
		r.Progress(r.at)
	}
}

// entries yields the requests in the order of the traffic. An error is the
// last. It records lines that cannot be read, or are out of order, in the extent.
func (r *reading) entries(ctx context.Context) iter.Seq2[*Entry, error] {
	if r.extent.Order == ByTime {
		return r.byTime(ctx)
	}
	return func(yield func(*Entry, error) bool) {
		for l, err := range r.asLogged(ctx) {
			if !yield(l.entry, err) {
				return
			}
		}
	}
}

// readEntry is a line with its request.
type readEntry struct {
	line
	entry *Entry
}

// asLogged yields the lines that have a request, in the order of the logs.
func (r *reading) asLogged(ctx context.Context) iter.Seq2[readEntry, error] {
	return func(yield func(readEntry, error) bool) {
		for l, err := range lines(ctx, r.Logs, &r.at.Read) {
			var e *Entry
			if err == nil {
				if e, err = r.parsers[l.log](l.text); err != nil {
					err = &LineError{r.Logs[l.log].Name, l.number, err}
				}
			}
			if unreadable, ok := errors.AsType[*LineError](err); ok {
				r.extent.Skipped++
				r.extent.FirstSkipped = cmp.Or(r.extent.FirstSkipped, unreadable)
				continue
			}
			if e != nil {
				if e.Time.Before(r.last) {
					r.extent.OutOfOrder++
				}
				r.last = e.Time
			}
			if (e != nil || err != nil) && !yield(readEntry{l, e}, err) {
				return
			}
		}
	}
}

// byTime reads everything first, and decides nothing if that fails. The
// temporary file is gone when byTime returns.
func (r *reading) byTime(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		s := sorter{limit: cmp.Or(r.sortBytes, sortBytes)}
		defer s.close()
		if err := r.readTo(ctx, &s); err != nil {
			yield(nil, err)
			return
		}
		for l, err := range s.sorted() {
			var e *Entry
			if err == nil {
				e, err = r.parsers[l.log](l.text)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// readTo reads all logs and adds their lines to a sorter.
func (r *reading) readTo(ctx context.Context, s *sorter) error {
	r.at.Sorting = true
	for l, err := range r.asLogged(ctx) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if err := s.add(timedLine{l.line, l.entry.Time.UnixNano()}); err != nil {
			return err
		}
		r.progress(l.entry.Time)
	}
	r.at.Sorting, r.at.Total, r.at.Requests = false, r.at.Requests, 0
	return nil
}
