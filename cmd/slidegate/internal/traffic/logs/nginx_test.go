package logs

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const combined = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`

func TestNGINX(t *testing.T) {
	at := on(10, 5, 3)
	const line = `203.0.113.9 - jo [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 12 "-" "say \x22hi\x22"`
	want := wanted{at: at, method: "GET", path: "/a", query: map[string][]string{"b": {"c"}}, ip: "203.0.113.9", status: 200, headers: map[string][]string{"user-agent": {`say "hi"`}}}
	for _, tc := range []struct {
		name, template, line string
		want                 wanted
		err                  string
	}{
		{name: "combined", template: combined, line: line, want: want},
		{name: "quoted", template: `'` + combined + `'`, line: line, want: want},
		{name: "a directive in several strings", template: "log_format main '$remote_addr - $remote_user [$time_local] '\n    '\"$request\" $status $body_bytes_sent '  \"\\\"$http_referer\\\" \\\"$http_user_agent\\\"\";", line: line, want: want},
		{name: "begins with a quote", template: `"$request" $msec`, line: `"GET /a HTTP/1.1" 1431857103.250`, want: wanted{at: at.Add(time.Second / 4), method: "GET", path: "/a"}},
		{name: "parts of the request", template: `$time_iso8601|$request_method|$scheme://$host$request_uri|$status|$upstream_time`, line: `2015-05-17T12:05:03+02:00|PUT|https://example.com/a?b=c|201|0.003, 0.001`,
			want: wanted{at: at, method: "PUT", path: "/a", query: want.query, headers: map[string][]string{"host": {"example.com"}}, status: 201}},
		{name: "a URL of the header Host", template: `$msec $scheme://$http_host$request_uri`, line: `1431857103 https://example.com/a?b=c`, want: wanted{at: at, path: "/a", query: want.query, headers: map[string][]string{"host": {"example.com"}}}},
		{name: "control characters in JSON", template: `{"t":"$msec","u":"$request_uri","ua":"$http_user_agent"}`, line: `{"t":"1431857103","u":"/","ua":"x\u001fy\fz"}`, want: wanted{at: at, path: "/", headers: map[string][]string{"user-agent": {"x\x1fy\fz"}}}},
		{name: "decoded path", template: `$msec $uri$is_args$args`, line: `1431857103 /a?b=c`, want: wanted{at: at, path: "/a", query: want.query}},
		{name: "path as sent before the decoded one", template: `${msec} $uri $request_uri`, line: `1431857103 /index.html /`, want: wanted{at: at, path: "/"}},
		{name: "the most precise time", template: `$msec [$time_local] $request_uri $time_iso8601`, line: `1431857103.001 [17/May/2015:10:05:04 +0000] / 2015-05-17T12:05:05+02:00`, want: wanted{at: at.Add(time.Millisecond), path: "/"}},
		{name: "JSON", template: `log_format json escape=json '{"t":"$time_iso8601","r":"$request","ua":"$http_user_agent","xff":"$http_x_forwarded_for","ip":"$remote_addr"}';`,
			line: `{"t":"2015-05-17T10:05:03+00:00","r":"GET /a HTTP/1.1","ua":"a\",\"b\\","xff":"","ip":"203.0.113.9"}`, want: wanted{at: at, method: "GET", path: "/a", ip: "203.0.113.9", headers: map[string][]string{"user-agent": {`a","b\`}}}},
		{name: "header Host", template: `$msec $request_uri $host $http_host`, line: `1431857103 / a b`, want: wanted{at: at, path: "/", headers: map[string][]string{"host": {"b"}}}},

		{name: "another format", template: combined, line: `203.0.113.9 17/May/2015:10:05:03 GET`, err: `the line does not fit the log_format from $remote_addr on`},
		{name: "ends early", template: combined, line: `203.0.113.9 - jo [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" -1 12`, err: `the line does not fit the log_format from $status on`},
		{name: "goes on", template: `$msec "$request"`, line: `1431857103 "GET / HTTP/1.1" 200`, err: `text follows $request, the last variable of the log_format`},
		{name: "no request", template: combined, line: strings.Replace(line, "GET /a?b=c HTTP/1.1", "", 1), err: `no path: looked for request, request_uri, uri, document_uri; the line has body_bytes_sent, http_user_agent, remote_addr, remote_user, status, time_local`},
		{name: "no HTTP", template: combined, line: strings.Replace(line, "GET /a?b=c HTTP/1.1", `\x16\x03`, 1), err: `"\x16\x03" is not a request line such as "GET / HTTP/1.1"`},
		{name: "no time", template: `$msec $request_uri`, line: `- /`, err: `no time: looked for msec, time_iso8601, time_local; the line has request_uri`},
		{name: "time of another form", template: `$time_local $request_uri`, line: `1431857103 /`, err: `time_local: time "1431857103" is not like 02/Jan/2006:15:04:05 -0700`},
		{name: "name", template: `$msec $remote_addr $request_uri`, line: `1 localhost:80 /`, err: `client "localhost:80" is not an IP address`},
		{name: "a Unix socket", template: `$msec $remote_addr $request_uri`, line: `1 unix: /`, want: wanted{at: time.Unix(1, 0).UTC(), path: "/"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template, err := ParseTemplate(tc.template)
			if err != nil {
				t.Fatal(err)
			}
			checkCase(t, template.parse, &parserCase{line: tc.line, want: tc.want, err: tc.err})
		})
	}
}

func TestTemplatesRefused(t *testing.T) {
	for _, text := range []string{"", "combined", `$remote_addr "$request" $status`, "log_format main;"} {
		if _, err := ParseTemplate(text); !errors.Is(err, errTemplateTime) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
