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
	"time"
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
	block  int           // bytes to read at once
	text   *bufio.Reader // nil before the first line
	close  func()
	ended  bool
	number int64     // of the line that was read last
	start  time.Time // of its first request; the zero Time if that is unknown
	last   time.Time // of the request that was read last

	chunks  int // that were read
	waiting int // bytes of buffered requests
}

// newLogReader returns a reader of one of several logs. warn may be nil.
func newLogReader(index, logs int, log *Log, warn func(string)) *logReader {
	parse := log.parser(func(text string) {
		if warn != nil {
			warn(log.Name + ": " + text)
		}
	})
	return &logReader{Log: log, index: index, parse: parse, block: min(max(allBlocks/logs, minBlock), blockBytes), close: func() {}}
}

// probe looks for the first request of a file. It looks at no stream, which
// cannot be read twice.
func (l *logReader) probe(ctx context.Context) error {
	if l.Size < 0 {
		return ctx.Err()
	}
	first := newLogReader(l.index, math.MaxInt, l.Log, nil)
	defer func() { first.close() }()
	for {
		line, err := first.next(ctx, new(int64))
		if err != nil {
			return ctx.Err() // reading it again reports the error
		}
		var r record
		if found, err := first.parseLine(line, &r); found && err == nil {
			l.start = r.time
			return nil
		}
	}
}

// next returns the next line with its end, as soon as it is whole, and adds what
// it read to a count of bytes. The error is io.EOF after the last line, and a
// *LineError in place of a line that is too long. Reads end with the context.
func (l *logReader) next(ctx context.Context, read *int64) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if l.ended {
		return "", io.EOF
	}
	if l.text == nil {
		if err := l.open(ctx, read); err != nil {
			return "", err
		}
	}
	l.number++
	line, err := readLine(l.text)
	switch {
	case err == nil, ctx.Err() != nil:
	case errors.Is(err, errLong):
		err = &LineError{l.Name, l.number, err}
	case errors.Is(err, io.EOF):
		l.ended, l.text = true, nil
		l.close()
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s:%d: %w: the gzip file is cut short: copy it again", l.Name, l.number, err)
	default:
		err = fmt.Errorf("%s:%d: %w", l.Name, l.number, err)
	}
	return line, err
}

// readLine returns the next line with its end, which the last line may lack, or
// errLong.
func readLine(text *bufio.Reader) (string, error) {
	var start []byte
	part, err := text.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(start) <= maxLine {
			start = append(start, part...)
		}
		part, err = text.ReadSlice('\n')
	}
	switch size := len(start) + len(part); {
	case size > maxLine:
		return "", errLong
	case errors.Is(err, io.EOF) && size > 0:
		err = nil
	}
	return string(start) + string(part), err
}

func (l *logReader) open(ctx context.Context, read *int64) error {
	file, err := l.Open()
	if err != nil {
		return err
	}
	source := interruptible(ctx, file)
	l.close = func() {
		_ = source.Close()
		_ = file.Close()
	}
	text, err := plainText(&counter{source, read}, l.block)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	l.text = text
	return nil
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n *int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += int64(n)
	return n, err
}

// parseLine reads a line with its end into a record, and reports whether it has
// a request.
func (l *logReader) parseLine(line string, r *record) (bool, error) {
	line = strings.TrimRight(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return false, nil
	}
	return l.parse(line, r)
}

// plainText recognizes gzip by its first bytes, whatever the log's name, and
// skips a byte order mark.
func plainText(r io.Reader, block int) (*bufio.Reader, error) {
	text := bufio.NewReaderSize(r, block)
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(unzipped, block)
	}
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	return text, nil
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
