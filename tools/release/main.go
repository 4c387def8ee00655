// Command release tags a version of every published module.
//
//	release -set v0.2.0   have all modules require v0.2.0 of each other
//	release -check        have gorelease check the files as they are
//	release v0.2.0        check that HEAD may be v0.2.0, and tag it
//
// All modules have the same version, so that one number names what fits
// together. Run it in the directory tools.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	set := flag.String("set", "", "have all modules require this `version` of each other")
	check := flag.Bool("check", false, "have gorelease check the files as they are")
	flag.Parse()
	if err := dispatch(ctx, *set, *check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, set string, check bool, args []string) error {
	if check {
		next, err := version(ctx, "..")
		if err != nil {
			return err
		}
		return gorelease(ctx, "..", published, next, "", os.Stdout)
	}
	next := set
	if len(args) == 1 && set == "" {
		next = args[0]
	}
	if semver.Canonical(next) != next || next == "" {
		return fmt.Errorf("%q is no version: write one such as v0.2.0", next)
	}
	if set != "" {
		return setVersion(ctx, "..", set)
	}
	return release(ctx, "..", next, os.Stdout)
}

// release checks that the commit in a repository may be released as a version,
// and tags it.
func release(ctx context.Context, repo, next string, out io.Writer) error {
	if err := errors.Join(checkClean(ctx, repo), checkVersion(ctx, repo, next), checkChangelog(repo, next)); err != nil {
		return err
	}
	base, err := lastVersion(ctx, repo)
	if err != nil {
		return err
	}
	if semver.Compare(next, base) <= 0 {
		return fmt.Errorf("%s is not above %s, which is released", next, base)
	}
	if err := gorelease(ctx, repo, published, next, base, out); err != nil {
		return err
	}
	var tags []string
	for _, dir := range published {
		if _, err := run(ctx, repo, nil, "git", "tag", "--annotate", "--message", modulePath(dir)+" "+next, tag(dir, next)); err != nil {
			return err
		}
		tags = append(tags, tag(dir, next))
	}
	fmt.Fprintf(out, "tagged; publish with:\n  git push --atomic origin %s\n", strings.Join(tags, " "))
	return nil
}

// checkClean refuses files that are not committed, because tags would not have
// them.
func checkClean(ctx context.Context, repo string) error {
	out, err := run(ctx, repo, nil, "git", "status", "--porcelain")
	if err == nil && out != "" {
		err = fmt.Errorf("there are files to commit:\n%s", out)
	}
	return err
}

// checkVersion compares a version with what the modules require.
func checkVersion(ctx context.Context, repo, next string) error {
	required, err := version(ctx, repo)
	if err == nil && required != next {
		err = fmt.Errorf("the modules require %s of each other: run `make version VERSION=%s`, and commit", required, next)
	}
	return err
}

// checkChangelog finds the section of a version, and none of changes that are
// not released.
func checkChangelog(repo, next string) error {
	text, err := os.ReadFile(filepath.Join(repo, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(next[1:]) + `\] - \d{4}-\d\d-\d\d$`)
	at := heading.FindIndex(text)
	if at == nil {
		return fmt.Errorf("CHANGELOG.md has no section %q", "## ["+next[1:]+"] - YYYY-MM-DD")
	}
	_, before, _ := strings.Cut(string(text[:at[0]]), "## [Unreleased]")
	if strings.TrimSpace(before) != "" {
		return fmt.Errorf("CHANGELOG.md has entries or versions above %s: move them into its section", next)
	}
	return nil
}

// lastVersion returns the latest version that is tagged; "" for none.
func lastVersion(ctx context.Context, repo string) (last string, err error) {
	out, err := run(ctx, repo, nil, "git", "tag", "--list", "v*")
	for _, v := range strings.Fields(out) {
		if semver.IsValid(v) && semver.Compare(v, last) > 0 {
			last = v
		}
	}
	return last, err
}

// gorelease has the tool of that name check modules as importers would get them,
// and compare their API with that of an earlier version; "" for none. It asks
// the network which versions of dependencies are retracted.
func gorelease(ctx context.Context, repo string, modules []string, next, base string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := newProxy(ctx, repo, dir, next)
	if err != nil {
		return err
	}
	env, err := p.env(ctx)
	if err != nil {
		return err
	}
	tool, err := run(ctx, ".", nil, "go", "tool", "-n", "gorelease")
	if err != nil {
		return err
	}
	for _, module := range modules {
		staged, err := p.stage(ctx, module, next, env)
		if err != nil {
			return err
		}
		since := "none"
		if tagged, err := run(ctx, repo, nil, "git", "tag", "--list", tag(module, base)); err != nil {
			return err
		} else if base != "" && tagged != "" {
			since = base
		}
		report, err := run(ctx, staged, env, strings.TrimSpace(tool), "-version="+next, "-base="+since)
		if err != nil {
			return err
		}
		// gorelease allows this to any version below v1.0.0.
		if semver.MajorMinor(next) == semver.MajorMinor(base) && strings.Contains(report, "incompatible changes") {
			return fmt.Errorf("%s breaks programs that use %s: it needs another minor version\n%s", next, base, report)
		}
		fmt.Fprintf(out, "%s\n%s\n", modulePath(module), report)
	}
	return nil
}

// stage unpacks a module as importers get it. Its go.mod loses the replace
// directive, which importers do not see, and its go.sum gets what the directive
// makes unnecessary.
func (p *proxy) stage(ctx context.Context, module, version string, env []string) (string, error) {
	dir := filepath.Join(p.dir, "staged", module)
	packed := filepath.Join(p.dir, "proxy", modulePath(module), "@v", version+".zip")
	if err := unzip(dir, modulePath(module), version, packed); err != nil {
		return "", err
	}
	mod, err := readMod(dir)
	if err != nil {
		return "", err
	}
	if err := mod.DropReplace(root, ""); err != nil {
		return "", err
	}
	mod.Cleanup()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), modfile.Format(mod.Syntax), 0o644); err != nil {
		return "", err
	}
	_, err = run(ctx, dir, env, "go", "list", "-deps", "./...")
	return dir, err
}
