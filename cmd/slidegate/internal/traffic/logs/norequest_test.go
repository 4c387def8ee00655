package logs

import (
	"fmt"
	"strings"
	"testing"
)

// A line is a request if it has a path, in whatever format. Any other line is
// skipped: it never counts as GET /.
func TestNoRequest(t *testing.T) {
	const clf = `192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] `
	docker := strings.Join([]string{
		`{"log":"/entrypoint.sh: configuration complete\n","stream":"stdout","time":"2025-11-13T10:44:30.02Z"}`,
		`{"log":"192.0.2.1 - - [13/Nov/2025:10:44:31 +0000] \"POST /login HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n","stream":"stdout","time":"2025-11-13T10:44:31.12Z"}`,
	}, "\n")
	messages := func(name string) string {
		return strings.ReplaceAll(`{"level":"info","time":"2025-11-13T10:44:30Z","message":"listening on :8080"}
{"level":"info","method":"GET","path":"/v1/items","ip":"192.0.2.7","status":200,"time":"2025-11-13T10:44:31Z","message":"request"}
{"level":"warn","time":"2025-11-13T10:44:32Z","message":"slow query","took":1.2}
{"level":"info","method":"POST","path":"/v1/items","ip":"192.0.2.8","status":201,"time":"2025-11-13T10:44:33Z","message":"request"}`, `"message"`, `"`+name+`"`)
	}
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
		{"messages among requests", "", messages("message"), "GET /v1/items, POST /v1/items", 2, noPath + "level, message, time"},
		{"messages under another name", "", messages("msg"), "GET /v1/items, POST /v1/items", 2, noPath + "level, msg, time"},
		{"a path under another name", "", `{"time":1,"method":"GET","uri":"/a"}`, "", 1, noPath + "method, time, uri"},
		{"a path in another case", "", `{"time":1,"method":"GET","Path":"/a"}`, "", 1, noPath + "Path, method, time"},
		{"a method alone", "", `{"time":1,"method":"GET"}`, "", 1, noPath + "method, time"},
		{"a path alone", "", `{"time":1,"path":"/a"}`, " /a", 0, ""},
		{"a route for the path", "", `{"time":1,"method":"GET","route":"/items/{id}"}`, "GET /items/{id}", 0, ""},
		{"a route that says no path", "", `{"time":1,"method":"GET","route":"$default"}`, "", 1, noPath + "method, route, time"},

		{"path null", "", `{"time":1,"path":null}`, "", 1, noPath + "time"},
		{"path empty", "", `{"time":1,"path":""}`, "", 1, noPath + "time"},
		{"path absent", "", `{"time":1,"path":"-"}`, "", 1, noPath + "time"},
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
		{"CSV, no method", "", "time,path\n1,/a", " /a", 0, ""},
		{"CSV, a stage", "", "time,path,stage\n1,/prod/a,prod", " /a", 0, ""},
		{"API Gateway", "", `{"requestTime":"17/May/2015:10:05:03 +0000","httpMethod":"GET","routeKey":"$default"}`, "", 1, noPath + "httpMethod, requestTime, routeKey"},
		{"CloudFront", "", `{"timestamp":"1","cs-method":"GET"}`, "", 1, "no path: looked for cs-uri-stem; the line has cs-method, timestamp"},
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
