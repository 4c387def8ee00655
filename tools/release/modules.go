package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// root is the path of the module that the others require.
const root = "github.com/slidegate/slidegate"

// published lists the directories of the modules that others import. The other
// modules of the repository are for work on it.
var published = []string{".", "infra", "slidegategrpc", "slidegateotel"}

// modulePath returns the path of the module in a directory of the repository.
func modulePath(dir string) string {
	if dir == "." {
		return root
	}
	return root + "/" + dir
}

// tag returns the name of a module's tag for a version: a module in a directory
// has a tag with the directory's name in front.
func tag(dir, version string) string {
	if dir == "." {
		return version
	}
	return dir + "/" + version
}

// readMod reads the go.mod of a directory.
func readMod(dir string) (*modfile.File, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// workModules returns the directories of all modules in a repository.
func workModules(ctx context.Context, repo string) (dirs []string, err error) {
	files, err := files(ctx, repo, ".")
	for _, f := range files {
		if filepath.Base(f) == "go.mod" && !strings.Contains(f, "testdata/") {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs, err
}

// ours reports whether a path is that of a module of the repository.
func ours(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// version returns the version that the modules of the repository require of each
// other: the next one to be released.
func version(ctx context.Context, repo string) (version string, err error) {
	dirs, err := workModules(ctx, repo)
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		mod, err := readMod(filepath.Join(repo, dir))
		if err != nil {
			return "", err
		}
		if slices.Contains(published, dir) {
			if err := checkReplaces(mod, dir); err != nil {
				return "", err
			}
		}
		for _, r := range mod.Require {
			switch {
			case !ours(r.Mod.Path):
			case version != "" && r.Mod.Version != version:
				return "", fmt.Errorf("%s/go.mod requires %s, and another module %s: run `make version VERSION=…`", dir, r.Mod, version)
			default:
				version = r.Mod.Version
			}
		}
	}
	if version == "" || version == "v0.0.0" {
		return "", errors.New("no go.mod requires a version that importers can get: run `make version VERSION=…`")
	}
	return version, nil
}

// checkReplaces allows a published module one directive: to use the root of the
// repository. Importers do not see it, and get the required version.
func checkReplaces(mod *modfile.File, dir string) error {
	for _, r := range mod.Replace {
		if dir == "." || r.Old.Path != root {
			return fmt.Errorf("%s/go.mod replaces %s: importers would get the original", dir, r.Old.Path)
		}
	}
	if len(mod.Exclude) > 0 {
		return fmt.Errorf("%s/go.mod excludes a version: importers would get it", dir)
	}
	return nil
}

// setVersion has the modules of a repository require a version of each other.
func setVersion(ctx context.Context, repo, version string) error {
	dirs, err := workModules(ctx, repo)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		mod, err := readMod(filepath.Join(repo, dir))
		if err != nil {
			return err
		}
		for _, r := range mod.Require {
			if !ours(r.Mod.Path) {
				continue
			}
			if _, err := run(ctx, filepath.Join(repo, dir), nil, "go", "mod", "edit", "-require="+r.Mod.Path+"@"+version); err != nil {
				return err
			}
		}
	}
	return nil
}

// files lists the files of a directory that are in the repository or would be
// after `git add`.
func files(ctx context.Context, repo, dir string) ([]string, error) {
	out, err := run(ctx, repo, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", dir)
	if err != nil {
		return nil, err
	}
	names := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(repo, name))
		return errors.Is(err, os.ErrNotExist) // deleted, and not yet for git
	}), nil
}

// run runs a command with more variables in its environment, and returns what
// it prints. The error has its messages.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s%s", strings.Join(command.Args, " "), dir, err, out.String(), messages.String())
	}
	return out.String(), nil
}
