//go:build !release

package embedded

import (
	"errors"
	"testing"
)

func TestABuildWithoutFilesSaysSo(t *testing.T) {
	if _, err := Zip("authorizer", "arm64"); !errors.Is(err, ErrNone) {
		t.Errorf("Zip: error is %v", err)
	}
	if _, err := Template(); !errors.Is(err, ErrNone) {
		t.Errorf("Template: error is %v", err)
	}
}
