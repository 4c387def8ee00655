package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

const (
	// maxLine bounds a line with its end, in bytes. A longer one is skipped
	// without being held in memory.
	maxLine = 1 << 20
	// blockBytes is how much of a log is read at once, and more only where a
	// line is longer. It is less if there are many logs: all may be open at once,
	// and their buffers hold at most allBlocks, or minBlock for each log.
	blockBytes, minBlock, allBlocks = 64 << 10, 4 << 10, 16 << 20
)

var errLong = errors.New("line is longer than 1 MiB")

// logReader reads one log.
type logReader struct {
	*Log
	index  int
	parse  parser
	block  int          // bytes to read at once
	blocks *blockReader // nil before the first line
	close  func()
	ended  bool
	start  int64 // time of its first request, in Unix nanoseconds; earliest if that is unknown
	last   int64 // time of the request that was read last, in Unix nanoseconds

	waiting int // bytes of the lines that wait for their time
	held    int // and of all lines of their chunks
}

// earliest is before all requests, so that openAhead can be subtracted.
const earliest = math.MinInt64 / 2

// probe reads the beginning of a file for its first request. It looks at no
// stream, which cannot be read twice.
func (l *logReader) probe(ctx context.Context) error {
	if l.Size == 0 {
		return ctx.Err()
	}
	first := newLogReader(l.index, math.MaxInt, l.Log, func(string) {})
	defer func() { first.close() }()
	text, _, err := first.next(ctx, new(byteCount))
	if err != nil {
		return ctx.Err() // reading it reports the error
	}
	var r record
	for line := range strings.Lines(text) {
		if found, err := first.parseLine(line, &r); found && err == nil {
			l.start = r.time.UnixNano()
			break
		}
	}
	return nil
}

// newLogReader returns a reader of one of several logs.
func newLogReader(index, logs int, log *Log, warn func(string)) *logReader {
	parse := log.parser(func(text string) { warn(log.Name + ": " + text) })
	block := min(max(allBlocks/logs, minBlock), blockBytes)
	return &logReader{Log: log, index: index, parse: parse, block: block, close: func() {}, start: earliest, last: math.MinInt64}
}

// next returns the next lines and the number of the first, as soon as a line is
// whole. The error is io.EOF after the last line, and a *LineError in place of a
// line that is too long. Reads end with the context.
func (l *logReader) next(ctx context.Context, read *byteCount) (text string, first int64, err error) {
	if l.blocks == nil {
		if err := l.open(ctx, read); err != nil {
			return "", 0, err
		}
	}
	blocks := l.blocks
	first = blocks.number
	text, err = blocks.next()
	switch {
	case errors.Is(err, errLong):
		err = &LineError{l.Name, first, err}
	case errors.Is(err, io.EOF):
		l.ended, l.blocks = true, nil
		l.close()
		l.close = func() {}
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s:%d: %w: the gzip file is cut short: copy it again", l.Name, blocks.number, err)
	case err != nil:
		err = fmt.Errorf("%s:%d: %w", l.Name, blocks.number, err)
	}
	return text, first, err
}

func (l *logReader) open(ctx context.Context, read *byteCount) error {
	file, err := l.Open()
	if err != nil {
		return err
	}
	source := interruptible(ctx, file)
	l.close = func() {
		_ = source.Close()
		_ = file.Close()
	}
	text, err := plainText(io.TeeReader(source, read), l.block)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	l.blocks = &blockReader{source: text, number: 1, buffer: make([]byte, l.block)}
	return nil
}

// parseLine reads a line with its end into a record, and reports whether it has
// a request.
func (l *logReader) parseLine(line string, r *record) (bool, error) {
	if len(line) > maxLine {
		return false, errLong
	}
	line = strings.TrimRight(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return false, nil
	}
	return l.parse(line, r)
}

// plainText recognizes gzip by its first bytes, whatever the log's name, and
// skips a byte order mark.
func plainText(r io.Reader, block int) (io.Reader, error) {
	text := bufio.NewReaderSize(r, block)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(unzipped, minBlock) // larger reads go past it
	}
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	return text, nil
}

// blockReader cuts text into blocks.
type blockReader struct {
	source io.Reader
	number int64  // of the line at the start of the buffer
	buffer []byte // its first size bytes are read, and in no block yet
	size   int
	err    error // of the source, after the buffer
}

// next returns the next lines as soon as one of them is whole. The error is
// errLong in place of a line that fills more than maxLine, and io.EOF after the
// last.
func (r *blockReader) next() (string, error) {
	for {
		end := bytes.LastIndexByte(r.buffer[:r.size], '\n') + 1
		if errors.Is(r.err, io.EOF) {
			end = r.size
		}
		switch {
		case end > 0:
			text := string(r.buffer[:end])
			r.drop(end)
			return text, nil
		case r.size > maxLine:
			return "", r.skipLine()
		case r.err != nil:
			return "", r.err
		}
		r.fill()
	}
}

// skipLine drops the line at the start of the buffer.
func (r *blockReader) skipLine() error {
	for {
		if end := bytes.IndexByte(r.buffer[:r.size], '\n') + 1; end > 0 {
			r.drop(end)
			return errLong
		}
		r.size = 0
		switch {
		case errors.Is(r.err, io.EOF):
			return errLong
		case r.err != nil:
			return r.err
		}
		r.fill()
	}
}

// fill reads once.
func (r *blockReader) fill() {
	if r.size == len(r.buffer) {
		r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
	}
	var n int
	n, r.err = r.source.Read(r.buffer[r.size:])
	r.size += n
}

// drop drops the first n bytes of the buffer.
func (r *blockReader) drop(n int) {
	r.number += int64(bytes.Count(r.buffer[:n], []byte{'\n'}))
	r.size = copy(r.buffer, r.buffer[n:r.size])
}

// byteCount counts the bytes that are written.
type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

// interruptible returns a reader of r that fails when the context ends, also
// during a read that waits for a terminal. That read goes on in the background,
// so nothing else may read from r. A regular file has nothing to wait for.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		stop()
		in.CloseWithError(err) // io.EOF for nil
	}()
	return out
}
