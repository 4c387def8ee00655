package logs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

// Lines of the formats that the console offers.
func TestAPIGateway(t *testing.T) {
	at := on(10, 5, 3)
	runParser(t, APIGateway, []parserCase{
		{name: "REST, JSON", line: `{ "requestId":"c6af9ac6-7b61", "ip": "203.0.113.9", "caller":"-", "user":"-", "requestTime":"17/May/2015:10:05:03 +0000", "httpMethod":"GET", "resourcePath":"/items/{id}", "status":"200", "protocol":"HTTP/1.1", "responseLength":"12" }`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "/items/{id}", ip: "203.0.113.9", status: 200}},
		{name: "HTTP, JSON", line: `{ "requestId":"JKJaXmPLvHcESHA=", "ip": "203.0.113.9", "requestTime":"17/May/2015:10:05:03 +0000", "httpMethod":"GET","routeKey":"GET /items/{id}", "status":"403","protocol":"HTTP/1.1", "responseLength":"23", "extendedRequestId": "JKJaXmPLvHcESHA=" }`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "GET /items/{id}", ip: "203.0.113.9", status: 403}},
		{
			name: "more variables, stage in the path, milliseconds",
			line: `{"requestTimeEpoch":"1431857103250","requestTime":"17/May/2015:10:05:03 +0000","sourceIp":"2001:db8::1","httpMethod":"PUT","path":"/prod/items/7","stage":"prod","resourcePath":"/items/{id}","apiKeyId":"k1","userAgent":"curl/8","domainName":"api.example.com","status":200}`,
			want: wanted{at: at.Add(time.Second / 4), method: "PUT", path: "/items/7", route: "/items/{id}", stage: "prod", ip: "2001:db8::1", apiKey: "k1",
				headers: map[string][]string{"user-agent": {"curl/8"}, "host": {"api.example.com"}}, status: 200},
		},
		{name: "any route", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","httpMethod":"GET","path":"/a","routeKey":"$default","status":"-"}`,
			want: wanted{at: at, method: "GET", path: "/a", route: "$default", ip: "203.0.113.9"}},
		{name: "WebSocket, JSON", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"CONNECT","routeKey":"$connect","status":"200"}`,
			want: wanted{at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9", status: 200}},
		{name: "WebSocket, a message", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"MESSAGE","routeKey":"$default"}`, err: `no path: looked for path; the line has eventType, ip, requestTime, routeKey`},
		{name: "WebSocket, a message of a route with a slash", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"MESSAGE","routeKey":"chat/send"}`, err: `no path: looked for path; the line has eventType, ip, requestTime, routeKey`},
		{name: "WebSocket, CSV", line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,CONNECT,$connect,200,c6af9ac6-7b61`,
			want: wanted{at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9", status: 200}},
		{name: "WebSocket, CSV, a message", line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,MESSAGE,$default,200,c6af9ac6-7b61`, err: errNoRequest.Error()},
		{name: "REST, CSV", line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,GET,/items/{id},HTTP/1.1,200,12,c6af9ac6-7b61`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "/items/{id}", ip: "203.0.113.9", status: 200}},
		{name: "HTTP, CSV", line: `203.0.113.9,17/May/2015:10:05:03 +0000,POST,POST /items,HTTP/1.1,201,12,JKJaXmPLvHcESHA=,JKJaXmPLvHcESHA=`,
			want: wanted{at: at, method: "POST", path: "/items", route: "POST /items", ip: "203.0.113.9", status: 201}},
		{name: "no time", line: `{"path":"/","ip":"203.0.113.9","a, b":1}`, err: `no time: looked for requestTimeEpoch, requestTime; the line has "a, b", ip, path`},
		{name: "seconds for milliseconds", line: `{"path":"/","requestTimeEpoch":14318571030000000}`, err: `requestTimeEpoch: ` + errRange.Error()},
		{name: "CSV without a time", line: `203.0.113.9,GET,/items`, err: errNoAPIGateway.Error()},
		{name: "CSV cut", line: `203.0.113.9,17/May/2015:10:05:03 +0000,GET,/items`, err: errNoAPIGateway.Error()},
		{name: "XML", line: `<request id="c6af"> <ip>203.0.113.9</ip> </request>`, err: errNoAPIGateway.Error()},
	})
}

// Lines of the user guide "Access logs for your Application Load Balancer", and
// others as load balancers have logged them.
func TestALB(t *testing.T) {
	created := time.Date(2018, 7, 2, 22, 22, 48, 364e6, time.UTC)
	const rest = ` arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354"`
	agent := func(host string) map[string][]string {
		return map[string][]string{"host": {host}, "user-agent": {"curl/7.46.0"}}
	}
	runParser(t, ALB, []parserCase{
		{
			name: "HTTP",
			line: `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - -` +
				rest + ` "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "192.168.131.39", headers: agent("www.example.com"), status: 200},
		},
		{
			name: "HTTPS, with a query and fields of later years",
			line: `https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "POST https://www.example.com:8443/v1/a%20b?c=d HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2` +
				rest + ` "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_dc57cebed65b444ebc8177bb698fe166`,
			want: wanted{at: created, method: "POST", path: "/v1/a%20b", ip: "192.168.131.39", headers: agent("www.example.com:8443"), query: map[string][]string{"c": {"d"}}, status: 200},
		},
		{
			name: "WebSocket without a user agent",
			line: `ws 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.0.140:40914 10.0.1.192:8010 0.001 0.003 0.000 101 101 218 587 "GET http://10.0.0.30:80/ HTTP/1.1" "-" - -` +
				rest + ` "-" "-" 1 2018-07-02T22:22:48.364000Z "forward" "-" "-"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "10.0.0.140", headers: map[string][]string{"host": {"10.0.0.30"}}, status: 101},
		},
		{
			name: "function that failed",
			line: `http 2018-11-30T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 - 0.000 0.001 0.000 502 - 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - -` +
				rest + ` "-" "-" 0 2018-11-30T22:22:48.364000Z "forward" "-" "LambdaInvalidResponse"`,
			want: wanted{at: created.Add(151 * 24 * time.Hour), method: "GET", path: "/", ip: "192.168.131.39", headers: agent("www.example.com"), status: 502},
		},
		{name: "IPv6, no path, and the line of an old year", line: `h2 2018-07-02T22:22:48.364Z app/a/b 2001:db8::1:48160 10.0.0.66:9000 0.000 0.002 0.000 - - 5 257 "GET https://10.0.2.105:443?a=b HTTP/2.0" "curl/7.46.0"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "2001:db8::1", headers: agent("10.0.2.105"), query: map[string][]string{"a": {"b"}}}},
		{name: "IPv6 in brackets, quotes in the agent", line: `h2 2018-07-02T22:22:48.364Z app/a/b [2001:db8::1]:48160 - -1 -1 -1 460 - 5 257 "GET https://h:443/ HTTP/2.0" "a \"b\" \x41"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "2001:db8::1", headers: map[string][]string{"host": {"h"}, "user-agent": {`a "b" A`}}, status: 460}},
		{name: "no HTTP", line: `http 2021-03-17T18:54:14.216357Z app/awseb-AWSEB-1KGU6EBAG3FAD/7f0dc2b05788640f 113.241.19.90:15070 - -1 -1 -1 400 - 0 272 "- http://awseb-awseb-1kgu6fbag3fad-640112591.us-east-1.elb.amazonaws.com:80- -" "-" - - - "-" "-" "-" - 2021-03-17T18:54:13.967000Z "-" "-" "-" "-" "-" "-" "-"`,
			err: `no request was sent`},
		{name: "cut before the request", line: `http 2018-07-02T22:23:00.186641Z app/a/b 192.0.2.1:2817 10.0.0.1:80 0.000`, err: errNoALB.Error()},
		{name: "cut in the request", line: `http 2018-07-02T22:23:00.186641Z app/a/b 192.0.2.1:2817 - 0 0 0 200 200 0 0 "GET htt`, err: errQuote.Error()},
		{name: "no time", line: `http - app/a/b 192.0.2.1:2817 - 0 0 0 200 200 0 0 "GET http://h:80/ HTTP/1.1"`,
			err: `time "-" is neither plain Unix seconds, such as 1431857103.25, nor RFC 3339`},
		{name: "network load balancer", line: `tls 2.0 2018-12-20T02:59:40 net/a/b 192.0.2.1:2817 192.0.2.2:443 5 2 98 246 - a "b" c`, err: errNoALB.Error()},
	})
}

const cloudFrontFields = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query" +
	" cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher" +
	" x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type" +
	" sc-content-type sc-content-len sc-range-start sc-range-end"

// The first line is the example of the guide's "Configure standard logging".
func TestCloudFront(t *testing.T) {
	at := time.Date(2019, 12, 4, 21, 2, 31, 0, time.UTC)
	headers := map[string][]string{
		"host": {"d111111abcdef8.cloudfront.net"}, "user-agent": {"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0.3904.108 Safari/537.36"},
	}
	runParser(t, CloudFront, []parserCase{
		{
			name: "standard", header: cloudFrontFields,
			line: "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0;%20Win64;%20x64)%20AppleWebKit/537.36%20(KHTML,%20like%20Gecko)%20Chrome/78.0.3904.108%20Safari/537.36" +
				"\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html\t78\t-\t-",
			want: wanted{at: at, method: "GET", path: "/index.html", ip: "192.0.2.100", headers: headers, status: 200},
		},
		{name: "fields of one's own, IPv6, encoded once more, X-Forwarded-For of the viewer", header: "#Fields: timestamp(ms) c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(Referer) x-forwarded-for",
			line: "1575493351250\t2001:0db8:85a3::8a2e:0370:7334\tPOST\t/a%2520b\tc=d%2526e\t000\thttps://example.com/%257e\t203.0.113.9",
			want: wanted{at: at.Add(time.Second / 4), method: "POST", path: "/a%20b", ip: "2001:db8:85a3::8a2e:370:7334", query: map[string][]string{"c": {"d&e"}}, headers: map[string][]string{"referer": {"https://example.com/%7e"}}}},
		{name: "spaces between", header: "#Fields: date time c-ip cs-uri-stem", line: "2019-12-04 21:02:31 192.0.2.100 /a", want: wanted{at: at, path: "/a", ip: "192.0.2.100"}},
		{name: "JSON", line: `{"date":"2019-12-04","time":"21:02:31","x-edge-location":"SFO53-P7","sc-bytes":"1068","c-ip":"8.29.198.27","cs-method":"GET","cs(Host)":"d3bkd4xdlxgkfz.cloudfront.net","cs-uri-stem":"/feed.xml","sc-status":"304","cs(Referer)":"-","cs(User-Agent)":"Feedly/1.0","cs-uri-query":"a=b","cs(Cookie)":"-","x-edge-result-type":"Hit","x-host-header":"post-tenebras-lire.net","x-forwarded-for":"-"}`,
			want: wanted{at: at, method: "GET", path: "/feed.xml", ip: "8.29.198.27", query: map[string][]string{"a": {"b"}}, headers: map[string][]string{"host": {"post-tenebras-lire.net"}, "user-agent": {"Feedly/1.0"}}, status: 304}},
		{name: "JSON, milliseconds as a number", line: `{"timestamp(ms)":1575493351001,"c-ip":"203.0.113.45","cs-method":"POST","cs-uri-stem":"/v1/responses","sc-status":"504"}`,
			want: wanted{at: at.Add(time.Millisecond), method: "POST", path: "/v1/responses", ip: "203.0.113.45", status: 504}},
		{name: "real time, whose path has the query too", line: `{"timestamp":"1575493351.500","c-ip":"203.0.113.45","cs-method":"GET","cs-host":"example.com","x-host-header":"d1.cloudfront.net","cs-uri-stem":"/a?b=c","cs-uri-query":"b=c","cs-user-agent":"curl/8","sc-status":200}`,
			want: wanted{at: at.Add(time.Second / 2), method: "GET", path: "/a", ip: "203.0.113.45", query: map[string][]string{"b": {"c"}}, headers: map[string][]string{"host": {"example.com"}, "user-agent": {"curl/8"}}, status: 200}},

		{name: "no #Fields", line: "1575493351.500\t203.0.113.45\t0.001\t200", err: errNoFieldsLine.Error()},
		{name: "fewer values", header: "#Fields: date time c-ip", line: "2019-12-04\t21:02:31", err: `2 values under 3 names in #Fields`},
		{name: "no time", header: "#Fields: c-ip cs-uri-stem", line: "192.0.2.1\t/", err: `no time: looked for timestamp(ms), timestamp, date; the line has c-ip, cs-uri-stem`},
		{name: "no date", line: `{"time":"21:02:31","cs-uri-stem":"/","c-ip":"192.0.2.1"}`, err: `no time: looked for timestamp(ms), timestamp, date; the line has c-ip, cs-uri-stem, time`},
		{name: "no milliseconds", line: `{"timestamp(ms)":"1575493351.5","cs-uri-stem":"/","c-ip":"192.0.2.1"}`, err: `timestamp(ms): time "1575493351.5" is not Unix milliseconds, such as 1431857103250`},
		{name: "no request", line: `{"timestamp":"1575493351.5","c-ip":"192.0.2.1"}`, err: `no path: looked for cs-uri-stem, cs-uri; the line has c-ip, timestamp`},
	})
}

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
	for _, text := range []string{"", `$remote_addr "$request" $status`, "log_format main;"} {
		if _, err := ParseTemplate(text); !errors.Is(err, errTemplateTime) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// outcome is what a replay does with logs.
type outcome struct {
	Seen                []string
	Skipped, OutOfOrder int64
	FirstSkipped        string
	Warned              []string
}

func describe(at time.Time, r *request.Request) string {
	return fmt.Sprint(at.UnixNano(), r.Method, r.Path, r.Route, r.IP, r.Headers, r.Query, r.APIKey, r.Claims)
}

// reference reads logs line by line, and sorts them in memory.
func reference(texts []string, formats []Format, order Order) (want outcome) {
	type seen struct {
		at   time.Time
		text string
	}
	var all []seen
	for i, content := range texts {
		last := time.Time{}
		name := fmt.Sprint("log", i)
		parse := formats[i].parser(func(text string) { want.Warned = append(want.Warned, name+": "+text) })
		for number, line := range strings.Split(content, "\n") {
			if line = strings.TrimRight(line, "\r\n"); line == "" {
				continue
			}
			var r record
			found, err := parse(line, &r)
			if len(line) >= maxLine {
				err = errLong
			}
			if err != nil {
				if want.Skipped++; want.Skipped == 1 {
					want.FirstSkipped = fmt.Sprintf("%s:%d: %v", name, number+1, err)
				}
				continue
			}
			if found {
				e := r.entry()
				if !last.IsZero() && e.Time.Before(last) {
					want.OutOfOrder++
				}
				last = e.Time
				all = append(all, seen{e.Time, describe(e.Time, e.Request)})
			}
		}
	}
	if order == ByTime {
		slices.SortStableFunc(all, func(a, b seen) int { return a.at.Compare(b.at) })
	}
	for _, s := range all {
		want.Seen = append(want.Seen, s.text)
	}
	return want
}

var wide = flag.Bool("wide", false, "compare more random logs, as make test-wide does")

// A replay of random logs, in which many lines are broken, does what the plain
// reference does: whatever the sizes of reads and of lines.
func TestReference(t *testing.T) {
	seeds := uint64(25)
	if *wide {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := rand.New(rand.NewPCG(seed, 15))
			order := []Order{ByTime, AsLogged}[g.IntN(2)]
			var got outcome
			traffic := &Traffic{Order: order, Warn: func(text string) { got.Warned = append(got.Warned, text) }}
			var texts []string
			var formats []Format
			for i := range 1 + g.IntN(3) {
				format := []Format{CLF, CLF, CLF, JSONL, CSV}[g.IntN(5)]
				content := randomLog(g, format)
				texts, formats = append(texts, content), append(formats, format)
				if g.IntN(4) == 0 {
					content = gzipped(t, content)
				}
				log := Stream(fmt.Sprint("log", i), bytes.NewReader([]byte(content)), format)
				if g.IntN(4) == 0 {
					log = Stream(log.Name, iotest.HalfReader(strings.NewReader(content)), format)
				}
				traffic.Logs = append(traffic.Logs, log)
			}
			report, err := read(t.Context(), traffic, func(e *Entry) error {
				got.Seen = append(got.Seen, describe(e.Time, e.Request))
				return nil
			})
			if err != nil && !errors.Is(err, ErrUnreadable) {
				t.Fatal(err)
			}
			got.Skipped, got.OutOfOrder = report.Skipped, report.OutOfOrder
			if report.FirstSkipped != nil {
				got.FirstSkipped = report.FirstSkipped.Error()
			}
			if want := reference(texts, formats, order); !reflect.DeepEqual(got, want) {
				t.Error(gocmp.Diff(want, got))
			}
		})
	}
}

// randomLog returns a log of which most lines can be read.
func randomLog(g *rand.Rand, format Format) string {
	var b strings.Builder
	if format == CSV {
		b.WriteString([]string{"time,path,ip,header.x,header.x,size\n", "path,time\n", "\n\ntime,jwt.sub\r\n", "path\n"}[g.IntN(4)])
	}
	day := time.Date(2015, 5, 17, 22, 0, 0, 0, time.UTC)
	for range g.IntN(700) {
		day = day.Add(time.Duration(g.IntN(60)) * time.Second)
		at := day.Add(-time.Duration(g.IntN(3)*g.IntN(4000)) * time.Second)
		line := randomLine(g, format, at)
		if g.IntN(10) == 0 {
			line = mutate(g, line)
		}
		b.WriteString(line)
		b.WriteString([]string{"\n", "\n", "\n", "\n", "\n", "\r\n", "\n\n"}[g.IntN(7)])
	}
	if g.IntN(30) == 0 {
		b.WriteString(strings.Repeat("x", maxLine-2+g.IntN(4)))
		b.WriteString([]string{"\n", "", "\n" + randomLine(g, format, day)}[g.IntN(3)])
	}
	return strings.TrimRight(b.String(), []string{"", "\r\n"}[g.IntN(2)])
}

func randomLine(g *rand.Rand, format Format, at time.Time) string {
	pick := func(of ...string) string { return of[g.IntN(len(of))] }
	path := pick("/", "/a", "/a/b?c=d&c=e", "/a b", "/%41?x", "http://h/p", "*", "/a%2Fb", "/?q=%zz")
	ip := pick("203.0.113.9", "203.0.113.10", "2001:db8::1", "-")
	switch format {
	case JSONL:
		return fmt.Sprintf(`{"time":%d,"path":"%s","ip":"%s","headers":{"a":"%s","b":["c","d"]},"jwt":%s}`,
			at.Unix(), path, ip, pick("", "x"), pick("null", "{}", `{"sub":"7"}`, `{"n":1e400,"a":["\ud800<é",null,{"b":true}]}`))
	case CSV:
		return fmt.Sprintf(pick("%[1]d,%[2]s,%[3]s,h,i,9", "%[2]s,%[1]d", `%[1]d,"%[2]s"`), at.Unix(), path, ip)
	}
	zone := time.FixedZone("", g.IntN(3)*g.IntN(900)*60)
	line := fmt.Sprintf(`%s - %s [%s] "%s %s HTTP/1.1" %s`, ip, pick("-", "Jo [x] Doe"), at.In(zone).Format(clfTime),
		pick("GET", "GET", "GET", "POST", "PURGE", "G/T"), path, pick("200 12", "304 -", "200 5"))
	return line + pick("", ` "-" "-"`, ` "http://e/" "curl/8"`, ` "-" "say \"hi\""`, ` "a\x41" "cut`, ` 0.003`, ` "r" "u" "x" 7`)
}

// mutate changes, drops or repeats a few bytes.
func mutate(g *rand.Rand, line string) string {
	for range 1 + g.IntN(3) {
		i := g.IntN(len(line) + 1)
		j := min(i+g.IntN(4), len(line))
		line = line[:i] + []string{"", `"`, `\`, " ", "[", `] "`, `]"`, "9", "-", ":", "\r", "\xff", line[i:j] + line[i:j]}[g.IntN(13)] + line[j:]
	}
	return line
}

// Lines are numbered beyond what is read at once.
func TestLineNumbers(t *testing.T) {
	const lines = 5000
	log := strings.Repeat(requests("1 /"), lines)
	if len(log) < 3*blockBytes {
		t.Fatalf("a log of %d bytes is read at once", len(log))
	}
	report, err := read(t.Context(), &Traffic{Logs: []Log{text(log + "?\n")}}, keep(new([]string)))
	if got, want := fmt.Sprint(report.FirstSkipped, err), fmt.Sprintf("log:%d: line is not JSON: invalid character '?' looking for beginning of value <nil>", lines+1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	broken := Stream("log", io.MultiReader(strings.NewReader(log), iotest.ErrReader(errDown)), JSONL)
	if _, err = read(t.Context(), &Traffic{Logs: []Log{broken}}, keep(new([]string))); message(err) != fmt.Sprintf("log:%d: %v", lines+1, errDown) {
		t.Errorf("error %v", err)
	}
}
