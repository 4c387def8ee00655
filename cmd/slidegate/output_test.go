package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, o *output, text string) {
	t.Helper()
	if _, err := io.WriteString(o.w, text); err != nil {
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
			o, err := createOutput(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, o, tc.text)
			if tc.commit {
				if err := o.commit(); err != nil {
					t.Fatal(err)
				}
			}
			o.abandon()
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
	o, err := createOutput(link, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o, "new")
	if err := o.commit(); err != nil {
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
		o, err := createOutput(os.DevNull, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, o, "gone")
		if err := o.commit(); err != nil {
			t.Fatal(err)
		}
		o.abandon()
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}

func TestOutputElsewhere(t *testing.T) {
	var b strings.Builder
	o, err := createOutput("-", &b)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o, "text")
	if err := o.commit(); err != nil || b.String() != "text" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if o, err := createOutput("", nil); err != nil || o.w != nil || o.commit() != nil {
		t.Errorf("no output is %+v, %v", o, err)
	}
	dir := t.TempDir()
	if _, err := createOutput(dir, nil); err == nil {
		t.Error("a directory is taken for a file")
	}
	_, err = createOutput(filepath.Join(dir, "none", "out"), nil)
	if err == nil || !strings.HasSuffix(err.Error(), filepath.Join("none", "out")+": no such file or directory") {
		t.Errorf("error %v", err)
	}
}

func TestDecisionsFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "decisions.tsv")
	mustRun(t, "replay", "testdata/day.jsonl", "--rules", "testdata/rules.yaml", "--decisions", out)
	wantFile(t, out, "1431857100000000000\tper-ip\tip:203.0.113.9\t1\t1\t0\n"+
		"1431857101250000000\tper-ip\tip:203.0.113.9\t1\t0\t0\n"+
		"1431857101500000000\tper-ip\tip:198.51.100.7\t1\t1\t0\n"+
		"1431857101500000000\tlogin\tlogin:198.51.100.7\t1\t0\t0\n")
	before := "as it was"
	if err := os.WriteFile(out, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	r := slidegate(t.Context(), "", "replay", "testdata/day.log", "--rules", "testdata/rules.yaml", "--format", "csv", "--decisions", out)
	if r.code != 1 {
		t.Errorf("exit %d", r.code)
	}
	wantFile(t, out, before)
}
