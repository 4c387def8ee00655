package cdktest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go/runtime"
)

// Nag returns the rules AwsSolutions of cdk-nag, which cdk.sh installs. It loads
// them into the process of the CDK, because they have no Go package. infra is the
// directory of that script.
func Nag(t *testing.T, app awscdk.App, infra string) awscdk.IPolicyValidationPlugin {
	t.Helper()
	script := exec.Command("./cdk.sh", "--version")
	script.Dir = infra
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("cdk.sh: %v\n%s", err, out)
	}
	dir := filepath.Join(infra, "../.cache/cdk/node_modules/cdk-nag")
	var manifest struct{ Version string }
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	runtime.Load("cdk-nag", manifest.Version, tarball(t, dir))
	pack := &jsiiProxy_Nag{}
	runtime.Create("cdk-nag.AwsSolutionsChecks", []any{app}, pack)
	return pack
}

// jsiiProxy_Nag stands for the object in the process of the CDK. Its name tells
// jsii that its methods are there.
type jsiiProxy_Nag struct{ awscdk.IPolicyValidationPlugin }

// tarball packs a directory as npm does.
func tarball(t *testing.T, dir string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, name := range []string{"package.json", ".jsii", "lib"} {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if err := w.WriteHeader(&tar.Header{Name: "package/" + filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(data))}); err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
