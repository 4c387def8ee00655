package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// proxy is a module proxy in a directory, and a module cache for its users.
type proxy struct{ dir string }

// newProxy publishes the modules of a repository, as its files are now, as a
// version. The modules that are tagged are published too.
func newProxy(ctx context.Context, repo, dir, version string) (*proxy, error) {
	p := &proxy{dir}
	for _, module := range published {
		tags, err := p.addTags(ctx, repo, module)
		if err != nil {
			return nil, err
		}
		if err := p.addFiles(ctx, repo, module, version); err != nil {
			return nil, err
		}
		// Only tagged versions are listed: gorelease refuses one that is there.
		if err := p.write(module, "list", strings.Join(tags, "\n")); err != nil {
			return nil, err
		}
	}
	return p, p.shareCache(ctx)
}

// addTags packs a module as each of its tags has it.
func (p *proxy) addTags(ctx context.Context, repo, dir string) (versions []string, err error) {
	out, err := run(ctx, repo, nil, "git", "tag", "--list", tag(dir, "v*"))
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(out) {
		version := name[len(tag(dir, "")):]
		if !semver.IsValid(version) {
			continue
		}
		mod, err := run(ctx, repo, nil, "git", "show", name+":"+filepath.ToSlash(filepath.Join(dir, "go.mod")))
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		subdir := strings.TrimPrefix(dir, ".")
		if err := zip.CreateFromVCS(&packed, module.Version{Path: modulePath(dir), Version: version}, repo, name, subdir); err != nil {
			return nil, err
		}
		if err := p.add(dir, version, mod, packed.String()); err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	return versions, nil
}

// addFiles packs a module from the files of the repository.
func (p *proxy) addFiles(ctx context.Context, repo, dir, version string) error {
	names, err := files(ctx, repo, dir)
	if err != nil {
		return err
	}
	nested, err := workModules(ctx, repo)
	if err != nil {
		return err
	}
	var list []zip.File
	for _, name := range names {
		if within(name, dir) && !slices.ContainsFunc(nested, func(m string) bool { return m != dir && within(m, dir) && within(name, m) }) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			list = append(list, file{filepath.ToSlash(rel), filepath.Join(repo, name)})
		}
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, module.Version{Path: modulePath(dir), Version: version}, list); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(repo, dir, "go.mod"))
	if err != nil {
		return err
	}
	return p.add(dir, version, string(mod), packed.String())
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

// add writes the files of a version, as `go help goproxy` describes them.
func (p *proxy) add(dir, version, mod, packed string) error {
	info := fmt.Sprintf(`{"Version":%q,"Time":"2000-01-01T00:00:00Z"}`, version)
	for ext, text := range map[string]string{".info": info, ".mod": mod, ".zip": packed} {
		if err := p.write(dir, version+ext, text); err != nil {
			return err
		}
	}
	return nil
}

func (p *proxy) write(module, name, text string) error {
	path := filepath.Join(p.dir, "proxy", modulePath(module), "@v", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// shareCache makes a module cache that has everything of the user's but the
// modules of this repository: no other program must ever find these.
func (p *proxy) shareCache(ctx context.Context) error {
	out, err := run(ctx, p.dir, nil, "go", "env", "GOMODCACHE")
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

// env has commands use the proxy for the modules of this repository, and ask the
// network only for what the user's module cache does not have.
func (p *proxy) env(ctx context.Context) ([]string, error) {
	out, err := run(ctx, p.dir, nil, "go", "env", "GOPROXY", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	users := strings.Fields(out)
	proxies := []string{fileURL(filepath.Join(p.dir, "proxy")), fileURL(filepath.Join(users[1], "cache", "download")), users[0]}
	return []string{
		"GOPROXY=" + strings.Join(proxies, ","),
		"GOMODCACHE=" + filepath.Join(p.dir, "cache"),
		"GONOSUMDB=" + root + "," + root + "/*", "GONOPROXY=none", "GOWORK=off",
		"GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod -modcacherw -trimpath", // those of the caller, or all is compiled again
	}, nil
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// unzip unpacks a version into a new directory.
func unzip(dir, path, version, packed string) error {
	return zip.Unzip(dir, module.Version{Path: path, Version: version}, packed)
}
