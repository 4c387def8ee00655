package replay

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

const clfTime = "02/Jan/2006:15:04:05 -0700"

var (
	errNoClient  = errors.New("no client address: not the common or combined log format")
	errNoStamp   = errors.New("no [time] and \"request\" after the client")
	errNoRequest = errors.New("no request was sent")
	errNoStatus  = errors.New("no status and size after the request")
	errQuote     = errors.New("a quoted field is never closed")
)

// parseCLF reads a line in the Common Log Format or the combined one, as "Log
// Files" in Apache's documentation and NGINX's ngx_http_log_module define them:
//
//	203.0.113.9 - frank [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "referer" "user agent"
//
// It ignores what follows the user agent, and accepts a line that is cut off
// inside the referer or the user agent. It accepts a request without a protocol
// (HTTP/0.9). A line whose request is "-", or lacks a method or a target, is an
// error: a gateway would not have called the limiter either.
func parseCLF(line string) (*Entry, error) {
	var r record
	var ok bool
	if r.IP, line, ok = strings.Cut(line, " "); !ok {
		return nil, errNoClient
	}
	user, after, ok := strings.Cut(line, `] "`)
	if !ok {
		user, after, ok = strings.Cut(line, `]"`) // AWS documents this for API Gateway
	}
	line = after
	opened := strings.LastIndexByte(user, '[') // a user's name may contain one, a time does not
	if !ok || opened < 0 {
		return nil, errNoStamp
	}
	stamp := user[opened+1:]
	var err error
	if r.time, err = time.Parse(clfTime, stamp); err != nil {
		return nil, fmt.Errorf("time %s is not like %s", quote(stamp), clfTime)
	}
	if err := checkTime(r.time); err != nil {
		return nil, err
	}
	requestLine, line, closed := cutQuoted(line)
	if !closed {
		return nil, errQuote
	}
	if err := r.setRequestLine(requestLine); err != nil {
		return nil, err
	}
	if err := r.setOutcome(line); err != nil {
		return nil, err
	}
	return r.entry()
}

// setRequestLine reads "GET /path HTTP/1.1". A target may contain spaces: NGINX
// logs it as it came.
func (r *record) setRequestLine(text string) error {
	if text == absent || text == "" {
		return errNoRequest
	}
	r.Method, r.Target, _ = strings.Cut(text, " ")
	if i := strings.LastIndex(r.Target, " HTTP/"); i >= 0 {
		r.Target = r.Target[:i]
	}
	if r.Target == "" || !request.IsToken(r.Method) {
		return fmt.Errorf("%s is no HTTP request", quote(text))
	}
	return nil
}

// setOutcome reads what follows the request: status, size and, in the combined
// format, two headers.
func (r *record) setOutcome(rest string) error {
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
		value, after, _ := cutQuoted(field) // the line may be cut off here
		if value != absent {
			r.addHeader(name, value)
		}
		rest = strings.TrimPrefix(after, " ")
	}
	return nil
}

func isDecimal(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// cutQuoted cuts text behind an opening quote at the closing one, and unescapes
// what is before it. Without a closing quote, that is all of the text.
func cutQuoted(text string) (value, rest string, closed bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return unescape(text[:i]), text[i+1:], true
		}
	}
	return unescape(text), "", false
}

var escape = regexp.MustCompile(`\\(x[0-9a-fA-F]{2}|["\\nrtbvfa])`)

// unescape undoes what servers do to a logged field: \" and \\, \xHH, and the
// letters of C. Any other backslash stands for itself.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escape.ReplaceAllStringFunc(s, func(escaped string) string {
		character, _ := strconv.Unquote(`"` + escaped + `"`) // one byte
		return character
	})
}
