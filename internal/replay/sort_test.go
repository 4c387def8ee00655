package replay

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Long lines count by their bytes: however few they are, no more than the limit
// is in memory. A line above the limit is alone.
func TestSorterBoundsMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := sorter{limit: 2000}
	defer s.close()
	var want, got []int
	for i, size := range []int{350, 350, 350, 900, 5000, 1} {
		if err := s.add(int64(-i), strings.Repeat("x", size), 0, size); err != nil {
			t.Fatal(err)
		}
		if s.held.size() > s.limit/2 && len(s.held.lines) > 1 {
			t.Errorf("line %d: %d bytes in memory", i, s.held.size())
		}
		want = append([]int{size}, want...)
	}
	if _, err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if len(s.ends) != 4 || len(s.held.lines) != 1 {
		t.Errorf("%d chunks in the file, %d lines in memory; want 4, 1", len(s.ends), len(s.held.lines))
	}
	for l, err := range s.sorted() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, len(l.text))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A temporary file that breaks off is an error, and not the end.
func TestSorterReadsABrokenFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := sorter{limit: 1}
	defer s.close()
	for i := range 3 {
		if err := s.add(int64(i), "text", 0, 4); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Truncate(s.ends[1] - 1); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range s.sorted() {
		last = err
	}
	if !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", last)
	}
}

// What cannot be written is an error, and no line is lost.
func TestSorterCannotWrite(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := sorter{limit: 1}
	defer s.close()
	add := func(at int64) error { return s.add(at, "text", 0, 4) }
	if err := cmp.Or(add(1), add(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.wait(); err != nil {
		t.Fatal(err)
	}
	_ = s.file.Close()
	err := add(3)
	for at := int64(4); err == nil && at < 9; at++ {
		err = add(at)
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// A batch that is used again has its own lines alone, or it would grow with the
// log.
func TestBatchesAreEmpty(t *testing.T) {
	r := newReading(&Traffic{Logs: []Log{text("")}}, &Extent{})
	for i := range 3 {
		b := r.newBatch()
		r.parse(b, &block{first: 1, text: requests("1 /")})
		if len(b.lines) != 1 || b.lines[0].start != 0 || b.lines[0].end != len(b.records) {
			t.Errorf("batch %d has %d lines in %q", i, len(b.lines), b.records)
		}
		r.batches.Put(b)
	}
}

func TestLineReader(t *testing.T) {
	read := func(text string, buffer int) *lineReader {
		return newLineReader(io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))), buffer)
	}
	want := timedLine{-5, "GET /\xff\n"}
	b := string(appendLine(nil, want.at, want.text))
	for size := range 3 * len(b) {
		r := read(b+b, size)
		for range 2 {
			if got, err := r.next(); got != want || err != nil {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last line: error %v", err)
		}
	}
	for n := 1; n < len(b); n++ {
		if _, err := read(b[:n], 0).next(); !errors.Is(err, errDamaged) {
			t.Errorf("a line cut after %d bytes: error %v", n, err)
		}
	}
	for i := range b {
		damaged := []byte(b + b)
		damaged[i] ^= 0x80
		r := read(string(damaged), 0)
		if l, err := r.next(); !errors.Is(err, errDamaged) {
			t.Errorf("byte %d is damaged: %+v, error %v", i, l, err)
		}
		if len(r.buffer) > len(damaged) {
			t.Errorf("byte %d is damaged: a buffer of %d bytes", i, len(r.buffer))
		}
	}
}

// TestDamagedFile: a byte that changes in the temporary file ends a replay with
// an error. No request is decided as it was not logged.
func TestDamagedFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for n := range int64(200) {
		extent := &Extent{}
		r := newReading(&Traffic{Logs: []Log{text(requests("2 /b?x=y", "1 /a"))}, sortBytes: 1}, extent)
		s := sorter{limit: 1}
		if err := r.readTo(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if n == s.ends[len(s.ends)-1] {
			s.close()
			return
		}
		var b [1]byte
		if _, err := s.file.ReadAt(b[:], n); err != nil {
			t.Fatal(err)
		}
		b[0]++
		if _, err := s.file.WriteAt(b[:], n); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range r.sorted(t.Context(), &s) {
			last = err
		}
		if !errors.Is(last, errDamaged) {
			t.Errorf("byte %d: error %v", n, last)
		}
		s.close()
	}
	t.Error("the file never ends")
}
