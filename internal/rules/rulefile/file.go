package rulefile

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// File is a rules file as it was read.
type File struct {
	Name string
	Text []byte
	info fs.FileInfo // before it was read, so that a later change is another
}

// Open reads a file, unless the context ends first. If that takes longer than
// LookEvery, the log says so: a named pipe waits for the program that writes it.
func Open(ctx context.Context, name string, log *slog.Logger) (*File, error) {
	return open(ctx, name, log, ReadFile)
}

func open(ctx context.Context, name string, log *slog.Logger, read func(name string) ([]byte, error)) (*File, error) {
	f := &File{Name: name}
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.info, _ = os.Stat(name)
		f.Text, err = read(name)
	}()
	for late := time.After(LookEvery); ; {
		select {
		case <-ended:
			return f, err
		case <-late:
			log.Warn("waiting for the rules file: another program has to write it, or its file system to answer", "file", name)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: nothing was read: %w", name, context.Cause(ctx))
		}
	}
}

// readRegular is ReadFile for a regular file alone. It does not wait for the
// writer of a named pipe.
func readRegular(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	return Read(file)
}
