package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var released = flag.String("image", "", "the image of a release, in a `file` (default: the command of this machine's architecture is packed)")

// TestImage starts what is in the image as its user, in a root of its own.
func TestImage(t *testing.T) {
	image := open(t)
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	root := container{t, t.TempDir(), c}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("want one layer: %v, %v", layers, err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := root.unpack(layer)
	if want := []string{"LICENSE", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "slidegate", "tmp/"}; !slices.Equal(files, want) {
		t.Errorf("the image has %q, want %q", files, want)
	}
	root.testRoots()

	// The zone's windows need its data, which the machine's own root may have.
	root.write("etc/slidegate/rules.yaml", 0o644, strings.NewReader("rules: [{name: api, key: 'ip:{ip}', limits: [{algorithm: fixed_window, capacity: 1, window: 1mo, timezone: Europe/Zurich}]}]\n"))
	serve := root.command(append(slices.Concat(c.Entrypoint, c.Cmd), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--drain", "0", "--json")...)
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatalf("%v: starting a program in a root of its own takes root, or a user namespace:"+
			" sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 allows it", err)
	}
	defer func() { _ = serve.Process.Kill() }()
	var listening struct{ URL, Admin string }
	var lines strings.Builder
	for log := bufio.NewScanner(io.TeeReader(stderr, &lines)); listening.URL == "" && log.Scan(); {
		_ = json.Unmarshal(log.Bytes(), &listening)
	}
	if listening.URL == "" {
		t.Fatalf("serve does not listen:\n%s", lines.String())
	}
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		answer, err := http.Get(listening.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("status %d, want %d", answer.StatusCode, want)
		}
	}
	health := append(c.Healthcheck.Test[1:], strings.TrimPrefix(listening.Admin, "http://"))
	if out, err := root.command(health...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", health, err, out)
	}
	_ = serve.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(&lines, stderr)
	if err := serve.Wait(); err != nil {
		t.Errorf("%v\n%s", err, lines.String())
	}
	if out, err := root.command(health...).CombinedOutput(); err == nil || !strings.Contains(string(out), "connection refused") {
		t.Errorf("without serve, %q: %v\n%s", health, err, out)
	}
}

// open returns the image for this machine's architecture.
func open(t *testing.T) v1.Image {
	t.Helper()
	var packed []byte
	want := []string{"linux/" + runtime.GOARCH}
	if *released == "" {
		license, err := os.ReadFile("../../LICENSE")
		if err != nil {
			t.Fatal(err)
		}
		binary := filepath.Join(t.TempDir(), "slidegate")
		run(t, "env", "CGO_ENABLED=0", "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/slidegate")
		packed = pack(license, []string{binary})
		if !bytes.Equal(packed, pack(license, []string{binary})) {
			t.Error("packed twice, the same binary gives different images")
		}
	} else {
		var err error
		if packed, err = os.ReadFile(*released); err != nil {
			t.Fatal(err)
		}
		want = []string{"linux/amd64", "linux/arm64"}
	}
	dir := container{t: t, dir: t.TempDir()}
	dir.unpack(io.NopCloser(bytes.NewReader(packed)))
	all, err := layout.ImageIndexFromPath(dir.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	top, err := all.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("want one index: %v, %v", top, err)
	}
	index, err := all.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("index %v, %d bytes: %v", top.Manifests[0].Digest, len(packed), manifest.Annotations)
	if *released != "" {
		for label, format := range map[string]string{"revision": "%H", "created": "%cd"} {
			at := strings.TrimSpace(run(t, "env", "TZ=UTC", "git", "log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format="+format))
			if got := manifest.Annotations[oci+label]; got != at {
				t.Errorf("%s is %q, want that of the commit, %q", label, got, at)
			}
		}
	}
	var own v1.Image
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		if m.Platform.Architecture == runtime.GOARCH {
			if own, err = index.Image(m.Digest); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(platforms, want) {
		t.Fatalf("the image is for %q, want %q", platforms, want)
	}
	return own
}

// run runs a program in the root of the repository.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// container is a directory that is the root of a program.
type container struct {
	t   *testing.T
	dir string
	v1.Config
}

func (c container) write(name string, mode os.FileMode, data io.Reader) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if strings.HasSuffix(name, "/") {
		err = errors.Join(err, os.Mkdir(path, mode))
	} else if f, created := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode); created != nil {
		err = errors.Join(err, created)
	} else {
		_, copied := io.Copy(f, data)
		err = errors.Join(err, copied, f.Close())
	}
	if err = errors.Join(err, os.Chmod(path, mode)); err != nil { // whatever the umask is
		c.t.Fatal(err)
	}
}

// unpack returns the names of a tar's files in their order.
func (c container) unpack(packed io.ReadCloser) (names []string) {
	c.t.Helper()
	defer packed.Close()
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil || !filepath.IsLocal(header.Name) || header.Uid != 0 {
			c.t.Fatalf("%+v: %v", header, err)
		}
		// Without root this test is the owner of the files, as the container's user is not.
		if header.Mode&0o004 == 0 || header.Name == "slidegate" && header.Mode&0o001 == 0 {
			c.t.Errorf("other users cannot use %s: mode %o", header.Name, header.Mode)
		}
		names = append(names, header.Name)
		c.write(header.Name, header.FileInfo().Mode(), r)
	}
}

// command runs a program of the container as its user.
func (c container) command(args ...string) *exec.Cmd {
	c.t.Helper()
	var user, group int
	if _, err := fmt.Sscanf(c.User, "%d:%d", &user, &group); err != nil || user == 0 || group == 0 {
		c.t.Fatalf("user %q: want one who is not root: %v", c.User, err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = c.WorkingDir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: c.dir, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group), NoSetGroups: os.Getuid() != 0},
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// testRoots: the file has the authorities of AWS, among others.
func (c container) testRoots() {
	data, err := os.ReadFile(filepath.Join(c.dir, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		root, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, root.Subject.CommonName)
	}
	if len(names) < 80 || !slices.Contains(names, "Amazon Root CA 1") {
		c.t.Errorf("%d authorities: %q", len(names), names)
	}
}
