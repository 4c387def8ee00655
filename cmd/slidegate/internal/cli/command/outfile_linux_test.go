package command

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFullDevice(t *testing.T) {
	if err := WriteText("/dev/full", nil, "text"); err == nil || err.Error() != "write /dev/full: no space left on device" {
		t.Errorf("error %v", err)
	}
}

// TestMode: a file that is written again keeps its mode, whatever the umask.
func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, mode := range []os.FileMode{0o600, 0o444, 0o666} {
		if err := WriteText(path, nil, "old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := WriteText(path, nil, "new"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, mode)
		}
	}
}
