// Package outfile writes files that appear under their names whole or not at
// all.
package outfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is written beside its final name and renamed by Commit.
type File struct {
	W    io.Writer // nil to write nothing
	file *os.File  // nil for standard output
	path string    // the final name; empty if the file is written in place
}

// Create opens a path for writing: "" for nothing, "-" for standard output.
// A pipe, a device or another special file is written in place.
func Create(path string, stdout io.Writer) (*File, error) {
	switch path {
	case "":
		return &File{}, nil
	case "-":
		return &File{W: stdout}, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &File{W: file, file: file}, err
	}
	file, err := os.OpenFile(path+"."+rand.Text()[:8]+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	var named *fs.PathError
	if errors.As(err, &named) {
		named.Path = path // the user never typed the temporary name
	}
	return &File{W: file, file: file, path: path}, err
}

// Write writes a whole file; "" is standard output.
func Write(path string, stdout io.Writer, content []byte) error {
	if path == "" {
		path = "-"
	}
	out, err := Create(path, stdout)
	if err != nil {
		return err
	}
	defer out.Abandon()
	if _, err := out.W.Write(content); err != nil {
		return err
	}
	return out.Commit()
}

// Commit puts the file under its name. If it fails, Abandon removes the file.
func (o *File) Commit() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	if err == nil && o.path != "" {
		err = os.Rename(o.file.Name(), o.path)
	}
	if err == nil {
		o.file = nil
	}
	return err
}

// Abandon removes the file unless it was committed.
func (o *File) Abandon() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.path != "" {
		os.Remove(o.file.Name())
	}
}
