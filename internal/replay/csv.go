package replay

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// csvLog reads comma-separated values after a header line that names the columns: time, method, path, ip, route, apikey,
// and header.NAME and jwt.NAME as often as need be, in any order. They mean what they do in jsonl; time alone is required,
// and an empty value is a missing one. NAME is the exact name of a claim, whose value is text. A record is one line: no
// value holds a line break.
type csvLog struct {
	warn    func(string)
	columns []column // nil before the header line
	bad     error    // why the header line was refused; then no line of the log means anything
	line    *bufio.Reader
}

// column puts a value in its place. It is nil for a column that is not used.
type column func(f *fields, value string) error

func newCSV(warn func(string)) *csvLog {
	return &csvLog{warn: warn, line: bufio.NewReader(strings.NewReader(""))}
}

func (c *csvLog) parse(line string) (*Entry, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	values, err := c.values(line)
	if c.columns == nil {
		if err == nil {
			c.columns, err = c.header(values)
		}
		c.bad = err
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return c.record(values)
}

func (c *csvLog) record(values []string) (*Entry, error) {
	if len(values) != len(c.columns) {
		return nil, fmt.Errorf("%d values under %d columns", len(values), len(c.columns))
	}
	var f fields
	for i, value := range values {
		if put := c.columns[i]; put != nil {
			if err := put(&f, value); err != nil {
				return nil, err
			}
		}
	}
	return f.entry()
}

// values takes a line apart. csv.NewReader makes no buffer of its own over a bufio.Reader.
func (c *csvLog) values(line string) ([]string, error) {
	c.line.Reset(strings.NewReader(line))
	r := csv.NewReader(c.line)
	values, err := r.Read()
	if err != nil {
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, fmt.Errorf("line is no CSV: %w", err)
	}
	return values, nil
}

func (c *csvLog) header(names []string) ([]column, error) {
	columns := make([]column, len(names))
	var unused []string
	for i, name := range names {
		name = strings.TrimSpace(name)
		if slices.Contains(names[:i], name) && !strings.HasPrefix(name, "header.") {
			return nil, fmt.Errorf("header line names %s twice", shown(name))
		}
		var known bool
		if columns[i], known = columnOf(name); !known {
			unused = append(unused, name)
		}
		names[i] = name
	}
	if !slices.Contains(names, "time") {
		return nil, errors.New("header line names no column time")
	}
	if len(unused) > 0 {
		c.warn("columns not used: " + strings.Join(unused, ", "))
	}
	return columns, nil
}

func columnOf(name string) (put column, known bool) {
	text := map[string]func(*fields) *string{
		"method": func(f *fields) *string { return &f.method },
		"path":   func(f *fields) *string { return &f.target },
		"ip":     func(f *fields) *string { return &f.ip },
		"route":  func(f *fields) *string { return &f.route },
		"apikey": func(f *fields) *string { return &f.apiKey },
	}
	if field := text[name]; field != nil {
		return func(f *fields, v string) error { *field(f) = v; return nil }, true
	}
	if name == "time" {
		return func(f *fields, v string) (err error) { f.time, err = parseTime(v); return err }, true
	}
	if header, ok := strings.CutPrefix(name, "header."); ok && isToken(header) {
		return func(f *fields, v string) error { f.addHeader(header, v); return nil }, true
	}
	// A claim that begins with a slash points into other claims, which CSV lacks.
	if claim, ok := strings.CutPrefix(name, "jwt."); ok && claim != "" && claim[0] != '/' {
		return func(f *fields, v string) error { f.addClaim(claim, v); return nil }, true
	}
	return nil, false
}
