// Package logs reads recorded traffic: lines of access logs, as requests in the
// order of their times. Each format has a file of its own.
package logs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Format is the format of a log, by its name on the command line. If it is empty,
// the first lines tell it.
type Format string

// The formats of a log.
const (
	CLF        Format = "clf"        // Apache's and NGINX's common and combined log formats
	JSONL      Format = "jsonl"      // a JSON object on each line
	CSV        Format = "csv"        // a header line and comma-separated values
	ALB        Format = "alb"        // access logs of an Application Load Balancer
	APIGateway Format = "apigateway" // access logs of API Gateway in JSON or CSV
	Caddy      Format = "caddy"      // Caddy's JSON
	CloudFront Format = "cloudfront" // standard and real-time logs, as W3C or JSON
	Envoy      Format = "envoy"      // JSON by the names of Istio and Envoy Gateway
	Traefik    Format = "traefik"    // Traefik's JSON
)

// Formats are all formats.
var Formats = []Format{CLF, JSONL, CSV, ALB, APIGateway, Caddy, CloudFront, Envoy, Traefik}

// parser parses the lines of one log, one after another, each into a new record.
// It reports false for a line without a request, such as a header line.
type parser func(line string, r *record) (bool, error)

// parser returns a parser for one log. warn gets what the log has and a replay
// does not use.
func (f Format) parser(warn func(string)) parser {
	switch f {
	case CSV:
		return (&csvLog{warn: warn}).parse
	case ALB:
		return parseALB
	case APIGateway:
		return parseAPIGateway
	case CloudFront:
		return new(cloudFrontLog).parse
	case Caddy, Envoy, JSONL, Traefik:
		return jsonTables[f].parseJSON
	}
	return parseCLF
}

// Log is recorded traffic: lines of text, gzipped or not.
type Log struct {
	Name   string // for messages
	Format Format
	// Template is NGINX's log_format, in place of a Format; nil for none.
	Template *Template
	Size     int64 // bytes as stored, for the progress; -1 if unknown
	Open     func() (io.ReadCloser, error)
}

// parser returns a parser for the log.
func (l *Log) parser(warn func(string)) parser {
	switch {
	case l.Template != nil:
		return l.Template.parse
	case l.Format == "":
		return detect(warn)
	}
	return forced(l.Format, l.Format.parser(warn))
}

// File returns the log in a file. It fails if there is no such file, but does
// not open it yet.
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

// Files returns the log in a file, or the logs in a directory, by name. It skips
// subdirectories and hidden files.
func Files(path string, format Format) ([]Log, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		log, err := File(path, format)
		return []Log{log}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var all []Log
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if info, err := os.Stat(name); strings.HasPrefix(entry.Name(), ".") || err == nil && info.IsDir() {
			continue
		}
		log, err := File(name, format)
		if err != nil {
			return nil, err
		}
		all = append(all, log)
	}
	if all == nil {
		return nil, fmt.Errorf("%s has no files: name a directory with logs; those in it are not read", path)
	}
	return all, nil
}

// Stream returns the log that a reader delivers, such as standard input.
func Stream(name string, r io.Reader, format Format) Log {
	return Log{Name: name, Format: format, Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// Traffic is recorded requests, to be decided in an order. The zero value of
// each field but Logs is usable.
type Traffic struct {
	Logs     []Log
	Order    Order          // ByTime if empty
	Progress func(Progress) // is called after every request; nil for none
	Warn     func(string)   // gets what a log has and a replay does not use; nil for none

	buffer int // bytes, in place of maxBuffer
}

// Progress says how far a replay has come.
type Progress struct {
	Requests int64     // that were decided
	Read     int64     // bytes of the logs, as stored
	Size     int64     // of all logs, in bytes; 0 if unknown
	At       time.Time // of the last request
	Pass     string    // which reading of the logs this is; empty if there is one
}

// totalSize returns the size of all logs, or 0 if one is unknown.
func totalSize(logs []Log) (size int64) {
	for i := range logs {
		if logs[i].Size < 0 {
			return 0
		}
		size += logs[i].Size
	}
	return size
}
