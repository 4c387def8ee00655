package imports

import (
	"bytes"
	"io"
)

// lines passes a reader on and keeps track of its lines, for a parser that tells offsets. It remembers the line ends that
// the parser has read and not come to, so its size is that of the parser's buffer.
type lines struct {
	reader io.Reader
	read   int64   // bytes so far
	ends   []int64 // offsets of the line feeds ahead
	line   int     // line feeds behind
	start  int64   // of the line
}

// Read reads.
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		l.ends = append(l.ends, l.read+int64(n-len(rest))-1)
	}
	l.read += int64(n)
	return n, err
}

// at returns the line and column, from 1, of the byte before an offset. Offsets never go back.
func (l *lines) at(offset int64) (line, column int) {
	for len(l.ends) > 0 && l.ends[0] < offset-1 {
		l.start = l.ends[0] + 1
		l.line++
		l.ends = l.ends[1:]
	}
	return l.line + 1, int(max(1, offset-l.start))
}
