package outfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, o *File, text string) {
	t.Helper()
	if _, err := io.WriteString(o.W, text); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// A file is there whole or not at all, whatever stood there before.
func TestOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, tc := range []struct {
		name, text, want string
		commit           bool
	}{
		{"given up where nothing was", "half", "", false},
		{"committed where nothing was", "one", "one", true},
		{"given up over a file", "half", "one", false},
		{"committed over a file", "two", "two", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := Create(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, o, tc.text)
			if tc.commit {
				if err := o.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			o.Abandon()
			if tc.want == "" {
				wantEmpty(t, filepath.Dir(path))
				return
			}
			wantFile(t, path, tc.want)
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
				t.Errorf("%d files, %v; want one", len(entries), err)
			}
		})
	}
}

func TestOutputThroughALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	o, err := Create(link, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o, "new")
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

// A device is written to, never replaced.
func TestOutputToADevice(t *testing.T) {
	for range 2 {
		o, err := Create(os.DevNull, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, o, "gone")
		if err := o.Commit(); err != nil {
			t.Fatal(err)
		}
		o.Abandon()
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}

func TestOutputElsewhere(t *testing.T) {
	var b strings.Builder
	o, err := Create("-", &b)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o, "text")
	if err := o.Commit(); err != nil || b.String() != "text" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if o, err := Create("", nil); err != nil || o.W != nil || o.Commit() != nil {
		t.Errorf("no output is %+v, %v", o, err)
	}
	dir := t.TempDir()
	if _, err := Create(dir, nil); err == nil {
		t.Error("a directory is taken for a file")
	}
	_, err = Create(filepath.Join(dir, "none", "out"), nil)
	if err == nil || !strings.HasSuffix(err.Error(), filepath.Join("none", "out")+": no such file or directory") {
		t.Errorf("error %v", err)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}
