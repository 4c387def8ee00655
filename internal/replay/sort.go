package replay

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// sortBytes bounds the lines that a sorter has in memory.
	sortBytes = 64 << 20
	// lineBytes is what a line takes in memory besides its text.
	lineBytes = 48
	// mergeBuffer is how much of each sorted chunk is read at once. A terabyte
	// has 16,000 chunks.
	mergeBuffer = 8 << 10
)

// timedLine is a line to sort: a fraction of the size of its Entry.
type timedLine struct {
	line
	at int64 // Unix nanoseconds
}

func compareLines(a, b timedLine) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.log, b.log), cmp.Compare(a.number, b.number))
}

// sorter sorts lines by time, whatever their number. What is more than limit
// goes into a temporary file, in sorted chunks.
type sorter struct {
	limit int // bytes in memory
	lines []timedLine
	size  int // bytes of lines
	file  *os.File
	ends  []int64 // of the chunks, as offsets in the file
}

// add adds a line, in any order. It fails if the temporary file does.
func (s *sorter) add(l timedLine) error {
	size := lineBytes + len(l.text)
	if s.size+size > s.limit && len(s.lines) > 0 {
		if err := s.spill(); err != nil {
			return sortError(err)
		}
	}
	s.lines, s.size = append(s.lines, l), s.size+size
	return nil
}

// spill moves the lines in memory to the temporary file.
func (s *sorter) spill() error {
	if s.file == nil {
		file, err := os.CreateTemp(cmp.Or(os.Getenv("TMPDIR"), "/var/tmp"), "slidegate-")
		if err != nil {
			return err
		}
		s.file = file
		_ = os.Remove(file.Name()) // an open file stays without its name, and is gone if the process dies
	}
	slices.SortFunc(s.lines, compareLines)
	w := bufio.NewWriterSize(s.file, 64<<10)
	var buffer []byte
	for _, l := range s.lines {
		buffer = appendLine(buffer[:0], l)
		_, _ = w.Write(buffer) // Flush has its error
	}
	if err := w.Flush(); err != nil {
		return err
	}
	end, err := s.file.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, end)
	clear(s.lines)
	s.lines, s.size = s.lines[:0], 0
	return err
}

// sorted yields all lines in their order. An error is the last.
func (s *sorter) sorted() iter.Seq2[timedLine, error] {
	return func(yield func(timedLine, error) bool) {
		var all merge
		for _, c := range s.chunks() {
			err := c.advance()
			if err == nil {
				all = append(all, c)
			} else if !errors.Is(err, io.EOF) {
				yield(timedLine{}, sortError(err))
				return
			}
		}
		heap.Init(&all)
		for len(all) > 0 {
			if !yield(all[0].first, nil) {
				return
			}
			switch err := all[0].advance(); {
			case err == nil:
				heap.Fix(&all, 0)
			case errors.Is(err, io.EOF):
				heap.Pop(&all)
			default:
				yield(timedLine{}, sortError(err))
				return
			}
		}
	}
}

// close removes the temporary file.
func (s *sorter) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where an open file keeps its name
	}
}

func sortError(err error) error {
	return fmt.Errorf("sort the requests by time: %w; TMPDIR names the directory of the temporary file", err)
}

// chunk is sorted lines that are being read.
type chunk struct {
	first timedLine
	rest  func() (timedLine, error) // io.EOF after the last
}

func (c *chunk) advance() (err error) {
	c.first, err = c.rest()
	return err
}

// chunks returns the chunks of the temporary file, and the lines in memory.
func (s *sorter) chunks() []*chunk {
	slices.SortFunc(s.lines, compareLines)
	inMemory := func() (l timedLine, err error) {
		if len(s.lines) == 0 {
			return l, io.EOF
		}
		l, s.lines = s.lines[0], s.lines[1:]
		return l, nil
	}
	all, start := []*chunk{{rest: inMemory}}, int64(0)
	for _, end := range s.ends {
		r := bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), mergeBuffer)
		all = append(all, &chunk{rest: func() (timedLine, error) { return readLine(r) }})
		start = end
	}
	return all
}

// merge is a heap of chunks by their first lines.
type merge []*chunk

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return compareLines(m[i].first, m[j].first) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(c any)        { *m = append(*m, c.(*chunk)) }
func (m *merge) Pop() any {
	last := len(*m) - 1
	c := (*m)[last]
	*m = (*m)[:last]
	return c
}

const headNumbers = 4 // time, log, number and size of the text, 8 bytes each

// appendLine and readLine write and read the temporary file.
func appendLine(b []byte, l timedLine) []byte {
	for _, n := range [headNumbers]int64{l.at, int64(l.log), l.number, int64(len(l.text))} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, l.text...)
}

// readLine fails with io.EOF only where a line would begin.
func readLine(r io.Reader) (l timedLine, err error) {
	var head [8 * headNumbers]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return l, err
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(head[8*i:])) }
	text := make([]byte, number(3))
	if _, err := io.ReadFull(r, text); err != nil {
		return l, io.ErrUnexpectedEOF
	}
	return timedLine{line{int(number(1)), number(2), string(text)}, number(0)}, nil
}
