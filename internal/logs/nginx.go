package logs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var errTemplateTime = errors.New("the log_format has no time: want $time_local, $time_iso8601 or $msec")

// Template is a log_format of NGINX, as "Module ngx_http_log_module" defines it.
type Template struct {
	names  []string
	line   *regexp.Regexp
	starts []*regexp.Regexp // of the line up to each variable and what follows it
}

var (
	directive = regexp.MustCompile(`^log_format\s+\S+\s+`)
	escaping  = regexp.MustCompile(`^escape=\w+\s+`)
	pieces    = regexp.MustCompile(`^(?s:'(?:[^'\\]|\\.)*'\s*|"(?:[^"\\]|\\.)*"\s*)+$`)
	piece     = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	variable  = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)
)

// ParseTemplate reads a log_format as nginx.conf has it: a directive, its quoted
// strings, or their text alone.
func ParseTemplate(text string) (*Template, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	text = escaping.ReplaceAllString(directive.ReplaceAllString(text, ""), "")
	if pieces.MatchString(text) {
		all := piece.FindAllString(text, -1)
		for i, quoted := range all {
			all[i] = strings.ReplaceAll(quoted[1:len(quoted)-1], `\`+quoted[:1], quoted[:1])
		}
		text = strings.Join(all, "")
	}
	t := &Template{}
	if err := t.compile(text); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.names, func(name string) bool { return name == "time_local" || name == "time_iso8601" || name == "msec" }) {
		return nil, errTemplateTime
	}
	return t, nil
}

// compile makes an expression with a group for each variable. A value ends
// where the text after its variable begins.
func (t *Template) compile(text string) (err error) {
	at := variable.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return errTemplateTime
	}
	pattern := `(?s)^` + regexp.QuoteMeta(text[:at[0][0]])
	for i, place := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, after := variable.ReplaceAllString(text[place[0]:place[1]], "$1$2"), text[place[1]:end]
		pattern += valuePattern(name, after) + regexp.QuoteMeta(after)
		start, err := regexp.Compile(pattern)
		if err != nil { // too many variables
			return fmt.Errorf("log_format: %w", err)
		}
		t.names, t.starts = append(t.names, name), append(t.starts, start)
	}
	t.line, err = regexp.Compile(pattern + "$")
	return err
}

func valuePattern(name, after string) string {
	switch {
	case name == "is_args":
		return `(\??)`
	case name == "status":
		return `(\d{3}|-)`
	case name == "request_uri":
		return `([^\s"]*)`
	case name == "host":
		return `([^\s/"]*)`
	case strings.HasSuffix(name, "uri") && after == "": // $uri$is_args$args
		return `([^\s?"]*)`
	case strings.HasPrefix(after, `"`):
		return `((?:[^"\\]|\\.)*)`
	}
	return `(.*?)`
}

// parser returns a parser for one log.
func (t *Template) parser() parser {
	return func(line string, r *record) (bool, error) {
		values := t.line.FindStringSubmatch(line)
		if values == nil {
			return false, t.misfit(line)
		}
		var l nginxLine
		for i, name := range t.names {
			if value := unescape(values[i+1]); value != "" && value != absent {
				if err := l.set(r, name, value); err != nil {
					return false, err
				}
			}
		}
		if err := l.finish(r); err != nil {
			return false, err
		}
		return true, r.check()
	}
}

// misfit says where a line does not fit.
func (t *Template) misfit(line string) error {
	for i, start := range t.starts {
		if !start.MatchString(line) {
			return fmt.Errorf("the line does not fit the log_format from $%s on", t.names[i])
		}
	}
	return fmt.Errorf("the line goes on after $%s, the end of the log_format", t.names[len(t.names)-1])
}

// nginxLine is what several variables say together.
type nginxLine struct {
	uri, args, host string
	timed           int // how precise the time is
}

// set takes the value of a variable. Others than these mean nothing to rules.
func (l *nginxLine) set(r *record, name, value string) (err error) {
	switch name {
	case "remote_addr":
		r.IP = value
	case "request":
		return r.setRequestLine(value)
	case "request_method":
		r.Method = value
	case "request_uri":
		r.Target = value
	case "uri", "document_uri":
		l.uri = value
	case "args", "query_string":
		l.args = value
	case "status":
		r.Status = statusOf(value)
	case "host":
		l.host = value
	case "time_local", "time_iso8601", "msec":
		return l.setTime(r, name, value)
	default:
		if header, ok := strings.CutPrefix(name, "http_"); ok {
			r.addHeader(strings.ReplaceAll(header, "_", "-"), value)
		}
	}
	return nil
}

// setTime prefers $msec, which has milliseconds.
func (l *nginxLine) setTime(r *record, name, value string) error {
	rank, read := 1, parseTime
	switch name {
	case "msec":
		rank = 2
	case "time_local":
		read = parseCLFTime
	}
	if rank <= l.timed {
		return nil
	}
	t, err := read(value)
	if err != nil {
		return fmt.Errorf("$%s: %w", name, err)
	}
	r.time, l.timed = t, rank
	return nil
}

// finish makes a target of $uri, which NGINX has decoded, only if there is no
// better one.
func (l *nginxLine) finish(r *record) error {
	if l.timed == 0 {
		return errNoTime
	}
	if r.Target == "" && l.uri != "" {
		if r.Target = l.uri; l.args != "" {
			r.Target += "?" + l.args
		}
	}
	if r.Method == "" && r.Target == "" {
		return errNoRequest
	}
	if !slices.ContainsFunc(r.headers, func(h header) bool { return h.name == "host" }) {
		r.addHeader("host", l.host)
	}
	return nil
}
