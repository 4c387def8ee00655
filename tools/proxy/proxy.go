// Package proxy publishes the modules of this repository, as its files are now,
// in a directory that the go command takes for a module proxy. Tests import them
// from there as a stranger's program would.
package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Root is the path of the module that the others require.
const Root = "github.com/slidegate/slidegate"

// Published lists the directories of the modules that others import. The other
// modules of the repository are for work on it.
var Published = []string{".", "infra", "slidegategrpc", "slidegateotel"}

// Path returns the path of the module in a directory of the repository.
func Path(dir string) string {
	if dir == "." {
		return Root
	}
	return Root + "/" + dir
}

// Proxy is a module proxy in a directory, and a module cache for its users.
type Proxy struct{ dir string }

// New publishes the modules of a repository as a version, in a directory.
func New(ctx context.Context, repo, dir, version string) (*Proxy, error) {
	p := &Proxy{dir}
	for _, module := range Published {
		if err := p.publish(ctx, repo, module, version); err != nil {
			return nil, err
		}
	}
	return p, p.shareCache(ctx)
}

// publish packs a module from the files of the repository that are committed,
// or would be after `git add`. It writes what `go help goproxy` describes.
func (p *Proxy) publish(ctx context.Context, repo, dir, version string) error {
	out, err := Run(ctx, repo, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	names := strings.Fields(out)
	var list []zip.File
	for _, name := range names {
		nested := func(mod string) bool {
			other := filepath.Dir(mod)
			return filepath.Base(mod) == "go.mod" && other != dir && within(other, dir) && within(name, other)
		}
		if _, err := os.Lstat(filepath.Join(repo, name)); err == nil && within(name, dir) && !slices.ContainsFunc(names, nested) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			list = append(list, file{filepath.ToSlash(rel), filepath.Join(repo, name)})
		}
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, module.Version{Path: Path(dir), Version: version}, list); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(repo, dir, "go.mod"))
	if err != nil {
		return err
	}
	versions := filepath.Join(p.dir, "proxy", Path(dir), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"list": []byte(version), version + ".mod": mod, version + ".zip": packed.Bytes(),
		version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2000-01-01T00:00:00Z"}`, version),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// within reports whether a path is a directory or in it.
func within(path, dir string) bool {
	return dir == "." || path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// file is a file of a module's zip.
type file struct{ name, from string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.from) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.from) }

// shareCache makes a module cache that has everything of the user's but the
// modules of this repository: no other program must ever find these.
func (p *Proxy) shareCache(ctx context.Context) error {
	out, err := Run(ctx, p.dir, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	users := strings.TrimSpace(out)
	for _, dir := range []string{".", "cache", "cache/download", "github.com", "cache/download/github.com"} {
		if err := os.MkdirAll(filepath.Join(p.dir, "cache", dir), 0o755); err != nil {
			return err
		}
		entries, err := os.ReadDir(filepath.Join(users, dir))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for _, e := range entries {
			if slices.Contains([]string{"cache", "download", "github.com", "slidegate", "lock"}, e.Name()) {
				continue
			}
			if err := os.Symlink(filepath.Join(users, dir, e.Name()), filepath.Join(p.dir, "cache", dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Env returns the environment of commands that use the proxy for the modules of
// this repository, and ask the network only for what the user's module cache
// does not have.
func (p *Proxy) Env(ctx context.Context) ([]string, error) {
	out, err := Run(ctx, p.dir, nil, "go", "env", "GOPROXY", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	users := strings.Fields(out)
	proxies := []string{fileURL(filepath.Join(p.dir, "proxy")), fileURL(filepath.Join(users[1], "cache", "download")), users[0]}
	return []string{
		"GOPROXY=" + strings.Join(proxies, ","),
		"GOMODCACHE=" + filepath.Join(p.dir, "cache"),
		"GONOSUMDB=" + Root + "," + Root + "/*", "GONOPROXY=none", "GOWORK=off",
		"GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod -modcacherw -trimpath", // those of the caller, or all is compiled again
	}, nil
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// Run runs a command in a directory, with more in its environment, and returns
// what it prints. The error has what it prints about its failure.
func Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}
