package logs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// csvTable has the columns that rules see: the fields of JSON Lines, and headers
// and claims. The value of a claim is text, and its name is exact.
var csvTable = table{
	times: jsonLines.times, path: jsonLines.path, fields: jsonLines.fields,
	finish: func(l namedFields, r *record) error {
		columns := l.(*row)
		for i, name := range columns.fields { // a header may have several
			value := columns.values[i]
			if value == absent || value == "" {
				continue
			}
			if header, ok := headerColumn(name); ok {
				r.addHeader(header, value)
			}
			if claim, ok := claimColumn(name); ok {
				if r.Claims == nil {
					r.Claims = claims{}
				}
				r.Claims[claim] = value
			}
		}
		return nil
	},
}

func headerColumn(name string) (header string, ok bool) {
	header, ok = strings.CutPrefix(name, "header.")
	return header, ok && request.IsToken(header)
}

// claimColumn refuses a name that begins with a slash, which would select a claim
// inside another one.
func claimColumn(name string) (claim string, ok bool) {
	claim, ok = strings.CutPrefix(name, "jwt.")
	return claim, ok && claim != "" && claim[0] != '/'
}

// csvLog reads comma-separated values after a header line that names the columns
// in any order. A record is one line: no value contains a line break.
type csvLog struct {
	warn  func(string)
	names []string // nil before the header line
	bad   error    // why the header line was refused; no other line can be read then
}

// parse parses one line. The header line holds no request.
func (c *csvLog) parse(line string, r *record) (bool, error) {
	if c.bad != nil {
		return false, c.bad
	}
	values, err := csv.NewReader(strings.NewReader(line)).Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		err = fmt.Errorf("line is not CSV: %w", parse.Err)
	}
	switch {
	case c.names == nil && err == nil:
		c.bad = c.setNames(values)
		return false, c.bad
	case c.names == nil:
		c.bad = err
	case err == nil && len(values) != len(c.names):
		err = fmt.Errorf("%d values under %d columns", len(values), len(c.names))
	}
	if err != nil {
		return false, err
	}
	return csvTable.read(&row{c.names, values}, r)
}

func (c *csvLog) setNames(names []string) error {
	var unused []string
	for i, name := range names {
		name = strings.TrimSpace(name)
		_, isHeader := headerColumn(name)
		_, isClaim := claimColumn(name)
		if slices.Contains(names[:i], name) && !isHeader {
			return fmt.Errorf("header line names %s twice", quote(name))
		}
		if !isHeader && !isClaim && name != "time" && name != "path" && !slices.ContainsFunc(csvTable.fields, func(f field) bool { return f.names[0] == name }) {
			unused = append(unused, name)
		}
		names[i] = name
	}
	if !slices.Contains(names, "time") {
		return errors.New("header line names no column time")
	}
	if len(unused) > 0 {
		c.warn("columns not used: " + strings.Join(unused, ", "))
	}
	c.names = names
	return nil
}
