package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

var errMessage = errors.New("a message of Caddy, not a request")

// caddy has the fields of access logs in Caddy's JSON, as "How Logging Works" of
// Caddy's documentation shows them. The client is the address that Caddy has
// found by its trusted_proxies; then X-Forwarded-For is left out, because a
// rule's client_ip would count back from it once more.
var caddy = table{
	shared: []string{"request.uri", "request.remote_ip", "request.remote_addr"},
	times: []timeField{{"ts", func(_ namedFields, value string) (time.Time, error) {
		t, err := parseTime(value)
		if err != nil {
			err = fmt.Errorf("%w; leave Caddy's time_format out, or set rfc3339 or iso8601", err)
		}
		return t, err
	}}},
	path: []string{"request.uri"},
	fields: []field{
		{[]string{"request.client_ip", "request.remote_ip", "request.remote_addr"}, setIP},
		{[]string{"request.method"}, setMethod},
		{[]string{"status"}, setStatus},
		{[]string{"request.host"}, setHeader("host")},
	},
	finish: func(l namedFields, r *record) error {
		switch l.value("msg") {
		case "", "handled request", "NOP": // the latter if no route has handled it
		default: // errors repeat the request
			return errMessage
		}
		r.setCaddyHeaders(l.value("request.headers"))
		if peer := first(l, "request.remote_ip"); peer != "" && !sameAddress(peer, r.IP) {
			r.removeHeader("x-forwarded-for")
		}
		return nil
	},
}

// setCaddyHeaders leaves out values that Caddy has redacted.
func (r *record) setCaddyHeaders(value string) {
	var headers map[string][]string
	_ = json.Unmarshal([]byte(value), &headers) // none in another form
	for name, values := range headers {
		for _, value := range values {
			if value != redacted {
				r.addHeader(name, value)
			}
		}
	}
}

// redacted is what Caddy and Traefik log in place of a secret header.
const redacted = "REDACTED"
