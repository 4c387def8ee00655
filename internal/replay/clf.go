package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clf reads the Common Log Format and the combined one, as "Log Files" in Apache's documentation and NGINX's
// ngx_http_log_module define them:
//
//	203.0.113.9 - frank [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "referer" "user agent"
//
// It ignores what follows the user agent, and accepts a line that is cut off
// inside the referer or the user agent. It accepts a request without a protocol
// (HTTP/0.9). A line whose request is "-", or lacks a method or a target, counts
// as no request: a gateway would not have asked the limiter either.
type clf struct{}

const clfTime = "02/Jan/2006:15:04:05 -0700"

var (
	errNoClient  = errors.New("no client address: not the common or combined log format")
	errNoStamp   = errors.New("no [time] and \"request\" after the client")
	errNoRequest = errors.New("no request was sent")
	errNoStatus  = errors.New("no status and size after the request")
	errQuote     = errors.New("a quoted field is never closed")
)

func (clf) parse(line string) (*Entry, error) {
	var f fields
	client, rest, ok := strings.Cut(line, " ")
	if !ok {
		return nil, errNoClient
	}
	f.ip = client
	who, rest, ok := strings.Cut(rest, `] "`)
	opened := strings.LastIndexByte(who, '[') // a user's name may hold one, a time does not
	if !ok || opened < 0 {
		return nil, errNoStamp
	}
	stamp := who[opened+1:]
	t, err := time.Parse(clfTime, stamp)
	if err != nil {
		return nil, fmt.Errorf("time %s is not like %s", shown(stamp), clfTime)
	}
	if f.time, err = moment(t); err != nil {
		return nil, err
	}
	request, rest, err := quoted(rest)
	if err != nil {
		return nil, err
	}
	if f.method, f.target, err = requestLine(request); err != nil {
		return nil, err
	}
	if err := f.outcome(rest); err != nil {
		return nil, err
	}
	return f.entry()
}

// requestLine takes "GET /path HTTP/1.1" apart. A target may hold spaces: NGINX logs it as it came.
func requestLine(text string) (method, target string, err error) {
	if text == absent || text == "" {
		return "", "", errNoRequest
	}
	method, target, _ = strings.Cut(text, " ")
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target = target[:i]
	}
	if target == "" || !isToken(method) {
		return "", "", fmt.Errorf("%s is no HTTP request", shown(text))
	}
	return method, target, nil
}

// outcome reads what follows the request: status, size and, in the combined format, two headers.
func (f *fields) outcome(rest string) error {
	status, rest, ok := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	size, rest, _ := strings.Cut(rest, " ")
	if !ok || len(status) != 3 || !isDecimal(status) || size != absent && !isDecimal(size) {
		return errNoStatus
	}
	for _, name := range []string{"referer", "user-agent"} {
		field, ok := strings.CutPrefix(rest, `"`)
		if !ok {
			break
		}
		value, after, err := quoted(field)
		if err != nil {
			value, after = unescape(field), "" // the line was cut off here: the request it tells of was made all the same
		}
		if value != absent {
			f.addHeader(name, value)
		}
		rest = strings.TrimPrefix(after, " ")
	}
	return nil
}

// quoted reads a field from behind its opening quote to its closing one.
func quoted(s string) (value, rest string, err error) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return unescape(s[:i]), s[i+1:], nil
		}
	}
	return "", "", errQuote
}

// unescape undoes what servers do to a logged field: \" and \\, \xHH, and the letters of C. Any other backslash is one.
func unescape(s string) string {
	before, rest, escaped := strings.Cut(s, `\`)
	if !escaped {
		return s
	}
	var b strings.Builder
	for ; escaped; before, rest, escaped = strings.Cut(rest, `\`) {
		b.WriteString(before)
		c, _, after, err := strconv.UnquoteChar(`\`+rest, '"')
		if err != nil || strings.IndexByte(`"\xnrtbvfa`, rest[0]) < 0 {
			b.WriteByte('\\')
			continue
		}
		b.WriteByte(byte(c)) // each of these stands for one byte
		rest = after
	}
	b.WriteString(before)
	return b.String()
}
