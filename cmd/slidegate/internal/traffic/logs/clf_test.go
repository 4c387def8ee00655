package logs

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// on returns a time of the day that most test lines are from.
func on(hour, minute, second int) time.Time {
	return time.Date(2015, time.May, 17, hour, minute, second, 0, time.UTC)
}

func TestCLF(t *testing.T) {
	headers := func(referer, agent string) map[string][]string {
		return map[string][]string{"referer": {referer}, "user-agent": {agent}}
	}
	at, client := on(10, 5, 3), "203.0.113.9 - - [17/May/2015:10:05:03 +0000] "
	get := func(path string) wanted {
		return wanted{status: 200, at: at, method: "GET", path: path, ip: "203.0.113.9"}
	}
	runParser(t, CLF, []parserCase{
		{name: "common", line: client + `"GET /a HTTP/1.1" 200 2326`, want: get("/a")},
		{name: "combined", line: client + `"POST /a HTTP/2.0" 201 - "http://example.com/" "curl/8"`, want: wanted{status: 201, at: at, method: "POST", path: "/a", ip: "203.0.113.9", headers: headers("http://example.com/", "curl/8")}},
		{name: "API Gateway, as its documentation has it", line: `203.0.113.9 - - [17/May/2015:10:05:03 +0000]"GET /items/{id} HTTP/1.1" 200 12 c6af9ac6-7b61 Ab1=`, want: get("/items/{id}")},
		{name: "API Gateway, a route of an HTTP API", line: client + `"GET ANY /items/{id} HTTP/1.1" 200 12 JKJaXmPLvHcESHA=`, want: get("/items/{id}")},
		{name: "API Gateway, a connection of a WebSocket API", line: client + `"- $connect -" 200 - Ab1=`, want: wanted{status: 200, at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9"}},
		{name: "Traefik, behind a proxy that it trusts", line: `198.51.100.1, 203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 404 19 "-" "-" 1 "-" "-" 0ms`, want: wanted{status: 404, at: at, method: "GET", path: "/", ip: "203.0.113.9"}},
		{name: "headers that were not sent", line: client + `"GET / HTTP/1.1" 200 0 "-" "-"`, want: get("/")},
		{name: "quotes and bytes in a header", line: client + `"GET / HTTP/1.1" 200 0 "\xe4\t\\ \q\xg" "say \"hi\"\\"`, want: wanted{status: 200, at: at, method: "GET", path: "/", ip: "203.0.113.9", headers: headers("\xe4\t\\ \\q\\xg", `say "hi"\`)}},
		{name: "fields after the user agent", line: client + `"GET / HTTP/1.1" 200 0 "a" "b" "10.0.0.1" 0.003`, want: wanted{status: 200, at: at, method: "GET", path: "/", ip: "203.0.113.9", headers: headers("a", "b")}},
		{name: "a time in place of the headers", line: client + `"GET / HTTP/1.1" 200 0 0.003`, want: get("/")},
		{name: "user with spaces, zone, IPv6", line: `2001:db8::1 - Jo [x] Doe [17/May/2015:12:05:03 +0200] "GET / HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "GET", path: "/", ip: "2001:db8::1"}},
		{name: "no client", line: `- - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "GET", path: "/"}},
		{name: "query, once decoded", line: client + `"GET /a%2Fb?q=x%20y&q=z&bad=%zz&e HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "GET", path: "/a%2Fb", ip: "203.0.113.9", query: map[string][]string{"q": {"x y", "z"}, "e": {""}}}},
		{name: "no protocol", line: client + `"GET /a" 200 0`, want: get("/a")},
		{name: "space in the target", line: client + `"GET /a b HTTP/1.1" 200 0`, want: get("/a b")},
		{name: "absolute form", line: client + `"GET HTTP://example.com/a/b?c=d HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "GET", path: "/a/b", ip: "203.0.113.9", headers: map[string][]string{"host": {"example.com"}}, query: map[string][]string{"c": {"d"}}}},
		{name: "absolute form of a host alone", line: client + `"GET http://example.com HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "GET", path: "/", ip: "203.0.113.9", headers: map[string][]string{"host": {"example.com"}}}},
		{name: "options of the server", line: client + `"OPTIONS * HTTP/1.1" 200 0`, want: wanted{status: 200, at: at, method: "OPTIONS", path: "*", ip: "203.0.113.9"}},
		{name: "cut off in the user agent", line: client + `"GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0 (X11`, want: wanted{status: 200, at: at, method: "GET", path: "/", ip: "203.0.113.9", headers: map[string][]string{"user-agent": {"Mozilla/5.0 (X11"}}}},
		{name: "a message of a WebSocket API", line: client + `"- $default -" 200 - Ab1=`, err: `no request was sent`},
		{name: "one word", line: `hello`, err: `no client address: not the common or combined log format`},
		{name: "Apache's vhost_combined", line: `www.example.com:443 203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: errHostFirst.Error()},
		{name: "vhost_combined with names of clients", line: `127.0.1.1:80 client.example.com - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: errHostFirst.Error()},
		{name: "vhost_combined, a list of clients", line: `127.0.1.1:80 203.0.113.9, 198.51.100.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: errHostFirst.Error()},
		{name: "a peer and a client", line: `2001:db8::1 [203.0.113.9]:50001 - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: errHostFirst.Error()},
		{name: "host name", line: `crawl.example.com - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: `client "crawl.example.com" is not an IP address`},
		{name: "no time", line: `203.0.113.9 - - "GET / HTTP/1.1" 200 0`, err: errNoStamp.Error()},
		{name: "time never closed", line: `203.0.113.9 - - [17/May/2015:10:05:03 +0000`, err: errNoStamp.Error()},
		{name: "31 April", line: `203.0.113.9 - - [31/Apr/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: `time "31/Apr/2015:10:05:03 +0000" is not like 02/Jan/2006:15:04:05 -0700`},
		{name: "year 9999", line: `203.0.113.9 - - [31/Dec/9999:10:05:03 +0000] "GET / HTTP/1.1" 200 0`, err: errRange.Error()},
		{name: "no request was sent", line: client + `"-" 408 0`, err: `no request was sent`},
		{name: "empty request", line: client + `"" 400 0`, err: `no request was sent`},
		{name: "TLS to a plain port", line: client + `"\x16\x03\x01 \x02" 400 0`, err: `"\x16\x03\x01 \x02" is not a request line such as "GET / HTTP/1.1"`},
		{name: "no target", line: client + `"GET" 400 0`, err: `"GET" is not a request line such as "GET / HTTP/1.1"`},
		{name: "target missing before the protocol", line: client + `"GET  HTTP/1.1" 400 0`, err: `"GET  HTTP/1.1" is not a request line such as "GET / HTTP/1.1"`},
		{name: "request not quoted", line: client + `GET / HTTP/1.1 200 0`, err: errNoStamp.Error()},
		{name: "request never closed", line: client + `"GET / HTTP/1.1\"`, err: errQuote.Error()},
		{name: "cut after the request", line: client + `"GET / HTTP/1.1"`, err: errNoStatus.Error()},
		{name: "size is no number", line: client + `"GET / HTTP/1.1" 200 big`, err: errNoStatus.Error()},
	})
}

func TestCSV(t *testing.T) {
	at := on(10, 5, 3)
	const all = "time,method,path,ip,header.X-User,route,apikey,jwt.sub"
	runParser(t, CSV, []parserCase{
		{
			name: "every column", header: all,
			line: `2015-05-17T10:05:03Z,PUT,/a?b=c,203.0.113.9,7,/{x},k1,u1`,
			want: wanted{
				at: at, method: "PUT", path: "/a", ip: "203.0.113.9", route: "/{x}",
				query: map[string][]string{"b": {"c"}}, headers: map[string][]string{"X-User": {"7"}},
				apiKey: "k1", claims: map[string]any{"sub": "u1"},
			},
		},
		{name: "empty values are missing", header: all, line: `1431857103,,/,,,,,`, want: wanted{at: at, path: "/"}},
		{name: "time alone", header: "path,time", line: `/,1431857103.000000001`, want: wanted{at: at.Add(1), path: "/"}},
		{name: "any order, spaces in the header line", header: "path, time", line: `/a,1431857103`, want: wanted{at: at, path: "/a"}},
		{name: "quoted", header: "time,path", line: `1431857103,"/a,b""c"`, want: wanted{at: at, path: `/a,b"c`}},
		{name: "a header twice", header: "path,time,header.a,header.a", line: `/,1431857103,1,2`, want: wanted{
			at: at, path: "/", headers: map[string][]string{"a": {"1", "2"}},
		}},
		{name: "claims by their exact names", header: "path,time,jwt.https://example.com/plan,jwt.a.b,jwt.", line: `/,1431857103,pro,,x`, want: wanted{
			at: at, path: "/", claims: map[string]any{"https://example.com/plan": "pro"},
		}},
		{name: "unknown columns", header: "path,time,size", line: `/,1431857103,200`, want: wanted{at: at, path: "/"}},
		{name: "the answer's status", header: "path,time,status", line: `/,1431857103,429`, want: wanted{at: at, path: "/", status: 429}},
		{name: "absent as API Gateway logs it", header: "time,method,path,route,apikey,header.x,jwt.sub", line: `1431857103,-,/,-,-,-,-`, want: wanted{at: at, path: "/"}},
		{name: "client with a port", header: "path,time,ip", line: `/,1431857103,203.0.113.9:5543`, want: wanted{at: at, path: "/", ip: "203.0.113.9"}},
		{name: "a status that is none", header: "path,time,status", line: `/,1431857103,000`, want: wanted{at: at, path: "/"}},

		{name: "no time", header: "time,path", line: `,/`, err: `no time: looked for time; the line has path`},
		{name: "too few values", header: "time,path", line: `1431857103`, err: `1 values under 2 columns`},
		{name: "too many values", header: "time", line: `1431857103,/`, err: `2 values under 1 columns`},
		{name: "quote never closed", header: "time,path", line: `1431857103,"/a`, err: `line is not CSV: extraneous or missing " in quoted-field`},
		{name: "client is a name", header: "path,time,ip", line: `/,1431857103,localhost`, err: `client "localhost" is not an IP address`},
		{name: "no column time", header: "path,ip", line: `/,203.0.113.9`, err: `header line names no column time`},
		{name: "a column twice", header: "time,path,path", line: `1431857103,/,/`, err: `header line names "path" twice`},
		{name: "a claim twice", header: "time,jwt.sub,jwt.sub", line: `1431857103,1,2`, err: `header line names "jwt.sub" twice`},
		{name: "header line is no CSV", header: `time,"path`, line: `1431857103,/`, err: `line is not CSV: extraneous or missing " in quoted-field`},
	})
}

func TestCSVWarnsOfUnusedColumns(t *testing.T) {
	var warned []string
	p := csvLog{warn: func(text string) { warned = append(warned, text) }}
	if _, err := p.parse("time,methd,status,header.,jwt.sub,jwt.,jwt./a/b,apikey", &record{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"columns not used: methd, header., jwt., jwt./a/b"}; !reflect.DeepEqual(warned, want) {
		t.Errorf("warned %q, want %q", warned, want)
	}
}

func TestJSONL(t *testing.T) {
	at := on(10, 5, 3)
	runParser(t, JSONL, []parserCase{
		{
			name: "every field",
			line: `{"time":"2015-05-17T12:05:03.000000001+02:00","method":"PUT","path":"/a?b=c","ip":"203.0.113.9","route":"/{x}",` +
				`"headers":{"X-User":"7","accept":["a","b"],"empty":"","none":null},"apikey":"k1","jwt":{"sub":"7","scope":["a"]},"status":200}`,
			want: wanted{
				at: at.Add(1), method: "PUT", path: "/a", ip: "203.0.113.9", route: "/{x}",
				query:   map[string][]string{"b": {"c"}},
				headers: map[string][]string{"X-User": {"7"}, "accept": {"a", "b"}, "empty": {""}},
				apiKey:  "k1", claims: map[string]any{"sub": "7", "scope": []any{"a"}}, status: 200,
			},
		},
		{name: "a status as API Gateway logs it", line: `{"path":"/","time":1431857103,"status":"403"}`, want: wanted{at: at, path: "/", status: 403}},
		{name: "a status that is none", line: `{"path":"/","time":1431857103,"status":"-"}`, want: wanted{at: at, path: "/"}},
		{name: "time alone", line: `{"path":"/","time":1431857103}`, want: wanted{at: at, path: "/"}},
		{name: "fraction kept", line: `{"path":"/","time":1431857103.123456789}`, want: wanted{at: at.Add(123456789), path: "/"}},
		{name: "fraction in a string", line: `{"path":"/","time":"1431857103.5"}`, want: wanted{at: at.Add(time.Second / 2), path: "/"}},
		{name: "below a nanosecond", line: `{"path":"/","time":1431857103.0000000019}`, want: wanted{at: at.Add(1), path: "/"}},
		{name: "before the epoch", line: `{"path":"/","time":-0.25}`, want: wanted{at: time.Unix(0, -250000000), path: "/"}},
		{name: "the earliest time", line: `{"path":"/","time":-1262304000}`, want: wanted{at: time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC), path: "/"}},
		{name: "the latest time", line: `{"path":"/","time":7258118399.999999999}`, want: wanted{at: time.Date(2200, 1, 1, 0, 0, 0, -1, time.UTC), path: "/"}},
		{name: "API Gateway's time", line: `{"path":"/","requestId":"c6af","time":"17/May/2015:12:05:03 +0200"}`, want: wanted{at: on(10, 5, 3), path: "/"}},
		{name: "header names in any case", line: `{"path":"/","time":1431857103,"headers":{"A":"1","a":"2"}}`, want: wanted{
			at: at, path: "/", headers: map[string][]string{"A": {"1"}, "a": {"2"}},
		}},

		{name: "numbers keep their digits", line: `{"path":"/","time":1431857103,"jwt":{"sub":12345678901234567890,"a":{"b":[1.50]}}}`, want: wanted{
			at: at, path: "/",
			claims: map[string]any{"sub": json.Number("12345678901234567890"), "a": map[string]any{"b": []any{json.Number("1.50")}}},
		}},
		{name: "a token without claims", line: `{"path":"/","time":1431857103,"jwt":{}}`, want: wanted{at: at, path: "/", claims: map[string]any{}}},
		{name: "no token", line: `{"path":"/","time":1431857103,"jwt":null,"apikey":null}`, want: wanted{at: at, path: "/"}},

		{name: "stage and parameters", line: `{"time":1431857103,"path":"/prod/v1/7?a=b","stage":"prod","path_params":{"id":"7"}}`, want: wanted{
			at: at, path: "/v1/7", query: map[string][]string{"a": {"b"}}, stage: "prod", pathParams: map[string]string{"id": "7"},
		}},
		{name: "absent, as API Gateway says it", line: `{"time":1431857103,"method":"-","path":"/","route":"-","stage":"-","apikey":"-","headers":{"a":"-"},"jwt":{"sub":"-","plan":"-"}}`,
			want: wanted{at: at, path: "/"}},
		{name: "a connection of a WebSocket API", line: `{"time":1431857103,"method":"-","path":"-","route":"$connect","ip":"203.0.113.9"}`, want: wanted{at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9"}},
		{name: "ids are numbers", line: `{"time":1431857103,"path":"/","apikey":5,"stage":7}`, want: wanted{at: at, path: "/", apiKey: "5", stage: "7"}},
		{name: "JSON by NGINX", line: `{"time":"2015-05-17T10:05:03+00:00","remote_addr":"203.0.113.9","request":"GET / HTTP/1.1","status":"200"}`, err: errNGINX.Error()},
		{name: "a program's remote_addr", line: `{"time":1431857103,"level":"INFO","method":"GET","path":"/a","remote_addr":"203.0.113.9:5"}`, err: `JSON with remote_addr in place of ip: rename it by jq -c '.ip = .remote_addr', or give NGINX's log_format by --log-format`},
		{name: "a Unix socket of Go", line: `{"time":1431857103,"path":"/a","ip":"@"}`, want: wanted{at: at, path: "/a"}},
		{name: "an absent claim", line: `{"path":"/","time":1431857103,"jwt":{"sub":"7","plan":"-"}}`, want: wanted{at: at, path: "/", claims: map[string]any{"sub": "7"}}},

		{name: "a decision of serve", line: `{"time":1431857103,"level":"INFO","msg":"decision","method":"OPTIONS","path":"/a","ip":"203.0.113.9","allowed":true,"reason":"preflight","headers":{"origin":["-"],"access-control-request-method":["PUT"]}}`,
			want: wanted{at: at, method: "OPTIONS", path: "/a", ip: "203.0.113.9", headers: map[string][]string{"origin": {"-"}, "access-control-request-method": {"PUT"}}}},
		{name: "a request in a program's log", line: `{"time":1431857103,"level":30,"msg":"request","path":"/a"}`, want: wanted{at: at, path: "/a"}},
		{name: "another message of serve", line: `{"time":1431857103,"level":"INFO","msg":"listening","url":"http://127.0.0.1:8080"}`, err: `no path: looked for path; the line has level, msg, time, url`},
		{name: "denials of serve", line: `{"time":1431857103,"level":"INFO","msg":"denials","rule":"api","reason":"limited","denied":1}`, err: `no path: looked for path; the line has denied, level, msg, reason, rule, time`},

		{name: "no JSON", line: `GET /`, err: `line is not JSON: invalid character 'G' looking for beginning of value`},
		{name: "two on a line", line: `{"time":1} {"time":2}`, err: `line is not JSON: invalid character '{' after top-level value`},
		{name: "no object", line: `[1431857103]`, err: `JSON without an object on each line: jq -c . FILE writes one, and jq -c '.[]' FILE those of a list`},
		{name: "no time", line: `{"path":"/"}`, err: `no time: looked for time; the line has path`},
		{name: "null has no field", line: `null`, err: `no path: looked for path; the line has no field with a value`},
		{name: "null time", line: `{"path":"/","time":null}`, err: `no time: looked for time; the line has path`},
		{name: "exponent", line: `{"path":"/","time":1.4e9}`, err: `time: time "1.4e9" is neither plain Unix seconds, such as 1431857103.25, nor RFC 3339`},
		{name: "no zone", line: `{"path":"/","time":"2015-05-17T10:05:03"}`, err: `time: time "2015-05-17T10:05:03" is neither RFC 3339, such as 2015-05-17T10:05:03Z, nor Unix seconds`},
		{name: "milliseconds", line: `{"path":"/","time":1431857103000}`, err: "time: " + errRange.Error()},
		{name: "after the latest time", line: `{"path":"/","time":7258118400}`, err: "time: " + errRange.Error()},
		{name: "before the earliest time", line: `{"path":"/","time":-1262304000.000000001}`, err: "time: " + errRange.Error()},
		{name: "more nanoseconds than fit an integer", line: `{"path":"/","time":9223372036.854775808}`, err: "time: " + errRange.Error()},
		{name: "year 9999", line: `{"path":"/","time":"9999-12-31T00:00:00Z"}`, err: "time: " + errRange.Error()},
		{name: "method is a list", line: `{"path":"/","time":1,"method":["GET"]}`, err: `field method is of the wrong type: want a text`},
		{name: "method with a space", line: `{"path":"/","time":1,"method":"GET /"}`, err: `"GET /" is not an HTTP method`},
		{name: "headers in a list", line: `{"path":"/","time":1,"headers":["a"]}`, err: `field headers is of the wrong type: array`},
		{name: "header is a number", line: `{"path":"/","time":1,"headers":{"a":5}}`, err: errHeaders.Error()},
		{name: "header of numbers", line: `{"path":"/","time":1,"headers":{"a":[5]}}`, err: errHeaders.Error()},
		{name: "the token itself", line: `{"path":"/","time":1,"jwt":"eyJhbGciOi.J9.x"}`, err: errClaims.Error()},
		{name: "claims in a list", line: `{"path":"/","time":1,"jwt":[{"sub":"7"}]}`, err: errClaims.Error()},
		{name: "key is an object", line: `{"path":"/","time":1,"apikey":{"id":"k1"}}`, err: `field apikey is of the wrong type: want a text`},
		{name: "parameters are a list", line: `{"path":"/","time":1,"path_params":["7"]}`, err: `field path_params is of the wrong type: array`},
		{name: "client is a name", line: `{"path":"/","time":1,"ip":"localhost"}`, err: `client "localhost" is not an IP address`},
	})
}

func TestBelowStage(t *testing.T) {
	for _, tc := range []struct{ stage, route, target, want string }{
		{"prod", "", "/prod/v1/items", "/v1/items"},
		{"prod", "", "/prod", ""},
		{"prod", "", "/prod?a=/b", "?a=/b"},
		{"prod", "/", "/prod/", "/"},
		{"prod", "", "/production/v1", "/production/v1"},
		{"prod", "", "/v1/prod/items", "/v1/prod/items"},
		{"", "", "//v1", "//v1"},
		{"$default", "$default", "/v1", "/v1"},
		{"v1", "/v1/items/{id}", "/v1/items/7", "/v1/items/7"}, // behind a domain of its own
		{"v1", "/v1/items/{id}", "/v1/v1/items/7", "/v1/items/7"},
		{"v1", "GET /items/{id}", "/v1/items/7?a=/b/c", "/items/7?a=/b/c"},
		{"v1", "/{proxy+}", "/v1/items/7/", "/items/7/"},
		{"v1", "/items/{proxy+}", "/v1/items/7/8", "/items/7/8"},
	} {
		if got := belowStage(tc.target, tc.stage, tc.route); got != tc.want {
			t.Errorf("stage %q, route %q: %q is %q below the stage, want %q", tc.stage, tc.route, tc.target, got, tc.want)
		}
	}
}
