package replay

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/lanrat/extsort"
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

// chunkLines is how many lines are sorted at once. Up to five chunks are in
// memory; more are in a temporary file.
const chunkLines = 20_000

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

// readLine is a line with its request.
type readLine struct {
	line
	entry *Entry
}

// asLogged yields the lines that have a request, in the order of the logs.
func (r *reading) asLogged(ctx context.Context) iter.Seq2[readLine, error] {
	return func(yield func(readLine, error) bool) {
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
			if (e != nil || err != nil) && !yield(readLine{l, e}, err) {
				return
			}
		}
	}
}

// byTime reads everything first, and decides nothing if that fails. The
// temporary file is gone when byTime returns.
func (r *reading) byTime(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		read := make(chan timedLine, 1000)
		sorter, sorted, failure := extsort.Generic(read, decodeLine, encodeLine, compareLines, &extsort.Config{
			ChunkSize: chunkLines, NumWorkers: 1, TempFilesDir: os.Getenv("TMPDIR"), // by default /var/tmp
		})
		merging := make(chan struct{}) // closed when all chunks are sorted, or one could not be
		go func() {
			sorter.Sort(ctx)
			close(merging)
		}()
		defer func() {
			cancel()
			for range sorted { // until the sorter has ended
			}
		}()
		if err := r.feed(ctx, read, merging); err != nil {
			yield(nil, err)
			return
		}
		for l := range sorted {
			if e, err := r.parsers[l.log](l.text); !yield(e, err) {
				return
			}
		}
		if err := <-failure; err != nil {
			yield(nil, fmt.Errorf("sort the requests by time: %w; TMPDIR names the directory of the temporary file", err))
		}
	}
}

// feed sends all lines to the sorter, unless that gives up.
func (r *reading) feed(ctx context.Context, to chan<- timedLine, gaveUp <-chan struct{}) error {
	defer close(to)
	r.at.Sorting = true
	for l, err := range r.asLogged(ctx) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		select {
		case to <- timedLine{l.line, l.entry.Time.UnixNano()}:
			r.progress(l.entry.Time)
		case <-gaveUp:
			return nil
		}
	}
	r.at.Sorting, r.at.Total, r.at.Requests = false, r.at.Requests, 0
	return nil
}

// timedLine is a line to sort: a fraction of the size of its Entry.
type timedLine struct {
	line
	at int64 // Unix nanoseconds
}

func compareLines(a, b timedLine) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.log, b.log), cmp.Compare(a.number, b.number))
}

const encodedNumbers = 3 * 8 // bytes

// encodeLine and decodeLine write and read the temporary file.
func encodeLine(l timedLine) ([]byte, error) {
	b := make([]byte, 0, encodedNumbers+len(l.text))
	for _, n := range []int64{l.at, int64(l.log), l.number} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, l.text...), nil
}

func decodeLine(b []byte) (l timedLine, err error) {
	if len(b) < encodedNumbers {
		return l, io.ErrUnexpectedEOF
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	l.at, l.log, l.number, l.text = number(0), int(number(1)), number(2), string(b[encodedNumbers:])
	return l, nil
}
