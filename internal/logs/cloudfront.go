package logs

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
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
	fields: []field{
		{[]string{"c-ip"}, setIP},
		{[]string{"cs-method"}, setMethod},
		{[]string{"cs-uri-stem"}, decoded(setTarget)},
		{[]string{"sc-status"}, setStatus},
		{[]string{"cs-host", "x-host-header"}, decoded(setHeader("host"))}, // the latter is the distribution's in real-time logs
		{[]string{"cs(User-Agent)", "cs-user-agent"}, decoded(setHeader("user-agent"))},
		{[]string{"cs(Referer)", "cs-referer"}, decoded(setHeader("referer"))},
		{[]string{"cs(Cookie)", "cs-cookie"}, decoded(setHeader("cookie"))},
		{[]string{"cs-accept"}, decoded(setHeader("accept"))},
	},
	finish: func(l namedFields, r *record) error {
		query := first(l, "cs-uri-query")
		if query != "" && r.Target != "" && !strings.Contains(r.Target, "?") { // real-time logs repeat the query
			r.Target += "?" + decodeOnce(query)
		}
		return nil
	},
}

func decoded(set func(*record, string)) func(*record, string) {
	return func(r *record, value string) { set(r, decodeOnce(value)) }
}

// decodeOnce leaves text that is not percent-encoded as it is.
func decodeOnce(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// cloudFrontLog reads lines in the W3C extended format, in which a line #Fields
// names the fields of those below it, or in JSON.
type cloudFrontLog struct{ line w3cLine }

func (c *cloudFrontLog) parse(line string, r *record) (bool, error) {
	switch line[0] {
	case '{':
		return jsonTable{table: &cloudFront}.parse(line, r)
	case '#':
		if names, ok := strings.CutPrefix(line, "#Fields:"); ok {
			c.line.fields = strings.Fields(names)
		}
		return false, nil
	}
	if c.line.fields == nil {
		return false, errNoFieldsLine
	}
	if c.line.values = strings.Split(line, "\t"); len(c.line.values) == 1 { // the delimiter of v2 is a setting
		c.line.values = strings.Fields(line)
	}
	if len(c.line.values) != len(c.line.fields) {
		return false, fmt.Errorf("%d values under %d names in #Fields", len(c.line.values), len(c.line.fields))
	}
	if err := cloudFront.read(&c.line, r); err != nil {
		return false, err
	}
	return true, nil
}

// w3cLine has as many fields as values.
type w3cLine struct{ fields, values []string }

func (l *w3cLine) value(name string) string {
	if i := slices.Index(l.fields, name); i >= 0 {
		return l.values[i]
	}
	return ""
}

func (l *w3cLine) names() []string { return slices.Clone(l.fields) }
