package release

import (
	"errors"
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
var published = []string{".", "infra", "infra/lambdas", "limitgrpc", "limitotel"}

// pathOf returns the path of the module in a directory of the repository.
func pathOf(dir string) string { return path.Join(root, dir) }

// program is a stranger's: it uses each of the published packages.
const program = `package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitgrpc"
	"github.com/slidegate/slidegate/limitotel"
)

func main() {
	observed, err := limitotel.New()
	lim, err2 := slidegate.New(slidegate.SlidingWindow(100, time.Minute), observed)
	grpc.NewServer(grpc.UnaryInterceptor(limitgrpc.UnaryServerInterceptor(lim)))
	fmt.Println(err, err2)
}
`

// zipNames are the zips that a release has.
var zipNames = []string{"authorizer_arm64.zip", "authorizer_amd64.zip", "operations_arm64.zip", "operations_amd64.zip"}

// zipSums prints the hashes of the zips that infra/lambdas has.
const zipSums = `package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/slidegate/slidegate/infra/lambdas"
)

func main() {
	for _, name := range []string{"authorizer", "operations"} {
		for _, goarch := range []string{"arm64", "amd64"} {
			data, err := lambdas.Zip(name, goarch)
			if err != nil {
				panic(err)
			}
			fmt.Printf("%x  %s_%s.zip\n", sha256.Sum256(data), name, goarch)
		}
	}
}
`

// version is one that no release will have.
const version = "v0.999.0"

// newCopy returns a repository with the files of this one that are committed, or
// would be after `git add`.
func newCopy(t *testing.T) *repository {
	t.Helper()
	isolateGit(t)
	r := &repository{t, t.TempDir()}
	for _, name := range strings.Split(strings.TrimSpace(run(t, repo, "git", "ls-files", "--cached", "--others", "--exclude-standard")), "\n") {
		info, err := os.Lstat(filepath.Join(repo, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but that is not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		r.write(name, string(read(t, filepath.Join(repo, name))))
		if err := os.Chmod(filepath.Join(r.dir, name), info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// release tags a version of all that is in the repository.
func (r *repository) release(t *testing.T) {
	t.Helper()
	log := string(read(t, filepath.Join(r.dir, "CHANGELOG.md")))
	r.write("CHANGELOG.md", strings.Replace(log, "## [Unreleased]\n", "## [Unreleased]\n\n## ["+version[1:]+"] - 2026-12-31\n", 1))
	r.git("init", "--quiet")
	r.commit()
	r.run("--set", version)
	r.commit()
	r.run(version)
}

// newStranger returns a module outside the repository that requires the modules
// of a release. The Go command gets them from a proxy, a directory.
func newStranger(t *testing.T, r *repository, files map[string]string) (dir string) {
	t.Helper()
	proxy, mod, sums := t.TempDir(), "module example.com/stranger\n\ngo 1.26.0\n\n", ""
	for _, dir := range published {
		serve(t, proxy, r, dir)
		mod += "require " + pathOf(dir) + " " + version + "\n"
		if dir != "infra/lambdas" { // which requires none
			sums += string(read(t, filepath.Join(repo, dir, "go.sum"))) // so that no server is asked for them
		}
	}
	stranger := &repository{t, t.TempDir()}
	stranger.write("go.mod", mod)
	stranger.write("go.sum", sums)
	for name, text := range files {
		stranger.write(name, text)
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=mod -modcacherw")
	t.Setenv("GOPROXY", "file://"+proxy+","+strings.TrimSpace(run(t, ".", "go", "env", "GOPROXY")))
	t.Setenv("GONOSUMDB", path.Dir(root))
	t.Setenv("GOMODCACHE", moduleCache(t))
	return stranger.dir
}

// serve puts a module into the directory of a proxy, from its tag.
func serve(t *testing.T, proxy string, r *repository, dir string) {
	t.Helper()
	base := filepath.Join(proxy, pathOf(dir), "@v", version)
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(base + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	tag, subdir := strings.TrimPrefix(dir+"/"+version, "./"), strings.TrimPrefix(dir, ".")
	err = errors.Join(
		zip.CreateFromVCS(out, module.Version{Path: pathOf(dir), Version: version}, r.dir, tag, subdir), out.Close(),
		os.WriteFile(base+".mod", []byte(r.git("show", tag+":"+path.Join(dir, "go.mod"))), 0o644),
		os.WriteFile(filepath.Join(filepath.Dir(base), "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(base+".info", []byte(`{"Version": "`+version+`"}`), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// moduleCache returns a module cache that has all modules of this machine's but
// ours. A test must not leave modules there whose version nobody released.
func moduleCache(t *testing.T) string {
	t.Helper()
	cache, shared := t.TempDir(), strings.TrimSpace(run(t, ".", "go", "env", "GOMODCACHE"))
	own := []string{".", "github.com", "cache", "cache/download", "cache/download/github.com"}
	for _, dir := range own {
		entries, err := os.ReadDir(filepath.Join(shared, dir))
		if err == nil {
			err = os.MkdirAll(filepath.Join(cache, dir), 0o755)
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if err == nil && !slices.Contains(own, name) && entry.Name() != path.Base(path.Dir(root)) {
				err = os.Symlink(filepath.Join(shared, name), filepath.Join(cache, name))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

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
