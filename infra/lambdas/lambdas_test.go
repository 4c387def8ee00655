package lambdas

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// TestZip: a zip comes as it is. Without it the error names the command that
// builds it.
func TestZip(t *testing.T) {
	files := fstest.MapFS{"zips/operations_amd64.zip": {Data: []byte("the code")}}
	if data, err := read(files, "operations", "amd64"); err != nil || string(data) != "the code" {
		t.Errorf("%q, error %v", data, err)
	}
	for _, missing := range [][2]string{{"operations", "arm64"}, {"authorizer", "amd64"}} {
		data, err := read(files, missing[0], missing[1])
		if data != nil || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "`make zips`") {
			t.Errorf("%s: %q, error %v", missing, data, err)
		}
	}
}

func TestZipRefuses(t *testing.T) {
	for _, tt := range []struct{ name, goarch, want string }{
		{"authoriser", "arm64", `there is no Lambda "authoriser": name authorizer or operations`},
		{"authorizer", "x86_64", `the Lambda authorizer is not built for "x86_64": use arm64 or amd64`},
	} {
		if _, err := Zip(tt.name, tt.goarch); err == nil || err.Error() != tt.want {
			t.Errorf("Zip(%q, %q): error is %v, want %s", tt.name, tt.goarch, err, tt.want)
		}
	}
}
