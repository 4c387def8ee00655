package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writing returns a function that writes a text, then returns err.
func writing(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, failed := io.WriteString(w, text)
		return errors.Join(failed, err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s contains %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// A file appears complete or not at all, whether or not one of its name exists.
func TestOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	broken := errors.New("broken")
	for _, tc := range []struct {
		name, text, want string
		err              error
	}{
		{"failed where no file was", "half", "", broken},
		{"written where no file was", "one", "one", nil},
		{"failed over a file", "half", "one", broken},
		{"written over a file", "two", "two", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := WriteFile(path, nil, writing(tc.text, tc.err)); !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
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
	if err := WriteText(link, nil, "new"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "new")
	if info, err := os.Stat(real); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file of the link has the mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

// A device is written to, never replaced.
func TestOutputToADevice(t *testing.T) {
	for range 2 {
		if err := WriteText(os.DevNull, nil, "gone"); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}

func TestOutputElsewhere(t *testing.T) {
	for _, path := range []string{"", "-"} {
		var b strings.Builder
		if err := WriteText(path, &b, "text"); err != nil || b.String() != "text" {
			t.Errorf("%q: %q, %v", path, b.String(), err)
		}
	}
	dir := t.TempDir()
	if err := WriteText(dir, nil, "text"); err == nil {
		t.Error("a directory is taken for a file")
	}
	err := WriteText(filepath.Join(dir, "none", "out"), nil, "text")
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

// A new file is never an existing one, a link's target, or standard output.
func TestWriteNew(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("target", "link"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		path string
		ok   bool
	}{{"a", true}, {"a", false}, {"-", true}, {"link", false}, {"none/a", false}} {
		if err := WriteNewFile(step.path, "text"); (err == nil) != step.ok {
			t.Errorf("%s: %v", step.path, err)
		} else if err == nil {
			wantFile(t, step.path, "text")
		}
	}
}

// What fails at the end of writing leaves no file, and names the one that the
// user typed. A failure of another file keeps its own name.
func TestFailuresWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	for want, write := range map[string]func(io.Writer) error{
		"sync " + path + ": file already closed": func(w io.Writer) error { return w.(*os.File).Close() },
		"open " + dir + "/log: no such file or directory": func(io.Writer) error {
			_, err := os.Open(dir + "/log")
			return err
		},
		"write " + path + ": ": func(io.Writer) error { return os.MkdirAll(path, 0o700) }, // the rename fails
	} {
		if err := WriteFile(path, nil, write); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		_ = os.Remove(path) // the directory
		wantEmpty(t, dir)
	}
}
