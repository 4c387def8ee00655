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
	"os"
)

const (
	// maxLine bounds a line with its end, in bytes. A longer one is skipped
	// without being held in memory.
	maxLine = 1 << 20
	// blockBytes is how much of a log is read at once, and more only where a
	// line is longer.
	blockBytes = 64 << 10
)

var errLong = errors.New("line is longer than 1 MiB")

// block is lines of a log that were read at once: of a log that is still being
// written, those that are there.
type block struct {
	log   int    // index of its log
	first int64  // number of the first line in that log, from 1
	text  string // whole lines; only the last of a log may lack its end
	read  int64  // bytes of all logs as stored that were read so far
}

// blocks yields the text of all logs, one log after another, and a *LineError
// for each line that is too long. Any other error is the last. Reads end with
// the context.
func (t *Traffic) blocks(ctx context.Context) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		var read int64
		for i := range t.Logs {
			for b, err := range t.Logs[i].blocks(ctx, &read) {
				b.log, b.read = i, read
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

func (l *Log) blocks(ctx context.Context, read *int64) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		file, err := l.Open()
		if err != nil {
			yield(block{}, err)
			return
		}
		defer file.Close()
		source := interruptible(ctx, file)
		defer source.Close()
		text, err := plainText(io.TeeReader(source, (*byteCount)(read)))
		if err != nil {
			yield(block{}, fmt.Errorf("%s: %w", l.Name, err))
			return
		}
		r := blockReader{source: text, number: 1, buffer: make([]byte, blockBytes)}
		for {
			first := r.number
			text, err := r.next()
			switch {
			case errors.Is(err, errLong):
				err = &LineError{l.Name, first, err}
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(block{}, fmt.Errorf("%s:%d: %w", l.Name, r.number, err))
				return
			}
			if !yield(block{first: first, text: text}, err) {
				return
			}
		}
	}
}

// plainText recognizes gzip by its first bytes, whatever the log's name, and
// skips a byte order mark.
func plainText(r io.Reader) (io.Reader, error) {
	text := bufio.NewReaderSize(r, blockBytes)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(unzipped, blockBytes)
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
