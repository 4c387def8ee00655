package aws

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
)

// file is what a deployment uploads.
type file struct {
	name string // for people
	ext  string // of its key
	data []byte
}

// zipName is the name of a Lambda's code, as releases and `make zips` have it.
var zipName = regexp.MustCompile(`^(authorizer|operations)_(arm64|amd64)\.zip$`)

// readCode returns the zips of the two Lambdas: those given as files, or else
// those that the command carries.
func readCode(given []string, goarch string) (authorizer, operations file, err error) {
	found := map[string]file{}
	for _, path := range given {
		match := zipName.FindStringSubmatch(filepath.Base(path))
		if match == nil {
			return authorizer, operations, fmt.Errorf("--code %s: want the name that releases have, such as authorizer_%s.zip or operations_%[2]s.zip", path, goarch)
		}
		if match[2] != goarch {
			return authorizer, operations, fmt.Errorf("--code %s: the stack's Lambdas are for %s: give that code, or another --architecture", path, goarch)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return authorizer, operations, fmt.Errorf("--code: %w", err)
		}
		found[match[1]] = file{path, ".zip", data}
	}
	for _, name := range []string{"authorizer", "operations"} {
		if _, ok := found[name]; !ok {
			data, err := embedded.Zip(name, goarch)
			if err != nil {
				return authorizer, operations, err
			}
			found[name] = file{name + "_" + goarch + ".zip", ".zip", data}
		}
		if err := checkZip(found[name]); err != nil {
			return authorizer, operations, err
		}
	}
	return found["authorizer"], found["operations"], nil
}

// checkZip refuses what Lambda would take and could not run.
func checkZip(f file) error {
	r, err := zip.NewReader(bytes.NewReader(f.data), int64(len(f.data)))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if !slices.ContainsFunc(r.File, func(f *zip.File) bool { return f.Name == "bootstrap" }) {
		return fmt.Errorf("%s has no file bootstrap: it is not the code of a Lambda", f.name)
	}
	return nil
}

// template is the CloudFormation template of a limiter.
type template struct {
	text       string
	Parameters map[string]struct{}
	Outputs    map[string]struct{ Value any }
}

// maxTemplate is how long a template may be, in bytes, that is sent with the call.
const maxTemplate = 51_200

// Template returns the template in a file, or the one that the command carries if
// path is empty, and the version of its release.
func Template(path string) (text, version string, err error) {
	t, err := readTemplate(path)
	return t.text, t.version(), err
}

// readTemplate returns the template in a file, or the one that the command
// carries if path is empty.
func readTemplate(path string) (t template, err error) {
	var data []byte
	if path == "" {
		path = "the template of this command"
		data, err = embedded.Template()
	} else {
		data, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("--template: %w", err)
	}
	if err != nil {
		return t, err
	}
	var short bytes.Buffer
	if err := json.Compact(&short, data); err != nil {
		return t, fmt.Errorf("%s is not JSON: %w", path, err)
	}
	if short.Len() > maxTemplate {
		return t, fmt.Errorf("%s has %d bytes without spaces; AWS takes at most %d", path, short.Len(), maxTemplate)
	}
	t.text = short.String()
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if t.version() == "" {
		return t, fmt.Errorf("%s has no output %s: it is not the template of a limiter", path, versionOutput)
	}
	return t, nil
}

// version returns the version of the command's release; "" for another template.
func (t *template) version() string {
	version, _ := t.Outputs[versionOutput].Value.(string)
	return version
}
