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
	s := sorter{limit: 1000}
	defer s.close()
	var want, got []int
	for i, size := range []int{300, 300, 300, 900, 5000, 1} {
		if err := s.add(timedLine{line{number: int64(i), text: strings.Repeat("x", size)}, int64(-i)}); err != nil {
			t.Fatal(err)
		}
		if s.size > s.limit && len(s.lines) > 1 {
			t.Errorf("line %d: %d bytes in memory", i, s.size)
		}
		want = append([]int{size}, want...)
	}
	if len(s.ends) != 4 || len(s.lines) != 1 {
		t.Errorf("%d chunks in the file, %d lines in memory; want 4, 1", len(s.ends), len(s.lines))
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
		if err := s.add(timedLine{line{text: "text"}, int64(i)}); err != nil {
			t.Fatal(err)
		}
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

func TestAppendLine(t *testing.T) {
	want := timedLine{line{3, 1 << 40, "GET /\xff\n"}, -5}
	b := string(appendLine(nil, want))
	if got, err := readLine(strings.NewReader(b)); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for n := 1; n < len(b); n++ {
		if _, err := readLine(strings.NewReader(b[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a line cut after %d bytes: error %v", n, err)
		}
	}
}
