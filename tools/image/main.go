// Command image packs the command into an OCI image, without a daemon, a base
// image or a registry.
//
//	image FILE LICENSE BINARY...
//
// FILE is a tar of an OCI layout. Each BINARY is the command for an architecture
// of Linux, linked statically. The image states what Go has written into the
// binaries. The same binaries and the same Go give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/pem"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// config says how a container starts. Only the container itself reaches the
// address of --admin, which is the one that `slidegate health` asks.
var config = v1.Config{
	User:         "65532:65532",
	Entrypoint:   []string{"/slidegate"},
	Cmd:          []string{"serve", "--listen", ":8080", "--admin", "127.0.0.1:9090"},
	Env:          []string{"SLIDEGATE_RULES=/etc/slidegate/rules.yaml"},
	ExposedPorts: map[string]struct{}{"8080/tcp": {}},
	WorkingDir:   "/",
	Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/slidegate", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second},
}

// modes are those of files that are not as most.
var modes = map[string]int64{"slidegate": 0o755, "tmp/": 0o1777}

func main() {
	if len(os.Args) < 4 {
		log.Fatal("want image FILE LICENSE BINARY...")
	}
	image := pack(must(os.ReadFile(os.Args[2])), os.Args[3:])
	must(0, os.WriteFile(os.Args[1], image, 0o644))
}

// must ends the program at an error, which names the file if one is wrong.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("image: ", err)
	}
	return value
}

// pack returns the image as a tar.
func pack(license []byte, binaries []string) []byte {
	var index v1.ImageIndex = empty.Index
	var created time.Time
	for _, path := range binaries {
		info := must(buildinfo.ReadFile(path))
		built := map[string]string{"vcs.time": "1970-01-01T00:00:00Z"} // unless in a repository
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
		if built["GOOS"] != "linux" || built["CGO_ENABLED"] != "0" {
			log.Fatalf("image: %s: want a build with GOOS=linux and CGO_ENABLED=0: the image has no libraries", path)
		}
		created = must(time.Parse(time.RFC3339, built["vcs.time"]))
		files := tarOf(created, map[string][]byte{
			"LICENSE":                           license,
			"etc/passwd":                        []byte("nonroot:x:65532:65532::/tmp:/sbin/nologin\n"),
			"etc/ssl/certs/ca-certificates.crt": roots(),
			"slidegate":                         must(os.ReadFile(path)),
			"tmp/":                              nil,
		})
		layer := must(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching))
		image := must(mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer))
		file := must(image.ConfigFile())
		file.OS, file.Architecture, file.Created, file.Config = "linux", built["GOARCH"], v1.Time{Time: created}, config
		file.Config.Labels = labels(info.Main.Version, built)
		image = mutate.Annotations(must(mutate.ConfigFile(image, file)), file.Config.Labels).(v1.Image)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: file.Platform()}})
		index = mutate.Annotations(index, file.Config.Labels).(v1.ImageIndex)
	}
	dir := must(os.MkdirTemp("", "image"))
	defer os.RemoveAll(dir)
	must(0, must(layout.Write(dir, empty.Index)).AppendIndex(index, layout.WithAnnotations(map[string]string{oci + "ref.name": "slidegate"})))
	blobs := map[string][]byte{}
	must(0, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			blobs[name], err = os.ReadFile(dir + "/" + name)
		}
		return err
	}))
	return tarOf(created, blobs)
}

// tarOf returns a tar of files of root, all of one time.
func tarOf(at time.Time, files map[string][]byte) []byte {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must(0, w.WriteHeader(&tar.Header{Name: name, Mode: cmp.Or(modes[name], 0o644), Size: int64(len(files[name])), ModTime: at}))
		must(w.Write(files[name]))
	}
	must(0, w.Close())
	return packed.Bytes()
}

const oci = "org.opencontainers.image."

func labels(version string, built map[string]string) map[string]string {
	return map[string]string{
		oci + "title":       "slidegate",
		oci + "description": "An exact rate limiter for serverless APIs",
		oci + "source":      "https://github.com/slidegate/slidegate",
		oci + "licenses":    "Apache-2.0",
		oci + "version":     version,
		oci + "revision":    built["vcs.revision"],
		oci + "created":     built["vcs.time"],
	}
}

// roots returns the certificates of authorities that Mozilla trusts. It leaves
// out those with constraints, which a file of certificates cannot express.
func roots() (certificates []byte) {
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return certificates
}
