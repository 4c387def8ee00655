package outfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFullDevice(t *testing.T) {
	if err := WriteString("/dev/full", nil, "text"); err == nil || err.Error() != "write /dev/full: no space left on device" {
		t.Errorf("error %v", err)
	}
}

// TestOwner: a file that is written again keeps its owner and group. Where the
// test may not give files away, these are its own.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	_ = os.Chown(path, 65534, 65534)
	before, _ := os.Stat(path)
	if err := WriteString(path, nil, "new"); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(path)
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid || after.Mode() != before.Mode() {
		t.Errorf("owner %d:%d and mode %v, want %d:%d and %v", is.Uid, is.Gid, after.Mode(), was.Uid, was.Gid, before.Mode())
	}
}
