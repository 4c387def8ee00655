package replay

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Format is how a log spells requests.
type Format uint8

// The formats of a log.
const (
	CLF   Format = iota // Apache's and NGINX's common and combined log formats
	JSONL               // a JSON object on each line
	CSV                 // a header line and comma-separated values
)

var formats = []string{CLF: "clf", JSONL: "jsonl", CSV: "csv"}

// String returns the format's name on the command line.
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f]
	}
	return "unknown"
}

// ParseFormat returns the format of this name; ok is false if there is none.
func ParseFormat(name string) (f Format, ok bool) {
	i := slices.Index(formats, name)
	return Format(max(i, 0)), i >= 0
}

// FormatOf guesses a file's format by its suffix, the one before .gz where it has that; CLF where the suffix says nothing.
func FormatOf(path string) Format {
	path = strings.TrimSuffix(strings.ToLower(path), ".gz")
	for f, name := range formats {
		if strings.HasSuffix(path, "."+name) {
			return Format(f)
		}
	}
	return CLF
}

// parser reads the lines of one log. It returns nil for a line that holds no request, such as a header.
type parser interface {
	parse(line string) (*Entry, error)
}

// parser returns a parser for a log that is about to be read; warn gets what the log says and a replay does not use.
func (f Format) parser(warn func(string)) parser {
	switch f {
	case JSONL:
		return jsonl{}
	case CSV:
		return newCSV(warn)
	}
	return clf{}
}

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
