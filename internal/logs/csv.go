package logs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// csvLog reads comma-separated values after a header line that names the
// columns: time, method, path, ip, status, route, apikey, header.NAME and jwt.NAME, in
// any order. They mean the same as in JSON Lines. Only time is required, and an
// empty value is a missing one. NAME is the exact name of a claim, whose value
// is text. A record is one line: no value contains a line break.
type csvLog struct {
	warn    func(string)
	columns []column // nil before the header line
	bad     error    // why the header line was refused; no other line can be read then
}

// column sets a field to a value.
type column func(r *record, value string) error

// parse finds no request in the header line.
func (c *csvLog) parse(line string, r *record) (bool, error) {
	if c.bad != nil {
		return false, c.bad
	}
	values, err := splitCSV(line)
	if c.columns == nil {
		if err == nil {
			err = c.setColumns(values)
		}
		c.bad = err
		return false, err
	}
	if err != nil {
		return false, err
	}
	if len(values) != len(c.columns) {
		return false, fmt.Errorf("%d values under %d columns", len(values), len(c.columns))
	}
	for i, value := range values {
		if err := c.columns[i](r, value); err != nil {
			return false, err
		}
	}
	return true, r.check()
}

// splitCSV returns the values of a line.
func splitCSV(line string) ([]string, error) {
	values, err := csv.NewReader(strings.NewReader(line)).Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		err = parse.Err
	}
	if err != nil {
		return nil, fmt.Errorf("line is no CSV: %w", err)
	}
	return values, nil
}

func (c *csvLog) setColumns(names []string) error {
	var unused []string
	for i, name := range names {
		name = strings.TrimSpace(name)
		if slices.Contains(names[:i], name) && !strings.HasPrefix(name, "header.") {
			return fmt.Errorf("header line names %s twice", quote(name))
		}
		names[i] = name
		set := columnOf(name)
		if set == nil {
			unused = append(unused, name)
			set = func(*record, string) error { return nil }
		}
		c.columns = append(c.columns, set)
	}
	if !slices.Contains(names, "time") {
		return errors.New("header line names no column time")
	}
	if len(unused) > 0 {
		c.warn("columns not used: " + strings.Join(unused, ", "))
	}
	return nil
}

var columns = map[string]column{
	"time":   func(r *record, v string) (err error) { r.time, err = parseTime(v); return err },
	"method": func(r *record, v string) error { r.Method = v; return nil },
	"path":   func(r *record, v string) error { r.Target = v; return nil },
	"ip":     func(r *record, v string) error { r.IP = v; return nil },
	"route":  func(r *record, v string) error { r.Route = v; return nil },
	"status": func(r *record, v string) error { r.Status = statusOf(v); return nil },
	"apikey": func(r *record, v string) error { r.APIKey = v; return nil },
}

// columnOf returns nil for an unknown column.
func columnOf(name string) column {
	if header, ok := strings.CutPrefix(name, "header."); ok && request.IsToken(header) {
		return func(r *record, v string) error { r.addHeader(header, v); return nil }
	}
	// A name that begins with a slash would select a claim inside another one.
	if claim, ok := strings.CutPrefix(name, "jwt."); ok && claim != "" && claim[0] != '/' {
		return func(r *record, v string) error { r.addClaim(claim, v); return nil }
	}
	return columns[name]
}

// addClaim adds a claim of the request's token unless it is empty.
func (r *record) addClaim(name, value string) {
	if value == "" {
		return
	}
	if r.Claims == nil {
		r.Claims = claims{}
	}
	r.Claims[name] = value
}
