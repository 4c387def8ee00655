package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// newRoot returns a module with one function that builds and one that does not.
func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":                   "module example.com/lambdas\n\ngo 1.26\n",
		"functions/hello/main.go":  "package main\n\nfunc main() { println(\"hello\") }\n",
		"functions/broken/main.go": "package main\n\nfunc main() { undefined() }\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// ownTrimpath removes -trimpath from GOFLAGS: zips must not depend on it.
func ownTrimpath(t *testing.T) {
	t.Helper()
	t.Setenv("GOFLAGS", strings.ReplaceAll(os.Getenv("GOFLAGS"), "-trimpath", ""))
}

var machines = map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}

// TestRun builds for this machine's architecture, as the other tests do, because
// Go has compiled its standard library for that. tools/release has the zips of both.
func TestRun(t *testing.T) {
	ownTrimpath(t)
	root := newRoot(t)
	out := filepath.Join(t.TempDir(), "dist")
	if err := run([]string{"-root", root, "-goarch", runtime.GOARCH, "-o", out, "hello"}); err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(bootstrap(t, filepath.Join(out, "hello_"+runtime.GOARCH+".zip"))))
	if err != nil {
		t.Fatal(err)
	}
	if want := machines[runtime.GOARCH]; file.Machine != want {
		t.Errorf("bootstrap is for %v, want %v", file.Machine, want)
	}
	if symbols, err := file.Symbols(); err == nil {
		t.Errorf("bootstrap carries %d symbols, want it stripped", len(symbols))
	}
}

// bootstrap unpacks the only entry of a zip.
func bootstrap(t *testing.T, path string) []byte {
	t.Helper()
	return unpack(t, path, []string{"bootstrap"}, []os.FileMode{0o755}, 0)
}

// unpack returns one of the entries of a zip, which must have these names and
// modes.
func unpack(t *testing.T, path string, names []string, modes []os.FileMode, which int) []byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for i, f := range z.File {
		if i >= len(names) || f.Name != names[i] || f.Mode() != modes[i] {
			t.Fatalf("entry %d of the zip is %s with mode %v, want %v with %v", i, f.Name, f.Mode(), names, modes)
		}
	}
	if len(z.File) != len(names) {
		t.Fatalf("the zip holds %d entries, want %v", len(z.File), names)
	}
	r, err := z.File[which].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRulesCopy: the zip holds the rules as JSON beside the executable.
func TestRulesCopy(t *testing.T) {
	ownTrimpath(t)
	out, document := t.TempDir(), "deny: [{path: /banned}] # for now\nrules: []\n"
	path := filepath.Join(t.TempDir(), "my-rules.yml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-root", newRoot(t), "-goarch", runtime.GOARCH, "-o", out, "-rules", path, "hello"}); err != nil {
		t.Fatal(err)
	}
	entries, modes := []string{"bootstrap", "rules.json"}, []os.FileMode{0o755, 0o644}
	got := unpack(t, filepath.Join(out, "hello_"+runtime.GOARCH+".zip"), entries, modes, 1)
	copied, err := ruledoc.Unmarshal(got)
	if err != nil || len(copied.Deny) != 1 || copied.Deny[0].Path[0] != "/banned" || copied.Rules == nil || len(copied.Rules) != 0 {
		t.Errorf("the copy is %s, error %v", got, err)
	}
}

func TestSameSourceSameBytes(t *testing.T) {
	ownTrimpath(t)
	var zips [2][]byte
	for i := range zips {
		out := t.TempDir()
		if err := run([]string{"-root", newRoot(t), "-goarch", runtime.GOARCH, "-o", out, "hello"}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(out, "hello_"+runtime.GOARCH+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		zips[i] = data
	}
	if !bytes.Equal(zips[0], zips[1]) {
		t.Error("two builds in two directories differ")
	}
}

func TestRunRefuses(t *testing.T) {
	ownTrimpath(t)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no function", nil, "name at least one directory of functions/"},
		{"a function that is not there", []string{"absent"}, "absent: go build: "},
		{"a function that does not build", []string{"broken"}, "broken: go build: "},
		{"an architecture that is not there", []string{"-goarch", "z80", "hello"}, "hello: go build: "},
		{"rules that are not there", []string{"-rules", "absent.yaml", "hello"}, "read the rules: "},
		{"rules that the authorizer would refuse", []string{"-rules", "main.go", "hello"}, ": not a rules file: "},
		{"a flag that is not there", []string{"-x", "hello"}, "flag provided but not defined: -x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := t.TempDir()
			err := run(append([]string{"-root", newRoot(t), "-goarch", runtime.GOARCH, "-o", out}, tt.args...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			if files, _ := os.ReadDir(out); len(files) != 0 {
				t.Errorf("%v was written all the same", files[0].Name())
			}
		})
	}
}
