package replay

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// headBytes precede the text of a line in the temporary file: its time, the size
// of the text, and a checksum of both and the text.
const headBytes = 8 + 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends a line as it is in the file.
func appendLine(b []byte, at int64, text string) []byte {
	head := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, 0, 0, 0, 0), text...)
	line := b[head:]
	binary.BigEndian.PutUint32(line[12:], checksum(line[:12], line[headBytes:]))
	return b
}

func checksum(head, text []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, text)
}

var errDamaged = errors.New("the temporary file was damaged")

// lineReader reads lines of the temporary file.
type lineReader struct {
	source *io.SectionReader
	left   int64 // bytes of the source that were not read yet
	buffer []byte
	size   int    // bytes in the buffer
	text   string // the end of them, which is not yet in a line
}

func newLineReader(source *io.SectionReader, buffer int) *lineReader {
	return &lineReader{source: source, left: source.Size(), buffer: make([]byte, buffer)}
}

// next fails with io.EOF only where a line would begin.
func (r *lineReader) next() (timedLine, error) {
	need := headBytes
	for {
		if raw := r.buffer[r.size-len(r.text) : r.size]; len(raw) >= headBytes {
			if need = headBytes + int(binary.BigEndian.Uint32(raw[8:])); len(raw) >= need {
				if binary.BigEndian.Uint32(raw[12:]) != checksum(raw[:12], raw[headBytes:need]) {
					return timedLine{}, errDamaged
				}
				l := timedLine{int64(binary.BigEndian.Uint64(raw)), r.text[headBytes:need]}
				r.text = r.text[need:]
				return l, nil
			}
		}
		if err := r.fill(need); err != nil {
			return timedLine{}, err
		}
	}
}

// fill reads until there are need bytes of text.
func (r *lineReader) fill(need int) error {
	had := len(r.text)
	switch more := int64(need - had); {
	case r.left == 0 && had == 0:
		return io.EOF
	case more > r.left: // before room is made for it
		return errDamaged
	}
	if need > len(r.buffer) {
		r.buffer = make([]byte, need)
	}
	copy(r.buffer, r.text)
	n, err := io.ReadAtLeast(r.source, r.buffer[had:], need-had)
	r.size, r.left = had+n, r.left-int64(n)
	r.text = string(r.buffer[:r.size])
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
