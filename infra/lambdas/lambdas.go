// Package lambdas has the code of Slidegate's Lambdas, compiled, in released
// versions of this module. A CDK app then needs neither a compiler nor a
// network to deploy them.
package lambdas

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// The pattern names the directory, because one that names zips matches nothing
// in a clone, where it would not compile.
//
//go:embed zips
var zips embed.FS

// ErrNone is the error of Zip where the module has no zips: in a clone in which
// none were built, and at a version that is not a released one.
var ErrNone = errors.New("this copy of github.com/slidegate/slidegate/infra/lambdas has no zips: require a released version, or run `make zips` in a clone of the repository")

// Zip returns the code of a Lambda for the runtime provided.al2023: a zip with
// the executable bootstrap. name is authorizer or operations, goarch is arm64
// or amd64. The error is ErrNone where the module has no zips.
func Zip(name, goarch string) ([]byte, error) {
	if !slices.Contains([]string{"authorizer", "operations"}, name) {
		return nil, fmt.Errorf("there is no Lambda %q: name authorizer or operations", name)
	}
	if !slices.Contains([]string{"arm64", "amd64"}, goarch) {
		return nil, fmt.Errorf("the Lambda %s is not built for %q: use arm64 or amd64", name, goarch)
	}
	return read(zips, name, goarch)
}

func read(files fs.FS, name, goarch string) ([]byte, error) {
	data, err := fs.ReadFile(files, "zips/"+name+"_"+goarch+".zip")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	return data, err
}
