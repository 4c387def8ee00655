package outfile

import (
	"io/fs"
	"os"
)

// keep gives a file the mode of another: whether it is read-only.
func keep(file *os.File, old fs.FileInfo) error { return file.Chmod(old.Mode().Perm()) }
