package logs

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// Entry is a recorded request and its time.
type Entry struct {
	Time    time.Time // limit.InRange
	Request *request.Request
	Status  int        // of the answer; 0 if the log does not have it
	Later   netip.Addr // that a common log has behind the user agent
}

// LineError says why a line could not be read.
type LineError struct {
	Log  string
	Line int64 // from 1
	Err  error
}

// Error returns "log:line: reason".
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Log, e.Line, e.Err) }

// absent is how logs write a value that a request did not have.
const absent = "-"

// record has the fields of a line as text.
type record struct {
	time    time.Time
	addr    netip.Addr // of IP; the zero Addr if it is unknown
	headers []header
	later   netip.Addr // that a common log has behind the user agent
	bytes   int        // that it takes, about

	Method string // empty if the log does not have it
	Target string // as sent, with the query; empty until a path is found
	IP     string // of the client; empty or "-" if unknown
	Route  string // the gateway's template, such as "/users/{id}"
	APIKey string // the id of a verified key, never the key itself
	Status status // of the answer; 0 if unknown

	Claims     claims            // of a verified token; nil for none
	Stage      string            // of the gateway
	PathParams map[string]string // by the names of the route, decoded
}

// header is one value of a header.
type header struct{ name, value string }

// status is the status of an answer, 100 to 599; 0 if it is unknown.
type status int16

// statusOf reads a status. It is unknown if the text is none: servers write "-" or
// 000 for a client that has hung up.
func statusOf(text string) status {
	if n, err := strconv.Atoi(text); err == nil && n >= 100 && n < 600 && len(text) == 3 {
		return status(n)
	}
	return 0
}

// addHeader adds a header's value unless it is empty.
func (r *record) addHeader(name, value string) {
	if value != "" {
		r.headers = append(r.headers, header{name, value})
	}
}

// check checks what all formats have in common.
func (r *record) check() error {
	r.time = r.time.UTC()
	unknown := r.IP == "" || r.IP == absent || strings.HasPrefix(r.IP, "unix:") || r.IP == "@" // NGINX and Go, of a Unix socket
	if r.addr = request.ParseAddr(r.IP); !r.addr.IsValid() && !unknown {
		return fmt.Errorf("client %s is not an IP address", quote(r.IP))
	}
	if r.Method != "" && !request.IsMethod(r.Method) {
		return fmt.Errorf("%s is not an HTTP method", quote(r.Method))
	}
	if r.splitURL(); r.Target != "*" && !strings.HasPrefix(r.Target, "/") {
		return fmt.Errorf("%s is not the path of a request, such as /items?page=2", quote(r.Target))
	}
	r.Target = belowStage(r.Target, r.Stage, r.Route)
	return nil
}

// entry makes an entry from a record that was checked.
func (r *record) entry() *Entry {
	var headers map[string][]string
	if len(r.headers) > 0 {
		headers = map[string][]string{}
	}
	for _, h := range r.headers {
		headers[h.name] = append(headers[h.name], h.value)
	}
	req := &request.Request{
		Method: r.Method, Route: r.Route, Stage: r.Stage, IP: r.addr, Headers: headers,
		PathParams: r.PathParams, APIKey: r.APIKey, Claims: r.Claims,
	}
	req.SetTarget(r.Target)
	req.Derived() // once for all rules that the request goes through
	return &Entry{r.time, req, int(r.Status), r.later}
}

// clfTime is the time of the common log format.
const clfTime = "02/Jan/2006:15:04:05 -0700"

var (
	errNoPath = errors.New("no path")
	errNoTime = errors.New("no time")
	errRange  = errors.New("time is not in one of the years 1930 to 2199; Unix time is in seconds")
)

// checkTime checks that a time is within the years that limits can count in.
func checkTime(t time.Time) error {
	if !limit.InRange(t) {
		return errRange
	}
	return nil
}

// parseCLFTime reads a time of the common log format.
func parseCLFTime(text string) (time.Time, error) {
	t, err := time.Parse(clfTime, text)
	if err != nil {
		return t, fmt.Errorf("time %s is not like %s", quote(text), clfTime)
	}
	return t, checkTime(t)
}

// unixTime matches decimal seconds. Its group ends after nine decimals: digits
// below a nanosecond are cut.
var unixTime = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]{0,9})?)[0-9]*$`)

// parseTime reads an RFC 3339 time, also without the colon in its zone, or Unix
// seconds, either with any fraction, or the time of a common log, which is API
// Gateway's $context.requestTime.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, errNoTime
	}
	if strings.Contains(text, ":") {
		for _, layout := range [...]string{time.RFC3339, clfTime, "2006-01-02T15:04:05Z0700"} { // the last is Caddy's iso8601
			if t, err := time.Parse(layout, text); err == nil {
				return t, checkTime(t)
			}
		}
		return time.Time{}, fmt.Errorf("time %s is neither RFC 3339, such as 2015-05-17T10:05:03Z, nor Unix seconds", quote(text))
	}
	seconds := unixTime.FindStringSubmatch(text)
	if seconds == nil {
		return time.Time{}, fmt.Errorf("time %s is neither plain Unix seconds, such as 1431857103.25, nor RFC 3339", quote(text))
	}
	sinceEpoch, err := time.ParseDuration(seconds[1] + "s")
	if err != nil { // more nanoseconds than 64 bits hold
		return time.Time{}, errRange
	}
	t := time.Unix(0, int64(sinceEpoch))
	return t, checkTime(t)
}

// quote quotes text for a message, and cuts long text.
func quote(text string) string {
	const longest = 60
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "…"
	}
	return strconv.Quote(text)
}
