// Package release tests the script that tags a version, and what others import
// then.
package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelease releases a small repository, whose modules have the paths of this
// one's. Each step refuses for one reason.
func TestRelease(t *testing.T) {
	isolateGit(t)
	r := &repository{t, t.TempDir()}
	for _, dir := range published {
		mod := "module " + pathOf(dir) + "\n\ngo 1.26.0\n"
		if dir != "." {
			mod += "\nrequire (\n\texample.com/other v1.2.3\n\t" + root + " v0.0.0\n)\n\nreplace " + root + " => ..\n"
		}
		r.write(dir+"/go.mod", mod)
	}
	r.write("tools/api/testdata/slidegate.txt", "pkg slidegate, func Old()\n")
	r.write("CHANGELOG.md", "## [Unreleased]\n- All.\n")
	r.write(".gitignore", "*.zip\n")
	r.write("Makefile", "zips:\n\tfor a in arm64 amd64; do echo code >infra/lambdas/zips/authorizer_$$a.zip; done\n")
	r.write("infra/lambdas/zips/README.md", "The zips are ignored.\n")
	r.git("init", "--quiet")
	r.commit()

	r.refuses("0.1.0", "'0.1.0' is no version")
	r.refuses("v0.1.0", "the modules require 'v0.0.0'")
	r.run("--set", "v0.1.0")
	r.refuses("v0.1.0", "there are files to commit")
	r.commit()
	r.refuses("v0.1.0", "CHANGELOG.md has no section")
	r.write("CHANGELOG.md", "## [Unreleased]\n- More.\n\n## [0.1.0] - 2026-01-02\n- All.\n")
	r.commit()
	r.refuses("v0.1.0", "CHANGELOG.md has entries above v0.1.0")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0] - 2026-01-02\n- All.\n")
	r.commit()
	r.refuses("v0.2.0", "the modules require 'v0.1.0'")
	r.refuses("v0.1.0", "operations_arm64.zip' did not match any files") // and makes no tag
	for _, goarch := range []string{"arm64", "amd64"} {
		r.write("infra/lambdas/zips/operations_"+goarch+".zip", "code")
	}
	out := r.run("v0.1.0")
	if want := "git push --atomic origin infra/v0.1.0 infra/lambdas/v0.1.0 limitgrpc/v0.1.0 limitotel/v0.1.0 && git push origin v0.1.0\n"; !strings.HasSuffix(out, want) {
		t.Errorf("printed %q, want %q at the end: no workflow runs for more than three tags", out, want)
	}
	if got, want := r.git("tag"), "infra/lambdas/v0.1.0\ninfra/v0.1.0\nlimitgrpc/v0.1.0\nlimitotel/v0.1.0\nv0.1.0\n"; got != want {
		t.Errorf("tags:\n%swant:\n%s", got, want)
	}
	r.testZips("v0.1.0")
	if mod, err := os.ReadFile(filepath.Join(r.dir, "infra/go.mod")); err != nil || !strings.Contains(string(mod), "example.com/other v1.2.3\n\t"+root+" v0.1.0\n") {
		t.Errorf("infra/go.mod: %v\n%s", err, mod)
	}
	r.refuses("v0.1.0", "v0.1.0 is not above v0.1.0")

	r.write("tools/api/testdata/slidegate.txt", "pkg slidegate, func New()\n") // breaks importers
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.1] - 2026-01-03\n- New.\n")
	r.run("--set", "v0.1.1")
	r.commit()
	r.refuses("v0.1.1", "pkg slidegate, func Old()")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.2.0] - 2026-01-03\n- New.\n")
	r.run("--set", "v0.2.0")
	r.commit()
	r.run("v0.2.0")
}

// isolateGit has git read no settings of this machine.
func isolateGit(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
}

// testZips: the tag of infra/lambdas adds the zips to the commit that the other
// tags are on, and nothing else. The branch stays without them.
func (r *repository) testZips(version string) {
	r.t.Helper()
	if got, want := r.git("rev-parse", "infra/lambdas/"+version+"^{}^", "infra/"+version+"^{}"), r.git("rev-parse", "HEAD", "HEAD"); got != want {
		r.t.Errorf("tags are beside and on:\n%swant:\n%s", got, want)
	}
	want := ""
	for _, name := range []string{"authorizer_amd64", "authorizer_arm64", "operations_amd64", "operations_arm64"} {
		want += "A\tinfra/lambdas/zips/" + name + ".zip\n"
	}
	if got := r.git("diff", "--name-status", "HEAD", "infra/lambdas/"+version); got != want {
		r.t.Errorf("the module's tag changes:\n%swant:\n%s", got, want)
	}
	if status := r.git("status", "--porcelain"); status != "" {
		r.t.Errorf("files to commit:\n%s", status)
	}
}

type repository struct {
	t   *testing.T
	dir string
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	return run(r.t, r.dir, append([]string{"git"}, args...)...)
}

func (r *repository) commit() {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "change")
}

// script runs release.sh, and returns what it prints.
func (r *repository) script(args ...string) (string, error) {
	path, err := filepath.Abs("release.sh")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) run(args ...string) string {
	r.t.Helper()
	out, err := r.script(args...)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func (r *repository) refuses(version, why string) {
	r.t.Helper()
	if out, err := r.script(version); err == nil || !strings.Contains(out, why) {
		r.t.Errorf("release %s: %v, want: %s\n%s", version, err, why, out)
	}
}
