package plain

import (
	"bytes"
	"io"
)

// lineReader passes a reader on and turns offsets into lines and columns. It
// keeps only the line ends between the parser's place and what the parser has
// buffered, so its size does not grow with the file.
type lineReader struct {
	reader io.Reader
	read   int64   // bytes so far
	ends   []int64 // offsets of the line feeds ahead
	line   int     // line feeds behind
	start  int64   // offset of the line's first byte
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	for at := 0; ; at++ {
		i := bytes.IndexByte(p[at:n], '\n')
		if i < 0 {
			break
		}
		at += i
		l.ends = append(l.ends, l.read+int64(at))
	}
	l.read += int64(n)
	return n, err
}

// locate returns the line and column, from 1, of the byte before an offset.
// Offsets must not decrease from call to call.
func (l *lineReader) locate(offset int64) (line, column int) {
	for len(l.ends) > 0 && l.ends[0] < offset-1 {
		l.start = l.ends[0] + 1
		l.line++
		l.ends = l.ends[1:]
	}
	return l.line + 1, int(max(1, offset-l.start))
}
