package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxLine bounds a line, in bytes. A longer one is passed over without being held in memory.
const maxLine = 1 << 20

var errLong = errors.New("line is longer than 1 MiB")

// reader reads the requests of one log.
type reader struct {
	name  string
	parse parser
	text  *bufio.Reader
	file  io.Closer
	line  int64 // the number of the latest line, from 1
	held  []byte
}

// openReader starts to read a log. What is gzipped is known by its first bytes, whatever its name says. read counts the
// bytes taken from the file. Reads end with the context.
func openReader(ctx context.Context, log *Log, read *int64, warn func(string)) (*reader, error) {
	file, err := log.Open()
	if err != nil {
		return nil, err
	}
	text := bufio.NewReaderSize(&counted{&interruptible{ctx: ctx, r: file}, read}, 64<<10)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("%s: %w", log.Name, err)
		}
		text = bufio.NewReaderSize(unzipped, 64<<10)
	}
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	parse := log.Format.parser(func(text string) { warn(log.Name + ": " + text) })
	return &reader{name: log.Name, parse: parse, text: text, file: file}, nil
}

func (r *reader) Close() error { return r.file.Close() }

// next returns the next request; a *LineError for a line that cannot be read, after which it can go on, and io.EOF at the
// end.
func (r *reader) next() (*Entry, error) {
	for {
		line, err := r.nextLine()
		switch {
		case errors.Is(err, errLong):
			return nil, &LineError{r.name, r.line, err}
		case errors.Is(err, io.EOF):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", r.name, r.line, err)
		case line == "":
			continue
		}
		e, err := r.parse.parse(line)
		if err != nil {
			return nil, &LineError{r.name, r.line, err}
		}
		if e != nil {
			return e, nil
		}
	}
}

// nextLine returns the next line without its end; errLong for one that is too long, and io.EOF after the last.
func (r *reader) nextLine() (string, error) {
	r.line++
	r.held = r.held[:0]
	size := 0
	for {
		part, err := r.text.ReadSlice('\n')
		if size += len(part); size <= maxLine {
			r.held = append(r.held, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size == 0, err != nil && !errors.Is(err, io.EOF):
			return "", err
		case size > maxLine:
			return "", errLong
		}
		return strings.TrimRight(string(r.held), "\r\n"), nil
	}
}

// counted counts the bytes that pass.
type counted struct {
	r io.Reader
	n *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// interruptible ends a read when its context ends, also a read that waits for a
// terminal. It abandons the read under way, so nothing may read from r afterwards.
type interruptible struct {
	ctx context.Context
	r   io.Reader
	own []byte // what r reads into: the caller's slice is the caller's again once the context has ended
}

func (i *interruptible) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	if err := i.ctx.Err(); err != nil {
		return 0, err // one that was left behind may still be reading
	}
	if len(i.own) < len(p) {
		i.own = make([]byte, len(p))
	}
	own, answered := i.own[:len(p)], make(chan answer, 1)
	go func() {
		n, err := i.r.Read(own)
		answered <- answer{n, err}
	}()
	select {
	case a := <-answered:
		return copy(p, own[:a.n]), a.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

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
	each     func(context.Context, *Entry) error // decides a request, and ends the walk by an error
	extent   *Extent                             // takes in the lines that cannot be read
	progress Progress
	report   func(Progress)
	warn     func(string)
}

func newWalk(logs []Log, extent *Extent, report func(Progress), warn func(string), each func(context.Context, *Entry) error) *walk {
	w := &walk{each: each, extent: extent, report: report, warn: warn}
	w.progress.Size = totalSize(logs)
	if w.report == nil {
		w.report = func(Progress) {}
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
		w.report(w.progress)
	}
	return ctx.Err()
}
