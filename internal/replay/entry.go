package replay

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// absent is how logs write what a request did not have.
const absent = "-"

// Entry is a recorded request and its moment.
type Entry struct {
	Time    time.Time // between 1678 and 2262, where Unix nanoseconds fit 64 bits
	Request *request.Request
}

// LineError says why a line could not be read.
type LineError struct {
	Log  string
	Line int64 // from 1
	Err  error
}

// Error returns "log:line: reason".
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Log, e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// fields are what a line says of a request, still as text.
type fields struct {
	time    time.Time
	method  string // empty for GET
	target  string // path and query; empty for /
	ip      string // empty or "-" where it is not known
	route   string
	headers map[string][]string
	apiKey  string         // the id of a verified key; empty for none
	claims  map[string]any // of a verified token; nil for none
}

func (f *fields) entry() (*Entry, error) {
	ip, err := address(f.ip)
	if err != nil {
		return nil, err
	}
	if f.method == "" {
		f.method = "GET"
	}
	if !isToken(f.method) {
		return nil, fmt.Errorf("%s is no HTTP method", shown(f.method))
	}
	path, query := split(f.target)
	return &Entry{f.time, &request.Request{
		Method: f.method, Path: path, Route: f.route, IP: ip, Headers: f.headers, Query: query, APIKey: f.apiKey, Claims: f.claims,
	}}, nil
}

// addHeader adds a header's value unless it is empty.
func (f *fields) addHeader(name, value string) {
	if value == "" {
		return
	}
	if f.headers == nil {
		f.headers = map[string][]string{}
	}
	f.headers[name] = append(f.headers[name], value)
}

// addClaim adds a claim of the request's token unless it is empty.
func (f *fields) addClaim(name, value string) {
	if value == "" {
		return
	}
	if f.claims == nil {
		f.claims = map[string]any{}
	}
	f.claims[name] = value
}

func address(text string) (netip.Addr, error) {
	if text == "" || text == absent {
		return netip.Addr{}, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ip, fmt.Errorf("client %s is no IP address", shown(text))
	}
	return ip, nil
}

// split returns a request target's path, as sent, and its decoded query. A proxy's absolute form loses scheme and host. A
// query parameter that cannot be decoded is as good as missing.
func split(target string) (path string, query map[string][]string) {
	path, raw, _ := strings.Cut(target, "?")
	if scheme, rest, ok := strings.Cut(path, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	if path == "" {
		path = "/"
	}
	if raw != "" {
		query, _ = url.ParseQuery(raw)
	}
	return path, query
}

// isToken reports whether text is a token of RFC 9110, section 5.6.2, as every method is.
func isToken(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}

var (
	errNoTime = errors.New("no time")
	errRange  = errors.New("time is not between the years 1678 and 2262; Unix time is in seconds")

	earliest, latest = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
)

// moment checks that a time is within the years that limits can count in.
func moment(t time.Time) (time.Time, error) {
	if t.Before(earliest) || t.After(latest) {
		return time.Time{}, errRange
	}
	return t, nil
}

// parseTime reads an RFC 3339 time or decimal Unix seconds, either with any fraction; what is below a nanosecond is cut.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, errNoTime
	}
	if !strings.Contains(text, ":") {
		return parseUnix(text)
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %s is neither RFC 3339, such as 2015-05-17T10:05:03Z, nor Unix seconds", shown(text))
	}
	return moment(t)
}

func parseUnix(text string) (time.Time, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if !isDecimal(whole) || fraction != "" && !isDecimal(fraction) {
		return time.Time{}, fmt.Errorf("time %s is neither plain Unix seconds, such as 1431857103.25, nor RFC 3339", shown(text))
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds > math.MaxInt64/int64(time.Second) {
		return time.Time{}, errRange
	}
	nanoseconds, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64) // nine digits
	if negative {
		seconds, nanoseconds = -seconds, -nanoseconds
	}
	return moment(time.Unix(seconds, nanoseconds))
}

func isDecimal(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// shown quotes text for a message, at no great length.
func shown(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}
