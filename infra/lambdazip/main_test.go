package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"fmt"
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

// TestRun builds twice for this machine's architecture, as the other tests do,
// because Go has compiled its standard library for that: the zip has the same
// bytes, and holds the rules as JSON beside the executable. tools/release has the
// zips of both architectures.
func TestRun(t *testing.T) {
	ownTrimpath(t)
	rules := filepath.Join(t.TempDir(), "my-rules.yml")
	if err := os.WriteFile(rules, []byte("deny: [{path: /banned}] # for now\nrules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var zips [3][]byte // the last without rules
	for i, rules := range []string{rules, rules, ""} {
		out := filepath.Join(t.TempDir(), "dist")
		err := run([]string{"-root", newRoot(t), "-goarch", runtime.GOARCH, "-o", out, "-rules", rules, "hello"})
		if err == nil {
			zips[i], err = os.ReadFile(filepath.Join(out, "hello_"+runtime.GOARCH+".zip"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(zips[0], zips[1]) || bytes.Contains(zips[2], []byte("rules.json")) {
		t.Error("two builds in two directories differ, or one without rules has some")
	}
	z, err := zip.NewReader(bytes.NewReader(zips[0]), int64(len(zips[0])))
	if err != nil {
		t.Fatal(err)
	}
	entries, modes := map[string][]byte{}, ""
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if entries[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		modes += fmt.Sprint(f.Name, " ", f.Mode(), "\n")
	}
	if modes != "bootstrap -rwxr-xr-x\nrules.json -rw-r--r--\n" {
		t.Errorf("the zip holds\n%s", modes)
	}
	file, err := elf.NewFile(bytes.NewReader(entries["bootstrap"]))
	if err != nil {
		t.Fatal(err)
	}
	if want := machines[runtime.GOARCH]; file.Machine != want {
		t.Errorf("bootstrap is for %v, want %v", file.Machine, want)
	}
	if symbols, err := file.Symbols(); err == nil {
		t.Errorf("bootstrap carries %d symbols, want it stripped", len(symbols))
	}
	copied, err := ruledoc.Unmarshal(entries["rules.json"])
	if err != nil || len(copied.Deny) != 1 || copied.Deny[0].Path[0] != "/banned" || copied.Rules == nil || len(copied.Rules) != 0 {
		t.Errorf("the copy is %s, error %v", entries["rules.json"], err)
	}
}

func TestRunRefuses(t *testing.T) {
	ownTrimpath(t)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no function", nil, "name at least one directory of functions/"},
		{"a function that does not build", []string{"broken"}, "broken: go build: "},
		{"an architecture that is not there", []string{"-goarch", "z80", "hello"}, "hello: go build: "},
		{"rules that are not there", []string{"-rules", "absent.yaml", "hello"}, "read the rules: "},
		{"rules that the authorizer would refuse", []string{"-rules", "main.go", "hello"}, ": not a rules file: "},
		{"a flag that is not there", []string{"-x", "hello"}, "flag provided but not defined: -x"},
	} {
		out := t.TempDir()
		err := run(append([]string{"-root", newRoot(t), "-goarch", runtime.GOARCH, "-o", out}, tt.args...))
		if files, _ := os.ReadDir(out); err == nil || !strings.Contains(err.Error(), tt.want) || len(files) != 0 {
			t.Errorf("%s: error is %v, want %q, and %v was written", tt.name, err, tt.want, files)
		}
	}
}
