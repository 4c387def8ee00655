package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestInit: what init wrote is in files of its own, and draws
// no warning.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	transcript(t, "init", "", scrubElapsed, "DIR", dir)
	for _, name := range []string{"rules", "keys", "users"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, goldenPath("init-"+name), string(text))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("init left %v, %v behind", files, err)
	}
}
