package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// maxLine bounds a line, in bytes. A longer one is skipped without being held
// in memory.
const maxLine = 1 << 20

var errLong = errors.New("line is longer than 1 MiB")

// line is a line of a log.
type line struct {
	log    int   // index of its log
	number int64 // in that log, from 1
	text   string
}

// lines yields the lines of all logs, one log after another, and a *LineError
// for each line that is too long. Any other error is the last. Reads end with
// the context. read counts the bytes taken from the logs as stored.
func lines(ctx context.Context, logs []Log, read *int64) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		for i := range logs {
			for l, err := range logs[i].lines(ctx, read) {
				l.log = i
				if !yield(l, err) {
					return
				}
			}
		}
	}
}

func (l *Log) lines(ctx context.Context, read *int64) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		file, err := l.Open()
		if err != nil {
			yield(line{}, err)
			return
		}
		defer file.Close()
		source := interruptible(ctx, file)
		defer source.Close()
		text, err := newLineReader(io.TeeReader(source, (*byteCount)(read)))
		if err != nil {
			yield(line{}, fmt.Errorf("%s: %w", l.Name, err))
			return
		}
		for number := int64(1); ; number++ {
			content, err := text.next()
			switch {
			case errors.Is(err, errLong):
				err = &LineError{l.Name, number, err}
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(line{}, fmt.Errorf("%s:%d: %w", l.Name, number, err))
				return
			}
			if (content != "" || err != nil) && !yield(line{number: number, text: content}, err) {
				return
			}
		}
	}
}

// lineReader reads lines of text.
type lineReader struct {
	text *bufio.Reader
	line []byte
}

// newLineReader recognizes gzip by its first bytes, whatever the log's name,
// and skips a byte order mark.
func newLineReader(r io.Reader) (*lineReader, error) {
	text := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(unzipped, 64<<10)
	}
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	return &lineReader{text: text}, nil
}

// next returns the next line without its end. The error is errLong for a line
// that is too long, and io.EOF after the last.
func (r *lineReader) next() (string, error) {
	r.line = r.line[:0]
	size := 0
	for {
		part, err := r.text.ReadSlice('\n')
		if size += len(part); size <= maxLine {
			r.line = append(r.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size == 0, err != nil && !errors.Is(err, io.EOF):
			return "", err
		case size > maxLine:
			return "", errLong
		}
		return strings.TrimRight(string(r.line), "\r\n"), nil
	}
}

// byteCount counts the bytes that are written.
type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

// interruptible returns a reader of r that fails when the context ends, also
// during a read that waits for a terminal. That read goes on in the background,
// so nothing else may read from r.
func interruptible(ctx context.Context, r io.Reader) *io.PipeReader {
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		stop()
		in.CloseWithError(err) // io.EOF for nil
	}()
	return out
}
