package replay

import (
	"context"
	"errors"
	"io"
	"time"
)

// Extent says what was read of logs.
type Extent struct {
	Requests     int64      `json:"requests"` // read and decided
	Skipped      int64      `json:"skipped"`  // lines that could not be read
	FirstSkipped *LineError `json:"-"`
	First        time.Time  `json:"-"` // the earliest request
	Last         time.Time  `json:"-"` // the latest
}

// Span is the time from the earliest request to the latest.
func (x *Extent) Span() time.Duration { return x.Last.Sub(x.First) }

func (x *Extent) count(at time.Time) {
	if x.Requests++; x.Requests == 1 || at.Before(x.First) {
		x.First = at
	}
	if x.Requests == 1 || at.After(x.Last) {
		x.Last = at
	}
}

func (x *Extent) skip(err *LineError) {
	if x.Skipped++; x.FirstSkipped == nil {
		x.FirstSkipped = err
	}
}

// walk reads logs one after another.
type walk struct {
	each     func(context.Context, *Entry) error // judges a request, and ends the walk by an error
	extent   *Extent                             // takes in the lines that cannot be read
	progress Progress
	tell     func(Progress)
	warn     func(string)
}

func newWalk(logs []Log, extent *Extent, tell func(Progress), warn func(string), each func(context.Context, *Entry) error) *walk {
	w := &walk{each: each, extent: extent, tell: tell, warn: warn}
	w.progress.Size = totalSize(logs)
	if w.tell == nil {
		w.tell = func(Progress) {}
	}
	if w.warn == nil {
		w.warn = func(string) {}
	}
	return w
}

// all fails with the context's own error if that ends, and with ErrUnreadable for logs of which no line could be read.
func (w *walk) all(ctx context.Context, logs []Log) error {
	for i := range logs {
		if err := w.log(ctx, &logs[i]); err != nil {
			return err
		}
	}
	if w.extent.Requests == 0 && w.extent.Skipped > 0 {
		return ErrUnreadable
	}
	return nil
}

func (w *walk) log(ctx context.Context, log *Log) error {
	in, err := openReader(ctx, log, &w.progress.Read, w.warn)
	if err != nil {
		return err
	}
	defer in.Close()
	for ctx.Err() == nil {
		e, err := in.next()
		var unreadable *LineError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &unreadable):
			w.extent.skip(unreadable)
			continue
		case err != nil:
			return err
		}
		if err := w.each(ctx, e); err != nil {
			return err
		}
		w.progress.Requests++
		w.progress.At = e.Time
		w.tell(w.progress)
	}
	return ctx.Err()
}
