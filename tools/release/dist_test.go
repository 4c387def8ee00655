//go:build e2e

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var dist = flag.String("dist", "../../dist/release", "the `directory` that goreleaser packed")

// extra are the directories of released files that goreleaser takes as they are.
var extra = []string{filepath.Join(repo, "infra/lambdas/zips"), filepath.Join(repo, "dist/files")}

// TestSums: SHA256SUMS lists all that a release has, with the right hashes.
func TestSums(t *testing.T) {
	var names []string
	for name, sum := range readSums(t) {
		if got := fmt.Sprintf("%x", sha256.Sum256(readReleased(t, name))); got != sum {
			t.Errorf("%s has the hash %s, and SHA256SUMS says %s", name, got, sum)
		}
		names = append(names, strings.ReplaceAll(name, snapshot(t), "VERSION"))
	}
	want := append([]string{"authorizer.cdx.json", "operations.cdx.json", "rules.schema.json", "slidegate_image.tar", "template.json"}, zipNames...)
	for _, platform := range platforms {
		want = append(want, "slidegate_VERSION_"+platform+".cdx.json", "slidegate_VERSION_"+platform+extension(platform))
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("a release has\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
}

var platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}

func extension(platform string) string {
	if strings.HasPrefix(platform, "windows") {
		return ".zip"
	}
	return ".tar.gz"
}

// TestCommand: each archive has completions, and the command for its platform
// with the Lambdas' zips and the template that the release has.
func TestCommand(t *testing.T) {
	head := strings.TrimSpace(run(t, repo, "git", "rev-parse", "HEAD"))
	for _, platform := range platforms {
		name := "slidegate_" + snapshot(t) + "_" + platform + extension(platform)
		files := unpack(t, name, readReleased(t, name))
		binary := "slidegate"
		if strings.HasPrefix(platform, "windows") {
			binary += ".exe"
		}
		want := []string{"LICENSE", "completions/_slidegate", "completions/slidegate.bash", "completions/slidegate.fish", "completions/slidegate.ps1", binary}
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
		info, err := buildinfo.Read(bytes.NewReader(files[binary]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		for key, want := range map[string]string{
			"-tags": "release", "-trimpath": "true", "CGO_ENABLED": "0", "vcs.revision": head,
			"GOOS": strings.Split(platform, "_")[0], "GOARCH": strings.Split(platform, "_")[1],
		} {
			if settings[key] != want {
				t.Errorf("%s was built with %s=%s, want %s", name, key, settings[key], want)
			}
		}
		for _, embedded := range append([]string{"template.json"}, zipNames...) {
			if !bytes.Contains(files[binary], readReleased(t, embedded)) {
				t.Errorf("the command in %s carries another %s, or none", name, embedded)
			}
		}
		if platform == runtime.GOOS+"_"+runtime.GOARCH {
			testCommand(t, files[binary], head)
		}
	}
}

// TestImage: the image has the commands of the archives for Linux.
func TestImage(t *testing.T) {
	blobs := untar(t, bytes.NewReader(readReleased(t, "slidegate_image.tar")))
	for _, goarch := range []string{"amd64", "arm64"} {
		name := "slidegate_" + snapshot(t) + "_linux_" + goarch + ".tar.gz"
		binary := unpack(t, name, readReleased(t, name))["slidegate"]
		if !slices.ContainsFunc(slices.Collect(maps.Values(blobs)), func(blob []byte) bool {
			return bytes.HasPrefix(blob, []byte{0x1f, 0x8b}) && bytes.Equal(unpack(t, "layer.tar.gz", blob)["slidegate"], binary)
		}) {
			t.Errorf("no layer of the image has the command of %s", name)
		}
	}
}

// TestZips: each zip has a program for its architecture.
func TestZips(t *testing.T) {
	for _, name := range zipNames {
		info, err := buildinfo.Read(bytes.NewReader(unpack(t, name, readReleased(t, name))["bootstrap"]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lambda, goarch, _ := strings.Cut(strings.TrimSuffix(name, ".zip"), "_")
		if want := root + "/functions/" + lambda; info.Path != want {
			t.Errorf("%s has %s, want %s", name, info.Path, want)
		}
		for key, want := range map[string]string{"GOOS": "linux", "GOARCH": goarch} {
			if !slices.Contains(info.Settings, debug.BuildSetting{Key: key, Value: want}) {
				t.Errorf("%s was not built with %s=%s", name, key, want)
			}
		}
	}
}

// testCommand deploys a limiter to a local AWS by the command alone.
func testCommand(t *testing.T, binary []byte, commit string) {
	t.Helper()
	empty := &repository{t, t.TempDir()}
	empty.write("slidegate", string(binary))
	empty.write("rules.yaml", string(read(t, "testdata/stranger/rules.yaml")))
	run(t, empty.dir, "chmod", "+x", "slidegate")
	slidegate := func(want string, args ...string) {
		t.Helper()
		began := time.Now()
		out := run(t, empty.dir, append([]string{"./slidegate"}, args...)...)
		t.Logf("$ slidegate %s # %v\n%s", strings.Join(args, " "), time.Since(began).Round(time.Second/10), out)
		if !strings.Contains(out, want) {
			t.Errorf("slidegate %s prints no %q", strings.Join(args, " "), want)
		}
	}
	slidegate(" (commit "+commit+" of 20", "version")
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	slidegate("stack://released", "aws", "deploy", "--stack", "released", "--rules", "rules.yaml", "--architecture", architecture, "--yes")
	slidegate("cloudformation released", "rules", "list", "--rules", "stack://released")
	slidegate("released", "aws", "delete", "--stack", "released", "--yes")
}

// snapshot returns the version in the names of the packed files.
func snapshot(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(*dist, "slidegate_*_linux_amd64.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %d archives for linux_amd64: run `make check-release`: %v", *dist, len(found), err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "slidegate_"), "_linux_amd64.tar.gz")
}

// readSums returns the hashes in SHA256SUMS by the names of the files.
func readSums(t *testing.T) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(*dist, "SHA256SUMS")))) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			t.Fatalf("SHA256SUMS has the line %q", line)
		}
		sums[fields[1]] = fields[0]
	}
	return sums
}

// readReleased returns a file of the release.
func readReleased(t *testing.T, name string) []byte {
	t.Helper()
	for _, dir := range append([]string{*dist}, extra...) {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(found) == 1 {
			return read(t, found[0])
		}
	}
	t.Fatalf("the release has no %s", name)
	return nil
}

// unpack returns the files of an archive by their paths.
func unpack(t *testing.T, name string, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = readAll(t, r)
		}
		return files
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, unzipped)
}

func untar(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for tr := tar.NewReader(archive); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = readAll(t, tr)
	}
}

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
