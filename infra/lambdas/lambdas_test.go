package lambdas

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestZip reads the zips of a module that has them, such as a clone after `make
// zips`. Elsewhere the error names that command.
func TestZip(t *testing.T) {
	for _, name := range []string{"authorizer", "operations"} {
		for _, goarch := range []string{"arm64", "amd64"} {
			data, err := Zip(name, goarch)
			if errors.Is(err, ErrNone) && strings.Contains(err.Error(), "`make zips`") {
				continue
			}
			if err != nil {
				t.Fatalf("%s for %s: %v", name, goarch, err)
			}
			if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err != nil || z.File[0].Name != "bootstrap" {
				t.Errorf("%s for %s has no bootstrap: %v", name, goarch, err)
			}
		}
	}
}

func TestZipRefuses(t *testing.T) {
	for _, tt := range []struct{ name, goarch, want string }{
		{"authoriser", "arm64", `there is no Lambda "authoriser": name authorizer or operations`},
		{"authorizer", "x86_64", `the Lambda authorizer is not built for "x86_64": use arm64 or amd64`},
		{"../README.md", "arm64", `there is no Lambda "../README.md": name authorizer or operations`},
	} {
		if _, err := Zip(tt.name, tt.goarch); err == nil || err.Error() != tt.want {
			t.Errorf("Zip(%q, %q): error is %v, want %s", tt.name, tt.goarch, err, tt.want)
		}
	}
}
