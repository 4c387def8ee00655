package replay

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// sortBytes bounds the lines that a sorter has in memory.
	sortBytes = 32 << 20
	// lineBytes is what a line takes in memory besides its text.
	lineBytes = 24
	// leastBuffer and mostBuffer bound how much of each sorted chunk is read at
	// once. A terabyte has 64,000 chunks.
	leastBuffer, mostBuffer = 4 << 10, 64 << 10
)

// timedLine is a line that was sorted.
type timedLine struct {
	at   int64  // Unix nanoseconds
	text string // an encoded record
}

// sorter sorts lines by time, whatever their number. What is more than limit
// goes into a temporary file, in sorted chunks, while more lines are added.
type sorter struct {
	limit   int       // bytes in memory: half for lines that are added, half for those being written
	held    heldLines // added, and not in the file
	file    *os.File
	ends    []int64      // of the chunks, as offsets in the file
	writing chan written // nil unless a chunk is being written
}

// heldLines are lines in memory. They hold no pointers, which would make it
// slower to sort them.
type heldLines struct {
	lines []heldLine
	texts []string // each of several lines
	bytes int      // of the lines' texts
}

// heldLine is the line texts[text][start:end].
type heldLine struct {
	at               int64
	text, start, end int32
}

func (h *heldLines) size() int { return len(h.lines)*lineBytes + h.bytes }

// add adds the line text[start:end].
func (h *heldLines) add(at int64, text string, start, end int) {
	if n := len(h.texts); n == 0 || h.texts[n-1] != text {
		h.texts = append(h.texts, text)
	}
	h.lines = append(h.lines, heldLine{at, int32(len(h.texts) - 1), int32(start), int32(end)})
	h.bytes += end - start
}

func (h *heldLines) textOf(l *heldLine) string { return h.texts[l.text][l.start:l.end] }

// sort keeps the order of lines of the same time.
func (h *heldLines) sort() {
	slices.SortFunc(h.lines, func(a, b heldLine) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.start, b.start))
	})
}

// written is the end of a chunk in the temporary file.
type written struct {
	empty heldLines // memory to be reused
	end   int64
	err   error
}

// add adds the line text[start:end], in any order. Lines that come one after
// another should share a text. It fails if the temporary file does.
func (s *sorter) add(at int64, text string, start, end int) error {
	if s.held.size()+lineBytes+end-start > s.limit/2 && len(s.held.lines) > 0 {
		if err := s.spill(); err != nil {
			return sortError(err)
		}
	}
	s.held.add(at, text, start, end)
	return nil
}

// spill begins to write the lines in memory to the temporary file.
func (s *sorter) spill() error {
	empty, err := s.wait()
	if err != nil {
		return err
	}
	if s.file == nil {
		file, err := os.CreateTemp(cmp.Or(os.Getenv("TMPDIR"), "/var/tmp"), "slidegate-")
		if err != nil {
			return err
		}
		s.file = file
		_ = os.Remove(file.Name()) // an open file stays without its name, and is gone if the process dies
	}
	done := make(chan written, 1)
	go func(h heldLines, file *os.File) { done <- h.write(file) }(s.held, s.file)
	s.writing, s.held = done, empty
	return nil
}

// wait waits for the chunk that is being written, and returns its memory.
func (s *sorter) wait() (empty heldLines, err error) {
	if s.writing == nil {
		return heldLines{}, nil
	}
	w := <-s.writing
	s.writing, s.ends = nil, append(s.ends, w.end)
	return w.empty, w.err
}

// write writes a chunk to the temporary file.
func (h heldLines) write(file *os.File) written {
	h.sort()
	w := bufio.NewWriterSize(file, 64<<10)
	var line []byte
	for i := range h.lines {
		line = appendLine(line[:0], h.lines[i].at, h.textOf(&h.lines[i]))
		_, _ = w.Write(line) // Flush has the error
	}
	clear(h.texts)
	done := written{empty: heldLines{lines: h.lines[:0], texts: h.texts[:0]}}
	if done.err = w.Flush(); done.err == nil {
		done.end, done.err = file.Seek(0, io.SeekCurrent)
	}
	return done
}

// sorted yields all lines in their order. An error is the last.
func (s *sorter) sorted() iter.Seq2[timedLine, error] {
	return func(yield func(timedLine, error) bool) {
		all, err := s.chunks()
		for err == nil && len(all) > 0 {
			first := all[0]
			if !yield(first.first, nil) {
				return
			}
			if err = first.advance(); errors.Is(err, io.EOF) {
				heap.Pop(&all)
				err = nil
				continue
			}
			heap.Fix(&all, 0)
		}
		if err != nil {
			yield(timedLine{}, sortError(err))
		}
	}
}

// close removes the temporary file.
func (s *sorter) close() {
	_, _ = s.wait()
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
	index int // in the order in which the chunks were added
	first timedLine
	rest  func() (timedLine, error) // io.EOF after the last
}

func (c *chunk) advance() (err error) {
	c.first, err = c.rest()
	return err
}

// chunks returns the chunks of the temporary file, and the lines in memory.
func (s *sorter) chunks() (all merge, err error) {
	if _, err := s.wait(); err != nil {
		return nil, err
	}
	add := func(rest func() (timedLine, error)) error {
		c := &chunk{index: len(all), rest: rest}
		err := c.advance()
		if errors.Is(err, io.EOF) {
			return nil
		}
		all = append(all, c)
		return err
	}
	buffer := min(max(leastBuffer, s.limit/2/(len(s.ends)+1)), mostBuffer)
	start := int64(0)
	for _, end := range s.ends {
		r := newLineReader(io.NewSectionReader(s.file, start, end-start), buffer)
		if err := add(r.next); err != nil {
			return nil, err
		}
		start = end
	}
	s.held.sort()
	held := s.held
	s.held = heldLines{}
	inMemory := func() (timedLine, error) {
		if len(held.lines) == 0 {
			return timedLine{}, io.EOF
		}
		l := &held.lines[0]
		held.lines = held.lines[1:]
		return timedLine{l.at, held.textOf(l)}, nil
	}
	err = add(inMemory)
	heap.Init(&all)
	return all, err
}

// merge is a heap of chunks by their first lines.
type merge []*chunk

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	a, b := m[i], m[j]
	return a.first.at < b.first.at || a.first.at == b.first.at && a.index < b.index
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(c any)   { *m = append(*m, c.(*chunk)) }
func (m *merge) Pop() any {
	last := len(*m) - 1
	c := (*m)[last]
	*m = (*m)[:last]
	return c
}
