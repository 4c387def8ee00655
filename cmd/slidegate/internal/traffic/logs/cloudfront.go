package logs

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

var errNoFieldsLine = errors.New("tab-separated values without a line #Fields that names them: CloudFront's real-time logs have none; have them delivered as JSON, or add the line")

// cloudFront has the fields that the "Standard logging reference" and "Use
// real-time access logs" of the CloudFront guide define. Values are
// percent-encoded once more than the viewer sent them. The time is that at which
// CloudFront finished its answer.
//
// The client is the viewer as CloudFront saw it. X-Forwarded-For is left out: it
// is what the viewer sent, without the entry that CloudFront adds, so a rule's
// client_ip would count back to an address that viewers can forge.
var cloudFront = table{
	marks: []string{"c-ip", "cs-method", "cs-uri-stem"},
	times: []timeField{
		{"timestamp(ms)", milliseconds},
		{"timestamp", anyTime},
		{"date", func(l namedFields, date string) (time.Time, error) {
			return parseTime(date + "T" + l.value("time") + "Z")
		}},
	},
	path: []string{"cs-uri-stem", "cs-uri"},
	fields: []field{
		{[]string{"c-ip"}, setIP},
		{[]string{"cs-method"}, setMethod},
		{[]string{"sc-status"}, setStatus},
		{[]string{"cs-host", "x-host-header"}, decoded(setHeader("host"))}, // the latter is the distribution's in real-time logs
		{[]string{"cs(User-Agent)", "cs-user-agent"}, decoded(setHeader("user-agent"))},
		{[]string{"cs(Referer)", "cs-referer"}, decoded(setHeader("referer"))},
		{[]string{"cs(Cookie)", "cs-cookie"}, decoded(setHeader("cookie"))},
		{[]string{"cs-accept"}, decoded(setHeader("accept"))},
		{[]string{"X-Forwarded-For", "cs(X-Forwarded-For)"}, func(r *record, value string) error {
			return setHeader("x-forwarded-for")(r, strings.ReplaceAll(value, "+", " ")) // IIS, of the proxy before it
		}},
	},
	finish: func(l namedFields, r *record) error {
		r.Target = decodeOnce(r.Target)
		query := first(l, "cs-uri-query")
		if query != "" && r.Target != "" && !strings.Contains(r.Target, "?") { // real-time logs repeat the query
			r.Target += "?" + decodeOnce(query)
		}
		return nil
	},
}

func decoded(set func(*record, string) error) func(*record, string) error {
	return func(r *record, value string) error { return set(r, decodeOnce(strings.Trim(value, `"`))) }
}

// decodeOnce leaves text that is not percent-encoded as it is.
func decodeOnce(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// quotedValue matches a value of a line with spaces. Tomcat puts headers in quotes.
var quotedValue = regexp.MustCompile(`"[^"]*"|\S+`)

// cloudFrontLog reads lines in the W3C extended format, in which a line #Fields
// names the fields of those below it, or in JSON.
type cloudFrontLog struct{ names []string }

func (c *cloudFrontLog) parse(line string, r *record) (bool, error) {
	if line[0] == '{' {
		return cloudFront.parseJSON(line, r)
	}
	if line[0] == '#' {
		if names, ok := strings.CutPrefix(line, "#Fields:"); ok {
			c.names = strings.Fields(names)
		}
		return false, nil
	}
	var values []string
	if strings.Contains(line, "\t") { // only tabs separate values then, which may be empty and have spaces
		values = strings.Split(line, "\t")
	} else if values = strings.Fields(line); len(values) != len(c.names) {
		if quoted := quotedValue.FindAllString(line, -1); len(quoted) == len(c.names) {
			values = quoted
		}
	}
	switch {
	case c.names == nil:
		return false, errNoFieldsLine
	case len(values) != len(c.names):
		return false, fmt.Errorf("%d values under %d names in #Fields", len(values), len(c.names))
	}
	return cloudFront.read(&row{c.names, values}, r)
}
