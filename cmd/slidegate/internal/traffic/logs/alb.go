package logs

import (
	"errors"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

var errNoALB = errors.New("no access log of an Application Load Balancer: want type, time, load balancer, client:port and eight fields before the request")

// Places of the fields in a line of an Application Load Balancer.
const (
	albType, albTime, albClient, albStatus = 0, 1, 3, 8
	albRequest, albAgent, albCreated       = 12, 13, 21
)

// parseALB reads "Access log entries" as the user guide "Access logs for your
// Application Load Balancer" defines them:
//
//	https 2018-07-02T22:23:00.186641Z app/name/id 192.0.2.1:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://example.com:443/ HTTP/1.1" "curl/8" …
//
// The time is that at which the request came, field 22; in lines that end
// earlier, that of the answer. The client is the caller of the load balancer.
// The log has no X-Forwarded-For.
func parseALB(line string, r *record) (_ bool, err error) {
	var fields [albCreated + 1]string
	for i := range fields {
		if line == "" {
			break
		}
		if fields[i], line, err = cutField(line); err != nil {
			return false, err
		}
	}
	if fields[albRequest] == "" || !isALBType(fields[albType]) {
		return false, errNoALB
	}
	if r.time, err = parseTime(fields[albCreated]); err != nil {
		if r.time, err = parseTime(fields[albTime]); err != nil {
			return false, err
		}
	}
	r.IP = request.WithoutPort(fields[albClient])
	if err := r.setRequestLine(fields[albRequest]); err != nil {
		return false, err
	}
	r.Status = statusOf(fields[albStatus])
	if agent := fields[albAgent]; agent != absent {
		r.addHeader("user-agent", agent)
	}
	return true, r.check()
}

func isALBType(text string) bool {
	switch text {
	case "http", "https", "h2", "grpcs", "ws", "wss":
		return true
	}
	return false
}

// splitURL makes a header Host of the host of a target that is a URL, and leaves
// the path. That host counts, whatever the header said (RFC 9112, section 3.2.2).
func (r *record) splitURL() {
	scheme, rest, ok := strings.Cut(r.Target, "://")
	if !ok || !request.IsToken(scheme) {
		return
	}
	host, target := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, target = rest[:i], "/"+strings.TrimPrefix(rest[i:], "/")
	}
	usual := ":80"
	if scheme == "https" || scheme == "wss" {
		usual = ":443"
	}
	r.Target = target
	r.removeHeader("host")
	r.addHeader("host", strings.TrimSuffix(host, usual)) // clients leave the usual port out
}

// cutField cuts the next field, which may be quoted, off a line of fields with
// spaces between them.
func cutField(line string) (value, rest string, err error) {
	quoted, ok := strings.CutPrefix(line, `"`)
	if !ok {
		value, rest, _ = strings.Cut(line, " ")
		return value, rest, nil
	}
	value, rest, closed := cutQuoted(quoted)
	if !closed {
		return "", "", errQuote
	}
	return value, strings.TrimPrefix(rest, " "), nil
}
