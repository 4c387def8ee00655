//go:build !windows

package outfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keep gives a file the owner, the group and the mode of another. Another group
// than that of old gets no rights by its mode.
func keep(file *os.File, old fs.FileInfo) error {
	mode, owner := old.Mode().Perm(), old.Sys().(*syscall.Stat_t)
	if file.Chown(int(owner.Uid), int(owner.Gid)) != nil && file.Chown(-1, int(owner.Gid)) != nil {
		mode &^= 0o070
	}
	return file.Chmod(mode)
}
