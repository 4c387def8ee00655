// Package outfile writes files that appear under their names whole or not at
// all.
package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write lets write fill a temporary file and renames it to path once write has
// succeeded. It passes standard output for a path of "" or "-". A pipe, a device
// or another special file is written in place.
func Write(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(stdout)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		return fill(file, err, write)
	}
	temporary := path + "." + rand.Text()[:8] + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	var named *fs.PathError
	if errors.As(err, &named) {
		named.Path = path // the user never typed the temporary name
	}
	if err := fill(file, err, write); err != nil {
		os.Remove(temporary)
		return err
	}
	return os.Rename(temporary, path)
}

// fill writes and closes a file, unless opening it failed.
func fill(file *os.File, opening error, write func(io.Writer) error) error {
	if opening != nil {
		return opening
	}
	err := write(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// WriteString writes a text as Write does.
func WriteString(path string, stdout io.Writer, text string) error {
	return Write(path, stdout, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// CheckNew reports why WriteNew would fail, before the work on the text.
func CheckNew(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: file exists: choose another name", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no directory %s", path, filepath.Dir(path))
	}
	return nil
}

// WriteNew writes a text to a file that must not exist yet, under any name.
func WriteNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	return fill(file, err, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
