package cdktest

import (
	"encoding/json"
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
	runtime.Load("cdk-nag", manifest.Version, tarball(t, dir, manifest.Version))
	pack := &jsiiProxy_Nag{}
	runtime.Create("cdk-nag.AwsSolutionsChecks", []any{app}, pack)
	return pack
}

// jsiiProxy_Nag stands for the object in the process of the CDK. Its name tells
// jsii that its methods are there.
type jsiiProxy_Nag struct{ awscdk.IPolicyValidationPlugin }

// tarball packs a package as its publisher does.
func tarball(t *testing.T, dir, version string) []byte {
	t.Helper()
	to := t.TempDir()
	if out, err := exec.Command("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", to, dir).CombinedOutput(); err != nil {
		t.Fatalf("npm pack: %v\n%s", err, out)
	}
	packed, err := os.ReadFile(filepath.Join(to, "cdk-nag-"+version+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	return packed
}
