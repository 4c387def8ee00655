package release

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	repo = "../.."
	// root is the path of the module that the others require.
	root = "github.com/slidegate/slidegate"
)

// published lists the directories of the modules that others import. The other
// modules of the repository are for work on it.
var published = []string{".", "infra", "infra/lambdas", "slidegategrpc", "slidegateotel"}

// pathOf returns the path of the module in a directory of the repository.
func pathOf(dir string) string { return path.Join(root, dir) }

// program is a stranger's: it uses each of the published packages.
const program = `package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegategrpc"
	"github.com/slidegate/slidegate/slidegateotel"
)

func main() {
	observe, err := slidegateotel.NewObserver()
	lim, err2 := slidegate.New(slidegate.SlidingWindow(100, time.Minute), slidegate.WithObserver(observe))
	grpc.NewServer(grpc.UnaryInterceptor(slidegategrpc.UnaryServerInterceptor(lim)))
	fmt.Println(err, err2)
}
`

// TestImport builds a program outside the repository. It imports the modules as
// they would be published now, by replace directives.
func TestImport(t *testing.T) {
	stranger := t.TempDir()
	mod, sums := "module example.com/stranger\n\ngo 1.26.0\n\n", ""
	for _, dir := range published {
		mod += "require " + pathOf(dir) + " v0.0.0\nreplace " + pathOf(dir) + " => " + unpack(t, dir) + "\n"
		sums += string(read(t, filepath.Join(repo, dir, "go.sum"))) // so that no server is asked for them
	}
	example := read(t, filepath.Join(repo, "examples", "grpc", "main.go"))
	for name, text := range map[string]string{"go.mod": mod, "go.sum": sums, "main.go": program, "example/main.go": string(example)} {
		file := filepath.Join(stranger, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=mod")
	for _, command := range []string{
		"go build -o program .",
		"./program",
		"go run ./example",
		// The CDK takes long to compile, and infra's tests do: find all packages.
		"go list -deps " + root + "/infra/ratelimit " + root + "/functions/authorizer " + root + "/cmd/slidegate",
	} {
		t.Logf("%s\n%.300s", command, run(t, stranger, strings.Fields(command)...))
	}
}

// unpack returns a folder with a module as importers get it: with the files of
// its zip. They are those that are committed, or would be after `git add`.
func unpack(t *testing.T, dir string) (unpacked string) {
	t.Helper()
	var files []zip.File
	for _, name := range strings.Fields(run(t, filepath.Join(repo, dir), "git", "ls-files", "--cached", "--others", "--exclude-standard")) {
		from := filepath.Join(repo, dir, name)
		if _, err := os.Lstat(from); err == nil { // else it is deleted, but that is not committed
			files = append(files, file{name, from})
		}
	}
	unpacked = t.TempDir()
	version, packed := module.Version{Path: pathOf(dir), Version: "v0.0.0"}, filepath.Join(t.TempDir(), "module.zip")
	out, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zip.Create(out, version, files), out.Close(), zip.Unzip(unpacked, version, packed)); err != nil {
		t.Fatal(err)
	}
	return unpacked
}

// file is a file of a module's zip.
type file struct{ name, from string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.from) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.from) }

// run runs a command in a directory, and returns what it prints.
func run(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readMod(t *testing.T, dir string) *modfile.File {
	t.Helper()
	path := filepath.Join(repo, dir, "go.mod")
	mod, err := modfile.Parse(path, read(t, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// TestDirectives: importers see no replace and no exclude directive, so a
// published module may only replace another published one by the one beside it.
func TestDirectives(t *testing.T) {
	for _, dir := range published {
		mod := readMod(t, dir)
		for _, r := range mod.Replace {
			beside := slices.ContainsFunc(published, func(other string) bool { return pathOf(other) == r.Old.Path })
			if dir == "." || !beside {
				t.Errorf("%s/go.mod replaces %s: importers would get the original", dir, r.Old.Path)
			}
		}
		if len(mod.Exclude) > 0 {
			t.Errorf("%s/go.mod excludes a version: importers would get it", dir)
		}
	}
}
