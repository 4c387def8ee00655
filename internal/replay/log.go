package replay

import (
	"fmt"
	"io"
	"os"
)

// Log is recorded traffic: lines of text, gzipped or not.
type Log struct {
	Name   string // what messages call it
	Format Format
	Size   int64 // bytes as stored, for the progress; 0 where it is not known
	Open   func() (io.ReadCloser, error)
}

// File returns the log in a file, which must exist; it is opened when its turn comes.
func File(path string, format Format) (Log, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Log{}, err
	}
	if info.IsDir() {
		return Log{}, fmt.Errorf("%s is a directory: name the logs in it", path)
	}
	return Log{Name: path, Format: format, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}

// Stream returns the log that a reader delivers, such as standard input.
func Stream(name string, r io.Reader, format Format) Log {
	return Log{Name: name, Format: format, Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// totalSize returns the size of all logs, 0 if one is not known.
func totalSize(logs []Log) (size int64) {
	for i := range logs {
		if logs[i].Size == 0 {
			return 0
		}
		size += logs[i].Size
	}
	return size
}
