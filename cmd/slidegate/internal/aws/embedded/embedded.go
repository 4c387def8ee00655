// Package embedded has what the command deploys: the Lambdas' zips and the
// CloudFormation template. Releases and make build have the tag release; any
// other build has neither, and is smaller by them.
package embedded

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrNone is the error of a command that was built without the files.
var ErrNone = errors.New("this build of slidegate carries no Lambda code and no template: download the command of a release, or build one in a clone by `make build`, or name the files by --code FILE and --template FILE")

// Lacks is the error of a command that carries the code for another architecture
// than this one of Go.
type Lacks string

func (goarch Lacks) Error() string {
	return fmt.Sprintf("this build of slidegate carries no Lambda code for %s: give another --architecture, or build it in a clone by `make build LAMBDAS=%[1]s`, or name the zips by --code FILE", string(goarch))
}

// Zip returns the code of a Lambda as infra/lambdas has it. name is authorizer
// or operations, goarch is arm64 or amd64.
func Zip(name, goarch string) ([]byte, error) {
	data, err := read(name + "_" + goarch + ".zip")
	if _, none := Template(); err != nil && none == nil {
		return nil, Lacks(goarch)
	}
	return data, err
}

// Template returns the CloudFormation template of a limiter.
func Template() ([]byte, error) { return read("template.json") }

func read(name string) ([]byte, error) {
	data, err := files.ReadFile("files/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	return data, err
}
