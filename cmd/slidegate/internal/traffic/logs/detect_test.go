package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// The first lines tell the format, whatever the log is called.
func TestDetection(t *testing.T) {
	const clf = `203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 2326`
	for _, tc := range []struct {
		name, lines string
		want        Format
		skipped     string // the first; requests is one in each log without
	}{
		{name: "common", lines: clf, want: CLF},
		{name: "common, though a suffix says otherwise", lines: clf, want: CLF},
		{name: "common, after a line of nothing", lines: "hello\n" + clf, want: CLF,
			skipped: `log:1: "hello" is in no known format: name it by --format, or NGINX's log_format by --log-format`},
		{name: "common, after a comment", lines: "# rotated\n" + clf, want: CLF,
			skipped: `log:1: "# rotated" is in no known format: name it by --format, or NGINX's log_format by --log-format`},
		{name: "common, after a sentence", lines: "http servers log here\n" + clf, want: CLF,
			skipped: `log:1: "http servers log here" is in no known format: name it by --format, or NGINX's log_format by --log-format`},
		{name: "JSON, after a sentence with an address", lines: "listening 127.0.0.1:8080 now\n" + `{"time":1,"path":"/a"}`, want: JSONL,
			skipped: `log:1: "listening 127.0.0.1:8080 now" is in no known format: name it by --format, or NGINX's log_format by --log-format`},
		{name: "common, whose first request is none", lines: strings.Replace(clf, "GET /a HTTP/1.1", "-", 1) + "\n" + clf, want: CLF, skipped: `log:1: no request was sent`},
		{name: "load balancer", lines: `http 2018-07-02T22:22:48.364Z app/a/b 192.0.2.1:1 - 0 0 0 200 200 5 257 "GET http://h:80/a HTTP/1.1" "-"`, want: ALB},
		{name: "W3C", lines: "#Version: 1.0\n#Fields: date time cs-uri-stem\n2019-12-04\t21:02:31\t/a", want: CloudFront},
		{name: "W3C, its fields named anew", lines: "#Fields: x\n#Fields: date time cs-uri-stem\n2019-12-04\t21:02:31\t/a", want: CloudFront},
		{name: "CloudFront, JSON", lines: `{"date":"2019-12-04","time":"21:02:31","c-ip":"192.0.2.1","cs-uri-stem":"/a"}`, want: CloudFront},
		{name: "API Gateway, JSON", lines: `{"requestTime":"17/May/2015:10:05:03 +0000","path":"/a"}`, want: APIGateway},
		{name: "API Gateway, CSV", lines: `203.0.113.9,17/May/2015:10:05:03 +0000,GET,GET /a,HTTP/1.1,200,12,x`, want: APIGateway},
		{name: "Caddy, after its messages", lines: `{"level":"info","ts":1,"msg":"serving"}` + "\n" + `{"ts":1,"msg":"handled request","request":{"uri":"/a"}}`, want: Caddy,
			skipped: `log:1: no path: looked for path; the line has level, msg, ts`},
		{name: "Traefik, after its messages", lines: `{"level":"info","msg":"Configuration loaded","time":"2021-06-05T03:57:51Z"}` + "\n" + `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"/a"}`, want: Traefik,
			skipped: `log:1: no path: looked for path; the line has level, msg, time`},
		{name: "Envoy", lines: `{"start_time":"2023-03-23T04:09:46.421Z","path":"/a"}`, want: Envoy},
		{name: "JSON of one's own", lines: `{"time":1,"path":"/a","request":{"uri":"/b"},"requestTime":0.3,"start_time":"x"}`, want: JSONL},
		{name: "JSON, after a line that is cut", lines: `{"ti` + "\n" + `{"time":1,"path":"/a"}`, want: JSONL, skipped: `log:1: line is not JSON: unexpected end of JSON input`},
		{name: "CSV", lines: "path, time\n/a,1", want: CSV},
		{name: "CSV, a name with a space", lines: "path,user agent,time\n/a,x,1", want: CSV},
		{name: "CSV, its names quoted", lines: `"time","path"` + "\n" + `1,"/a"`, want: CSV},

		{name: "no path", lines: `{"foo":1,"bar":"x"}`,
			skipped: `log:1: no path: looked for path; the line has bar, foo`},
		{name: "Caddy's console", lines: "2021/06/05 04:03:22.373\tINFO\thttp.log.access\thandled request\t{}",
			skipped: `log:1: "2021/06/05 04:03:22.373\tINFO\thttp.log.access\thandled request"… is in no known format: name it by --format, or NGINX's log_format by --log-format`},
		{name: "real-time logs", lines: "1575493351.500\t203.0.113.45\t0.001\t200", skipped: "log:1: " + errNoFieldsLine.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			detect := func(format Format) (paths []string, skipped string) {
				x, _ := read(t.Context(), &Traffic{Logs: []Log{Stream("log", strings.NewReader(tc.lines), format)}}, func(e *Entry) error {
					paths = append(paths, e.Request.Path)
					return nil
				})
				if x.FirstSkipped != nil {
					skipped = x.FirstSkipped.Error()
				}
				return paths, skipped
			}
			paths, skipped := detect("")
			if skipped != tc.skipped {
				t.Errorf("skipped %q, want %q", skipped, tc.skipped)
			}
			if got := strings.Join(paths, " "); tc.want != "" && got != "/a" || tc.want == "" && got != "" {
				t.Errorf("requests of %q", got)
			}
			if forced, _ := detect(tc.want); tc.want != "" && strings.Join(forced, " ") != "/a" {
				t.Errorf("as %s, requests of %q", tc.want, forced)
			}
			if last := tc.lines[strings.LastIndexByte(tc.lines, '\n')+1:]; tc.want != "" && tc.want != CSV && recognize(last) != tc.want && !strings.HasPrefix(tc.lines, "#") {
				t.Errorf("the last line is recognized as %s, want %s", recognize(last), tc.want)
			}
		})
	}
}

// A log of another format than was named says so, until a line fits.
func TestForcedFormat(t *testing.T) {
	const caddy, clf = `{"ts":1,"msg":"handled request","request":{"uri":"/a"}}`, `203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 2326`
	for _, tc := range []struct {
		format Format
		lines  string
		want   string
	}{
		{JSONL, caddy, `log:1: no path: looked for path; the line has msg, request, request.uri, ts; the line looks like caddy`},
		{Traefik, caddy, `log:1: no path: looked for RequestPath; the line has msg, request, request.uri, ts; the line looks like caddy`},
		{ALB, clf, "log:1: " + errNoALB.Error() + "; the line looks like clf"},
		{Envoy, clf, `log:1: line is not JSON: invalid character '.' after top-level value; the line looks like clf`},
		{CLF, "hello", "log:1: " + errNoClient.Error()},
		{CLF, clf + "\n" + caddy, "log:2: " + errNoStamp.Error()},
	} {
		x, _ := read(t.Context(), &Traffic{Logs: []Log{Stream("log", strings.NewReader(tc.lines), tc.format)}}, keep(new([]string)))
		if x.FirstSkipped == nil || x.FirstSkipped.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.format, x.FirstSkipped, tc.want)
		}
	}
}

// Any line becomes an error or a valid request, in whatever format.
func FuzzFormats(f *testing.F) {
	template, err := ParseTemplate(combined)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cloudFrontFields, "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET")
	f.Add("#Fields: timestamp(ms) c-ip cs-uri-stem cs-uri-query", "1575493351250\t::1\t/a%2\t?")
	f.Add("", `http 2018-07-02T22:22:48.364Z app/a/b [::1]:1 - 0 0 0 200 200 5 257 "GET http://h?a HTTP/1.1" "-"`)
	f.Add("", `203.0.113.9,17/May/2015:10:05:03 +0000,GET,GET /a,HTTP/1.1,200,12,x`)
	f.Add("", `{"requestTimeEpoch":1,"routeKey":"GET /a","stage":"a","ip":"-"}`)
	f.Add("", `{"ts":1,"request":{"uri":"","headers":{"a":["b"],"X-Forwarded-For":[]},"remote_ip":"::1","client_ip":"1.2.3.4"}}`)
	f.Add("", `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"*","ClientHost":"a,b","request_":"c"}`)
	f.Add("", `{"start_time":"2023-03-23T04:09:46.421Z",":path":"?","x_forwarded_for":",","downstream_remote_address":"["}`)
	f.Add("", `203.0.113.9 - jo [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 12 "-" "say \x22hi\x22"`)
	f.Fuzz(func(t *testing.T, header, line string) {
		if line == "" { // never reaches a parser
			return
		}
		for _, format := range []Format{ALB, APIGateway, Caddy, CloudFront, Envoy, Traefik, ""} {
			p := (&Log{Name: "log", Format: format}).parser(func(string) {})
			if header != "" {
				_, _ = parseLine(p, header)
			}
			checkParser(t, p, line)
		}
		checkParser(t, template.parse, line)
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add(`log_format a escape=json '"$request" ' "$msec";`, `"GET / HTTP/1.1" 1`)
	f.Add(`$msec $uri$is_args$args`, `1 /a?b`)
	f.Add(`${time_local}$`, `17/May/2015:10:05:03 +0000$`)
	f.Fuzz(func(t *testing.T, text, line string) {
		template, err := ParseTemplate(text)
		if err != nil {
			return
		}
		checkParser(t, template.parse, line)
	})
}

// A line is a request if it has a path, in whatever format. Any other line is
// skipped: it never counts as GET /.
func TestNoRequest(t *testing.T) {
	const clf = `192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] `
	docker := strings.Join([]string{
		`{"log":"/entrypoint.sh: configuration complete\n","stream":"stdout","time":"2025-11-13T10:44:30.02Z"}`,
		`{"log":"192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] \"POST /login HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n","stream":"stdout","time":"2025-11-13T10:44:31.12Z"}`,
	}, "\n")
	const messages = `{"level":"info","time":"2025-11-13T10:44:30Z","message":"listening on :8080"}
{"level":"info","method":"GET","path":"/v1/items","ip":"192.0.2.7","status":200,"time":"2025-11-13T10:44:31Z","message":"request"}
{"level":"info","method":"POST","path":"/v1/items","ip":"192.0.2.8","status":201,"time":"2025-11-13T10:44:33Z","message":"request"}`
	const (
		noPath   = "no path: looked for path; the line has "
		notAPath = " is not the path of a request, such as /items?page=2"
	)
	for _, tc := range []struct {
		name   string
		format Format // empty to detect it
		lines  string
		want   string // method and path of each request
		noneIn int64  // skipped lines
		first  string // why the first is skipped
	}{
		{"Docker's wrapper", "", docker, "", 2, noPath + "log, stream, time; to read the lines in log, write them to a file by jq -r .log"},
		{"Docker's wrapper, named as JSON Lines", JSONL, docker, "", 2, noPath + "log, stream, time; to read the lines in log, write them to a file by jq -r .log"},
		{"a shipper's wrapper", "", `{"@timestamp":"2025-11-13T10:44:31Z","message":"192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] \"GET / HTTP/1.1\" 200 5"}`, "", 1,
			noPath + "@timestamp, message; to read the lines in message, write them to a file by jq -r .message"},
		{"Cloud Logging's wrapper", "", `{"timestamp":"2025-11-13T10:44:31Z","textPayload":"192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] \"GET / HTTP/1.1\" 200 5"}`, "", 1,
			noPath + "textPayload, timestamp; to read the lines in textPayload, write them to a file by jq -r .textPayload"},
		{"a wrapper of JSON", "", `{"time":1,"msg":"{\"time\":1,\"path\":\"/a\"}"}`, "", 1, noPath + "msg, time; to read the lines in msg, write them to a file by jq -r .msg"},
		{"an object with the name of a wrapper", "", `{"time":1,"log":{"level":"info"}}`, "", 1, noPath + "log, time"},
		{"Azure", "", `{"time":"2025-11-13T10:44:31Z","category":"AppServiceHTTPLogs","properties":"{\"CsMethod\":\"GET\"}"}`, "", 1, noPath + "category, properties, time"},
		{"messages among requests", "", messages, "GET /v1/items, POST /v1/items", 1, noPath + "level, message, time"},
		{"a path under another name", "", `{"time":1,"method":"GET","uri":"/a"}`, "", 1, noPath + "method, time, uri"},
		{"a method alone", "", `{"time":1,"method":"GET"}`, "", 1, noPath + "method, time"},
		{"a path alone", "", `{"time":1,"path":"/a"}`, " /a", 0, ""},
		{"a route for the path", "", `{"time":1,"method":"GET","route":"/items/{id}"}`, "GET /items/{id}", 0, ""},
		{"a route that says no path", "", `{"time":1,"method":"GET","route":"$default"}`, "", 1, noPath + "method, route, time"},

		{"path null", "", `{"time":1,"path":null}`, "", 1, noPath + "time"},
		{"path empty", "", `{"time":1,"path":""}`, "", 1, noPath + "time"},
		{"path a number", "", `{"time":1,"path":7}`, "", 1, `"7"` + notAPath},
		{"path an object", "", `{"time":1,"path":{"a":1}}`, "", 1, `"{\"a\":1}"` + notAPath},
		{"path without its slash", "", `{"time":1,"path":"v1/items"}`, "", 1, `"v1/items"` + notAPath},
		{"path a URL", "", `{"time":1,"path":"https://example.com:443/a?b=c"}`, " /a", 0, ""},
		{"path a URL in a query", "", `{"time":1,"path":"/a?to=https://example.com/"}`, " /a", 0, ""},
		{"path a URL of a host and a query", "", `{"time":1,"path":"https://example.com?b=c"}`, " /", 0, ""},
		{"no URL", "", `{"time":1,"path":"a?to=https://example.com/"}`, "", 1, `"a?to=https://example.com/"` + notAPath},
		{"path a star", "", `{"time":1,"method":"OPTIONS","path":"*"}`, "OPTIONS *", 0, ""},
		{"path the stage alone", "", `{"time":1,"path":"/prod","stage":"prod"}`, " /", 0, ""},

		{"a tunnel", "", clf + `"CONNECT example.com:443 HTTP/1.1" 405 0`, "", 1, `"example.com:443"` + notAPath},
		{"a target without a slash", "", clf + `"GET login HTTP/1.1" 400 0`, "", 1, `"login"` + notAPath},
		{"CSV", "", "time,ip,uri\n1,192.0.2.1,/a", "", 1, noPath + "ip, time, uri"},
		{"CSV, a value missing", "", "time,method,path\n1,GET,/a\n2,GET,", "GET /a", 1, noPath + "method, time"},
		{"CSV, a stage", "", "time,path,stage\n1,/prod/a,prod", " /a", 0, ""},
		{"API Gateway", "", `{"requestTime":"17/May/2015:10:05:03 +0000","httpMethod":"GET","routeKey":"$default"}`, "", 1, noPath + "httpMethod, requestTime, routeKey"},
		{"CloudFront", "", `{"timestamp":"1","cs-method":"GET"}`, "", 1, "no path: looked for cs-uri-stem, cs-uri; the line has cs-method, timestamp"},
		{"Caddy", "", `{"ts":1,"request":{"method":"GET","remote_ip":"192.0.2.1"}}`, "", 1, "no path: looked for request.uri; the line has request, request.method, request.remote_ip, ts"},
		{"Traefik", "", `{"StartUTC":"2021-06-05T04:03:22Z","RequestMethod":"GET"}`, "", 1, "no path: looked for RequestPath; the line has RequestMethod, StartUTC"},
		{"Envoy", "", `{"start_time":"2023-03-23T04:09:46Z","method":"GET"}`, "", 1, "no path: looked for path, x-envoy-origin-path, :path; the line has method, start_time"},
		{"load balancer", "", `http 2018-07-02T22:22:48.364Z app/a/b 192.0.2.1:1 - 0 0 0 200 200 5 257 "GET a HTTP/1.1" "-"`, "", 1, `"a"` + notAPath},

		{"a list of requests", "", `[{"time":1,"path":"/a"},{"time":2,"path":"/b"}]`, "", 1, errSpread.Error()},
		{"a list over several lines", "", "[\n{\"time\":1,\"path\":\"/a\"},\n{\"time\":2,\"path\":\"/b\"}\n]", " /b", 3, errSpread.Error()},
		{"an object over several lines", "", "\ufeff{\r\n  \"time\": 1,\r\n  \"path\": \"/a\"\r\n}\r\n", "", 4, errSpread.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen []string
			x, _ := read(t.Context(), &Traffic{Logs: []Log{Stream("log", strings.NewReader(tc.lines), tc.format)}}, func(e *Entry) error {
				seen = append(seen, e.Request.Method+" "+e.Request.Path)
				return nil
			})
			first := ""
			if x.FirstSkipped != nil {
				first = x.FirstSkipped.Err.Error()
			}
			if got := strings.Join(seen, ", "); got != tc.want || x.Skipped != tc.noneIn || first != tc.first {
				t.Errorf("requests %q, %d lines skipped, the first: %s\nwant %q, %d: %s", got, x.Skipped, first, tc.want, tc.noneIn, tc.first)
			}
			if want := int64(strings.Count(fmt.Sprintf("%q", seen), `" /`)); x.NoMethod != want {
				t.Errorf("%d requests without a method, want %d", x.NoMethod, want)
			}
		})
	}
}

func TestTemplateWithoutPath(t *testing.T) {
	if _, err := ParseTemplate(`$msec $remote_addr $request_method $status`); message(err) != errTemplatePath.Error() {
		t.Errorf("error %v", err)
	}
}

func TestCaddy(t *testing.T) {
	at := time.Date(2022, 3, 9, 21, 30, 1, 524102400, time.UTC)
	runParser(t, Caddy, []parserCase{
		{
			name: "as its documentation shows it",
			line: `{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Authorization":["REDACTED"],"X-Forwarded-For":["203.0.113.9"]},"tls":{"resumed":false,"version":772}},"bytes_read": 0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}`,
			want: wanted{at: at, method: "GET", path: "/a", query: map[string][]string{"b": {"c"}}, ip: "127.0.0.1", status: 200,
				headers: map[string][]string{"host": {"localhost"}, "User-Agent": {"curl/7.82.0"}, "Accept": {"*/*"}, "X-Forwarded-For": {"203.0.113.9"}}},
		},
		{name: "behind a trusted proxy", line: `{"ts":"2022-03-09T21:30:01.5241024Z","msg":"handled request","request":{"remote_ip":"10.0.0.5","client_ip":"203.0.113.9","method":"GET","uri":"/","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}},"status":404}`,
			want: wanted{at: at, method: "GET", path: "/", ip: "203.0.113.9", status: 404}},
		{name: "error of a request that is logged once more", line: `{"level":"error","ts":1646861401.5,"logger":"http.log.error","msg":"dial tcp","request":{"remote_ip":"127.0.0.1","method":"GET","uri":"/"},"status":502}`, err: errMessage.Error()},
		{name: "message", line: `{"level":"info","ts":1646861401.5,"logger":"admin","msg":"admin endpoint started"}`, err: errMessage.Error()},
		{name: "no time", line: `{"request":{"uri":"/"}}`, err: `no time: looked for ts; the line has request, request.uri`},
		{name: "time of another form", line: `{"ts":"2022/03/09 21:30:01","request":{"uri":"/"}}`, err: `ts: time "2022/03/09 21:30:01" is neither RFC 3339, such as 2015-05-17T10:05:03Z, nor Unix seconds; leave Caddy's time_format out, or set rfc3339 or iso8601`},
	})
}

func TestTraefik(t *testing.T) {
	at := time.Date(2021, 6, 5, 4, 3, 22, 742209746, time.UTC)
	runParser(t, Traefik, []parserCase{
		{
			name: "as it logs",
			line: `{"ClientAddr":"172.16.100.61:49880","ClientHost":"172.16.100.61","ClientPort":"49880","ClientUsername":"-","DownstreamContentSize":19,"DownstreamStatus":404,"Duration":204055,"RequestAddr":"172.16.100.61","RequestHost":"172.16.100.61","RequestMethod":"GET","RequestPath":"/a?b=c","RequestPort":"-","RequestProtocol":"HTTP/1.1","RequestScheme":"http","RetryAttempts":0,"StartLocal":"2021-06-05T04:03:22.742209746Z","StartUTC":"2021-06-05T04:03:22.742209746Z","level":"info","msg":"","request_User-Agent":"curl/8","request_Authorization":"REDACTED","time":"2021-06-05T04:03:22Z"}`,
			want: wanted{at: at, method: "GET", path: "/a", query: map[string][]string{"b": {"c"}}, ip: "172.16.100.61", status: 404,
				headers: map[string][]string{"host": {"172.16.100.61"}, "User-Agent": {"curl/8"}}},
		},
		{name: "behind a trusted proxy, IPv6", line: `{"ClientAddr":"10.0.0.5:49880","ClientHost":"198.51.100.1, 2001:db8::1","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/","request_X-Forwarded-For":"198.51.100.1, 2001:db8::1","time":"2021-06-05T04:03:22Z"}`,
			want: wanted{at: at.Truncate(time.Second), method: "GET", path: "/", ip: "2001:db8::1", status: 200}},
		{name: "address with a port alone", line: `{"ClientAddr":"[2001:db8::1]:49880","StartUTC":"2021-06-05T04:03:22Z","RequestMethod":"GET","RequestPath":"/"}`,
			want: wanted{at: at.Truncate(time.Second), method: "GET", path: "/", ip: "2001:db8::1"}},
		{name: "TCP", line: `{"ClientAddr":"10.0.0.5:49880","ClientHost":"10.0.0.5","StartUTC":"2021-06-05T04:03:22Z"}`, err: `no path: looked for RequestPath; the line has ClientAddr, ClientHost, StartUTC`},
		{name: "no time", line: `{"ClientHost":"10.0.0.5","RequestPath":"/"}`, err: `no time: looked for StartUTC, StartLocal, time; the line has ClientHost, RequestPath`},
	})
}

func TestEnvoy(t *testing.T) {
	at := time.Date(2023, 3, 23, 4, 9, 46, 421e6, time.UTC)
	runParser(t, Envoy, []parserCase{
		{
			name: "Istio",
			line: `{"response_code_details":"via_upstream","user_agent":"curl/7.86.0","request_id":"722ef34b","response_flags":"-","downstream_remote_address":"172.17.0.1:48499","connection_termination_details":null,"bytes_received":0,"duration":420,"authority":"catalog.istioinaction.io","route_name":null,"response_code":200,"x_forwarded_for":"172.17.0.1","bytes_sent":502,"start_time":"2023-03-23T04:09:46.421Z","path":"/items?a=b","method":"GET","protocol":"HTTP/1.1"}`,
			want: wanted{at: at, method: "GET", path: "/items", query: map[string][]string{"a": {"b"}}, ip: "172.17.0.1", status: 200,
				headers: map[string][]string{"host": {"catalog.istioinaction.io"}, "user-agent": {"curl/7.86.0"}, "x-forwarded-for": {"172.17.0.1"}}},
		},
		{name: "Envoy Gateway, IPv6", line: `{":authority":"reviews:9080","downstream_remote_address":"[2001:db8::1]:40937","method":"GET","response_code":429,"response_flags":"RL","start_time":"2023-03-23T04:09:46.421Z","user-agent":"curl/8","x-envoy-origin-path":"/reviews/0","x-forwarded-for":"203.0.113.9"}`,
			want: wanted{at: at, method: "GET", path: "/reviews/0", ip: "2001:db8::1", status: 429, headers: map[string][]string{"host": {"reviews:9080"}, "user-agent": {"curl/8"}}}},
		{name: "as text", line: `{"time":"2023-03-23T04:09:46.421Z","method":"GET","path":"/","response_code":"0","downstream_remote_address":"172.17.0.1","x_forwarded_for":"-","user_agent":"-"}`,
			want: wanted{at: at, method: "GET", path: "/", ip: "172.17.0.1"}},
		{name: "TCP", line: `{"start_time":"2023-03-23T04:09:46.421Z","downstream_remote_address":"172.17.0.1:48499","method":null,"path":null,"response_code":0}`, err: `no path: looked for path, x-envoy-origin-path, :path; the line has downstream_remote_address, response_code, start_time`},
		{name: "pipe", line: `{"start_time":"2023-03-23T04:09:46.421Z","downstream_remote_address":"envoy://a","path":"/"}`, err: `client "envoy://a" is not an IP address`},
	})
}

// An address that the server of the log has taken from X-Forwarded-For is final:
// client_ip does not count back from it to what the client claims. Otherwise
// client_ip reads the header, as serve would in that server's place.
func TestClientAddress(t *testing.T) {
	const client, claimed = "203.0.113.9", "198.51.100.1" // claimed is what the client writes into the header
	for _, tc := range []struct {
		name, line string
		none, one  string // the client by rules with trusted_hops 0 and 1
	}{
		{"CloudFront", `{"timestamp":"1","cs-uri-stem":"/","c-ip":"203.0.113.9","x-forwarded-for":"198.51.100.1"}`, client, client},
		{"Caddy, the proxy before it trusted", `{"ts":1,"request":{"uri":"/","remote_ip":"10.0.0.5","client_ip":"203.0.113.9","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}}}`, client, client},
		{"Caddy, the proxy before it unknown", `{"ts":1,"request":{"uri":"/","remote_ip":"10.0.0.5","client_ip":"10.0.0.5","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}}}`, "10.0.0.5", client},
		{"Traefik, the proxy before it trusted", `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"/","ClientAddr":"10.0.0.5:1","ClientHost":"198.51.100.1, 203.0.113.9","request_X-Forwarded-For":"198.51.100.1, 203.0.113.9"}`, client, client},
		{"Traefik, no proxy before it", `{"StartUTC":"2021-06-05T04:03:22Z","RequestPath":"/","ClientAddr":"203.0.113.9:1","ClientHost":"203.0.113.9"}`, client, client},
		{"Envoy, the proxy before it trusted", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"203.0.113.9:0","x_forwarded_for":"198.51.100.1,203.0.113.9,10.0.0.5"}`, client, client},
		{"Envoy, the proxy before it unknown", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"10.0.0.5:1","x_forwarded_for":"198.51.100.1,203.0.113.9,10.0.0.5"}`, "10.0.0.5", client},
		{"Envoy, no proxy before it", `{"start_time":"2021-06-05T04:03:22Z","path":"/","downstream_remote_address":"203.0.113.9:1","x_forwarded_for":"203.0.113.9"}`, client, client},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for hops, want := range []string{tc.none, tc.one} {
				e, err := parseLine((&Log{}).parser(nil), tc.line)
				if err != nil {
					t.Fatal(err)
				}
				(&request.ClientAddress{Hops: hops}).Locate(e.Request)
				if got := e.Request.Addr().String(); got != want || got == claimed {
					t.Errorf("%d hops: client %s, want %s", hops, got, want)
				}
			}
		})
	}
}
