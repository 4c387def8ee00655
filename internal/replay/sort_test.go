package replay

import (
	"errors"
	"io"
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

func TestLineReader(t *testing.T) {
	want := timedLine{-5, "GET /\xff\n"}
	head := head(want.at, len(want.text))
	b := string(head[:]) + want.text
	for size := range 3 * len(b) {
		r := lineReader{source: strings.NewReader(b + b), buffer: make([]byte, size)}
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
		r := lineReader{source: strings.NewReader(b[:n])}
		if _, err := r.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a line cut after %d bytes: error %v", n, err)
		}
	}
}
