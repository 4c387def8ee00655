package main

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file that appears under its name whole or not at all: it is written beside it and renamed.
type output struct {
	w    io.Writer // nil to write nothing
	file *os.File  // nil for standard output
	path string    // where the file belongs; empty if it is there already
}

// createOutput opens a path for writing: "" for nothing, "-" for standard output. What is no regular file, such as a
// pipe or a device, is written as it stands.
func createOutput(path string, stdout io.Writer) (*output, error) {
	switch path {
	case "":
		return &output{}, nil
	case "-":
		return &output{w: stdout}, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &output{w: file, file: file}, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(path+"."+rand.Text()[:8]+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	var named *fs.PathError
	if errors.As(err, &named) {
		named.Path = path // nobody knows the other name
	}
	if err != nil {
		return nil, err
	}
	return &output{w: file, file: file, path: path}, nil
}

// commit puts the file under its name.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	file := o.file
	o.file = nil
	err := file.Close()
	if o.path == "" {
		return err
	}
	if err == nil {
		err = os.Rename(file.Name(), o.path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// abandon throws the file away unless it was committed.
func (o *output) abandon() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.path != "" {
		os.Remove(o.file.Name())
	}
}
