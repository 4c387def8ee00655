package replay

import (
	"cmp"
	"context"
	"iter"
	"math"
	"sync"
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
	extent *Extent
	last   int64 // time of the request that was read last
	at     Progress

	// The goroutine that parses has these.
	parsers  []parser // of the logs
	record   record
	encoded  []byte   // records of a batch
	warnings []string // not yet in a batch
	batches  sync.Pool
}

func newReading(t *Traffic, extent *Extent) *reading {
	extent.Order = cmp.Or(t.Order, ByTime)
	r := &reading{Traffic: t, extent: extent, last: math.MinInt64, at: Progress{Size: totalSize(t.Logs)}}
	for i := range t.Logs {
		r.parsers = append(r.parsers, t.Logs[i].Format.parser(func(text string) {
			r.warnings = append(r.warnings, t.Logs[i].Name+": "+text)
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
// last. It records lines that cannot be read, or are out of order, in the
// extent. An entry is valid until the next one.
func (r *reading) entries(ctx context.Context) iter.Seq2[*Entry, error] {
	if r.extent.Order == ByTime {
		return r.byTime(ctx)
	}
	return r.asLogged(ctx)
}

func (r *reading) asLogged(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for b, err := range r.parsed(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for l := range r.requests(b) {
				if !yield(&l.entry, nil) {
					return
				}
			}
		}
	}
}

// requests yields the lines of a batch that have a request, and then reuses the
// batch.
func (r *reading) requests(b *batch) iter.Seq[*parsed] {
	return func(yield func(*parsed) bool) {
		r.at.Read = b.read
		for _, text := range b.warnings {
			if r.Warn != nil {
				r.Warn(text)
			}
		}
		for i := range b.lines {
			l := &b.lines[i]
			if l.err != nil {
				r.extent.Skipped++
				r.extent.FirstSkipped = cmp.Or(r.extent.FirstSkipped, l.err)
				continue
			}
			if l.at < r.last {
				r.extent.OutOfOrder++
			}
			r.last = l.at
			if !yield(l) {
				return
			}
		}
		r.batches.Put(b)
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
		for b, err := range r.sorted(ctx, &s) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range b.lines {
				if !yield(&b.lines[i].entry, nil) {
					return
				}
			}
			r.batches.Put(b)
		}
	}
}

// readTo reads all logs and adds their lines to a sorter.
func (r *reading) readTo(ctx context.Context, s *sorter) error {
	r.at.Sorting = true
	for b, err := range r.parsed(ctx) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		for l := range r.requests(b) {
			if err := s.add(l.at, b.records, l.start, l.end); err != nil {
				return err
			}
			r.progress(time.Unix(0, l.at))
		}
	}
	r.at.Sorting, r.at.Total, r.at.Requests = false, r.at.Requests, 0
	return nil
}
