package plain

import "bytes"

// lines turns offsets of a text into lines and columns. The text is written to
// it; it keeps only the text after the last offset, so its size does not grow
// with the file.
type lines struct {
	bytes.Buffer
	offset int64 // of the first byte in the buffer
	line   int   // line feeds before it
	start  int64 // offset of the line's first byte
}

// locate returns the line and column, from 1, of the byte before an offset.
// Offsets must not decrease from call to call.
func (l *lines) locate(offset int64) (line, column int) {
	for _, c := range l.Next(int(max(0, offset-1-l.offset))) {
		l.offset++
		if c == '\n' {
			l.line++
			l.start = l.offset
		}
	}
	return l.line + 1, int(max(1, offset-l.start))
}
