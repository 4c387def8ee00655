package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const repo = "../.."

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

// TestImport builds a program outside the repository, which imports the modules
// as they would be published now.
func TestImport(t *testing.T) {
	t.Parallel()
	next, err := version(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProxy(t.Context(), repo, t.TempDir(), next)
	if err != nil {
		t.Fatal(err)
	}
	env, err := p.env(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stranger := t.TempDir()
	mod, sums := "module example.com/stranger\n\ngo 1.26.0\n\n", ""
	for _, dir := range published {
		mod += "require " + modulePath(dir) + " " + next + "\n"
		sum, err := os.ReadFile(filepath.Join(repo, dir, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		sums += string(sum) // so that no server is asked for them
	}
	example, err := os.ReadFile(filepath.Join(repo, "examples", "grpc", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": mod, "go.sum": sums, "main.go": program, "example/main.go": string(example)} {
		path := filepath.Join(stranger, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"go build -o program .",
		"./program",
		"go run ./example",
		// The CDK takes long to compile, and infra's tests do: find all packages.
		"go list -deps " + root + "/infra/ratelimit " + root + "/functions/authorizer " + root + "/cmd/slidegate",
	} {
		args := strings.Fields(command)
		out, err := run(t.Context(), stranger, env, args[0], args[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%.300s", command, out)
	}
}

// TestGorelease: the root module can be published as it is now. It needs no
// network; `make gorelease` checks the other modules too.
func TestGorelease(t *testing.T) {
	t.Parallel()
	next, err := version(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := gorelease(t.Context(), repo, []string{"."}, next, "", t.Output()); err != nil {
		t.Fatal(err)
	}
}

// TestRelease releases a small repository, whose modules have the paths of this
// one's.
func TestRelease(t *testing.T) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
	r := &fixture{t, t.TempDir()}
	for _, dir := range published {
		mod := "module " + modulePath(dir) + "\n\ngo 1.26.0\n"
		if dir != "." {
			mod += "\nrequire " + root + " v0.0.0\n\nreplace " + root + " => ..\n"
			r.write(dir+"/api.go", "package api\n\nimport _ \""+root+"\"\n")
		}
		r.write(dir+"/go.mod", mod)
	}
	r.write("api.go", "package slidegate\n\nfunc Old() {}\n")
	r.write("CHANGELOG.md", "## [Unreleased]\n- All.\n")
	r.git("init", "--quiet")
	r.commit()

	r.refuses("v0.1.0", "no go.mod requires a version that importers can get") // but v0.0.0
	r.set("v0.1.0")
	r.refuses("v0.1.0", "there are files to commit")
	r.commit()
	r.refuses("v0.1.0", "CHANGELOG.md has no section")
	r.write("CHANGELOG.md", "## [Unreleased]\n- More.\n\n## [0.1.0] - 2026-01-02\n- All.\n")
	r.commit()
	r.refuses("v0.1.0", "CHANGELOG.md has entries or versions above v0.1.0")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0] - 2026-01-02\n- All.\n")
	r.commit()
	r.refuses("v0.2.0", "the modules require v0.1.0")
	r.releases("v0.1.0")
	if got, want := r.git("tag"), "infra/v0.1.0\nslidegategrpc/v0.1.0\nslidegateotel/v0.1.0\nv0.1.0\n"; got != want {
		t.Errorf("tags:\n%swant:\n%s", got, want)
	}
	r.refuses("v0.1.0", "v0.1.0 is not above v0.1.0")

	r.write("api.go", "package slidegate\n\nfunc New() {}\n") // breaks importers
	r.write("CHANGELOG.md", "## [0.1.1] - 2026-01-03\n- New.\n")
	r.set("v0.1.1")
	r.commit()
	r.refuses("v0.1.1", "Old: removed")
	r.write("CHANGELOG.md", "## [0.2.0] - 2026-01-03\n- New.\n")
	r.set("v0.2.0")
	r.commit()
	r.releases("v0.2.0")
}

type fixture struct {
	t   *testing.T
	dir string
}

func (r *fixture) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) git(args ...string) string {
	r.t.Helper()
	out, err := run(r.t.Context(), r.dir, nil, "git", args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *fixture) commit() {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "change")
}

func (r *fixture) set(version string) {
	r.t.Helper()
	if err := setVersion(r.t.Context(), r.dir, version); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) releases(version string) {
	r.t.Helper()
	if err := release(r.t.Context(), r.dir, version, r.t.Output()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) refuses(version, why string) {
	r.t.Helper()
	err := release(r.t.Context(), r.dir, version, r.t.Output())
	if err == nil || !strings.Contains(err.Error(), why) {
		r.t.Errorf("release %s: %v, want: %s", version, err, why)
	}
}

// TestCheckReplaces: importers do not see replace and exclude directives.
func TestCheckReplaces(t *testing.T) {
	for _, c := range []struct{ dir, directive, want string }{
		{"infra", "replace " + root + " => ..", ""},
		{".", "replace " + root + " => ..", "./go.mod replaces"},
		{"infra", "replace example.com/fork => ./fork", "infra/go.mod replaces example.com/fork"},
		{"infra", "exclude example.com/broken v1.0.0", "infra/go.mod excludes"},
	} {
		mod, err := modfile.Parse("go.mod", []byte("module example.com/m\n"+c.directive), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkReplaces(mod, c.dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: %v", c.dir, c.directive, err)
		}
	}
}
