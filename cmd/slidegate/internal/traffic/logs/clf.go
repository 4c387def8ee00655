package logs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

var (
	errNoClient  = errors.New("no client address: not the common or combined log format")
	errHostFirst = errors.New("a host, or another address, stands before the client: give --log-format '$host:$server_port $remote_addr …', which docs/logs.md has in full")
	errNoStamp   = errors.New("no [time] and \"request\" after the client")
	errNoRequest = errors.New("no request was sent")
	errNoStatus  = errors.New("no status and size after the request")
	errQuote     = errors.New("a quoted field is never closed")
)

// parseCLF reads lines in the Common Log Format or the combined one, as "Log
// Files" in Apache's documentation and NGINX's ngx_http_log_module define them:
//
//	203.0.113.9 - frank [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "referer" "user agent"
//
// It ignores what follows the user agent, and accepts a line that is cut off
// inside the referer or the user agent. It accepts a request without a protocol
// (HTTP/0.9). A line whose request is "-", or lacks a method or a target, is an
// error: a gateway would not have called the limiter either.
func parseCLF(line string, r *record) (bool, error) {
	var ok bool
	if r.IP, line, ok = strings.Cut(line, " "); !ok {
		return false, errNoClient
	}
	for strings.HasSuffix(r.IP, ",") { // Traefik, behind a proxy that it trusts
		r.IP, line, _ = strings.Cut(line, " ")
	}
	user, after, ok := strings.Cut(line, `] "`)
	if !ok {
		user, after, ok = strings.Cut(line, `]"`) // AWS documents this for API Gateway
	}
	line = after
	opened := strings.LastIndexByte(user, '[') // a user's name may contain one, a time does not
	if !ok || opened < 0 {
		return false, errNoStamp
	}
	// The identity, nearly always absent, and the user follow the client.
	second, rest, _ := strings.Cut(user[:opened], " ")
	if third, rest, _ := strings.Cut(rest, " "); third == absent && strings.TrimSpace(rest) != "" || request.ParseAddr(strings.TrimSuffix(second, ",")).IsValid() {
		if r.IP == absent || host.MatchString(r.IP) || request.ParseAddr(r.IP).IsValid() {
			return false, errHostFirst
		}
		return false, cmp.Or(wordsBefore(user[:opened], 1), errHostFirst)
	}
	var err error
	if r.time, err = parseCLFTime(user[opened+1:]); err != nil {
		return false, err
	}
	quoted := line
	requestLine, line, closed := cutQuoted(quoted)
	if !closed {
		return false, errQuote
	}
	if err = r.setOutcome(line); err != nil {
		if at := bareEnd.FindStringIndex(quoted); at != nil {
			requestLine, err = quoted[:at[0]], r.setOutcome(quoted[at[0]+1:])
		}
	}
	if err := cmp.Or(r.setRequestLine(requestLine), err); err != nil {
		return false, err
	}
	if err = r.check(); err != nil && !r.addr.IsValid() {
		err = cmp.Or(wordsBefore(r.IP+" "+user[:opened], 0), err)
	}
	return true, err
}

// bareEnd matches the end of a request whose quotes are not escaped: Traefik,
// Tomcat and NGINX with escape=none write them as they came.
var bareEnd = regexp.MustCompile(`" (\d{3}|0|-) (\d+|-)( |$)`)

// host matches the name of a host, with a port or without. Times have no letter
// behind their last dot.
var host = regexp.MustCompile(`^[\w.*-]*[A-Za-z][\w-]*(:\d+)?$`)

// withPort matches an address with a port: of a server that was asked, not of a
// client.
var withPort = regexp.MustCompile(`^(\d+(\.\d+){3}|\[.*\]):\d+$`)

// wordsBefore says how to cut what container runtimes and syslog put before the
// client: some words, and those before the first address in a text.
func wordsBefore(text string, words int) error {
	for i, word := range strings.Fields(text) {
		if n := words + i; n > 0 && request.ParseAddr(word).IsValid() {
			return fmt.Errorf("the client %s is word %d of the line: cut what is before it by sed -E 's/^([^[:space:]]+[[:space:]]+){%d}//'", word, n+1, n)
		}
	}
	return nil
}

// setRequestLine reads "GET /path HTTP/1.1". A target may contain spaces: NGINX
// logs it as it came.
func (r *record) setRequestLine(text string) error {
	if text == "- $connect -" { // API Gateway, of a WebSocket API
		r.Route = routeConnect
		r.routeForPath()
		return nil
	}
	if text == absent || text == "" || strings.HasPrefix(text, "- ") {
		return errNoRequest
	}
	r.Method, r.Target, _ = strings.Cut(text, " ")
	if i := strings.LastIndex(r.Target, " HTTP/"); i >= 0 {
		r.Target = r.Target[:i]
	}
	if r.Target != "" && r.Target[0] != '/' { // API Gateway logs the route of an HTTP API: GET GET /items
		if method, path, ok := strings.Cut(r.Target, " "); ok && strings.HasPrefix(path, "/") && request.IsToken(method) {
			r.Target = path
		}
	}
	if r.Target == "" || !request.IsToken(r.Method) {
		return fmt.Errorf("%s is not a request line such as \"GET / HTTP/1.1\"", quote(text))
	}
	return nil
}

// setOutcome reads what follows the request: status, size and, in the combined
// format, two headers.
func (r *record) setOutcome(rest string) error {
	status, rest, ok := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	size, rest, _ := strings.Cut(rest, " ")
	if !ok || status != absent && status != "0" && (len(status) != 3 || !isDecimal(status)) || size != absent && !isDecimal(size) {
		return errNoStatus
	}
	r.Status = statusOf(status)
	for _, name := range [...]string{"referer", "user-agent"} {
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
	for later := ""; rest != "" && !r.later.IsValid(); {
		if later, rest, _ = cutField(rest); !withPort.MatchString(later) {
			r.later = request.ParseAddr(request.LastOf(later))
		}
	}
	return nil
}

func isDecimal(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// cutQuoted cuts text behind an opening quote at the closing one, and unescapes
// what is before it. Without a closing quote, that is all of the text.
func cutQuoted(text string) (value, rest string, closed bool) {
	if value, rest, closed = strings.Cut(text, `"`); strings.IndexByte(value, '\\') < 0 {
		return value, rest, closed
	}
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

var escape = regexp.MustCompile(`\\(x[0-9a-fA-F]{2}|u00[0-9a-fA-F]{2}|["\\nrtbvfa])`)

// unescape undoes what servers do to a logged field: \" and \\, \xHH, \u00HH and
// the letters of C. Any other backslash stands for itself.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escape.ReplaceAllStringFunc(s, func(escaped string) string {
		character, _ := strconv.Unquote(`"` + escaped + `"`) // one character
		return character
	})
}
