package logs

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldLogs reads lines as public logs and configurations have them.
func TestFieldLogs(t *testing.T) {
	const (
		head    = `192.0.2.7 - - [13/Nov/2025:10:44:31 +0000] "`
		caddied = `{"ts":1763030671.7,"logger":"http.log.access","msg":"%","request":{"uri":"/b"},"status":0}`
		named   = "$remote_addr [$time_local] "
		w3c     = "#Fields: date time c-ip cs-uri-stem sc-status cs(User-Agent) cs-uri-query\n2025-11-15\t08:43:04\t192.0.2.1\t"
	)
	cut := func(client string, words int) string {
		return fmt.Sprintf("the client %s is word %d of the line: cut what is before it by sed -E 's/^([^[:space:]]+[[:space:]]+){%d}//'", client, words+1, words)
	}
	for _, tc := range []struct {
		name, template, log string
		want                string // requests, or why the first line has none
	}{
		{"Caddy, no route has handled it", "", strings.Replace(caddied, "%", "NOP", 1), "/b"},
		{"Caddy, an error repeats the request", "", strings.Replace(caddied, "%", "dial tcp 192.0.2.99:80: refused", 1), errMessage.Error()},
		{"Caddy, milliseconds", "", `{"ts":1763030671700,"msg":"handled request","request":{"uri":"/a"}}`, "ts: " + errRange.Error() + "; leave Caddy's time_format out, or set rfc3339 or iso8601"},
		{"Caddy, iso8601", "", `{"ts":"2026-01-04T19:46:44.435+0800","msg":"handled request","request":{"uri":"/a"}}`, "/a"},
		{"Traefik, no status", "", head + `GET /b HTTP/1.1" - - "-" "curl/8" 501 "-" "-" 0ms`, "/b"},
		{"status 0", "", head + `GET /b HTTP/1.1" 0 0 "-" "curl/8"`, "/b"},
		{"quotes that are not escaped", "", head + `GET /x?t=<b class="y">z</b> HTTP/1.0" 404 1164`, `/x?t=<b class="y">z</b>`},
		{"quotes and a status in the query", "", head + `GET /x?t=" 200 HTTP/1.0" 404 1164 "-" "-"`, `/x?t=" 200`},
		{"quotes without an end", "", head + `GET /x?t="y`, errNoStatus.Error()},
		{"escaped quotes before what looks like an end", "", head + `GET /x?t=\" 200 5 HTTP/1.0" 404 1164`, `/x?t=" 200 5`},
		{"a socket", "", strings.Replace(head, "192.0.2.7", "unix:", 1) + `GET /a HTTP/1.1" 200 4`, "/a"},
		{"W3C, its tool first", "", "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time cs-uri-stem cs-uri-query\n2025-11-13 10:44:31 /a x=1", "/a?x=1"},
		{"W3C, its dates first", "", "#Start-Date: 2025-11-13 10:44:31\n#Fields: date time cs-uri-stem\n2025-11-13 10:44:31 /a", "/a"},
		{"W3C, a space between tabs", "", w3c + "/a\t200\tcurl 8\t-", "/a"},
		{"W3C, nothing between tabs", "", w3c + "/a\t200\t\tx=1", "/a?x=1"},
		{"W3C, nothing behind the last tab", "", w3c + "/a\t200\tcurl\t", "/a"},
		{"W3C, quotes of Tomcat", "", "#Fields: date time cs-uri cs(User-Agent)\n2025-11-13 10:44:31 /a?x=1 \"curl 8 (x)\"", "/a?x=1"},
		{"W3C, a quote", "", "#Fields: date time cs-uri cs(User-Agent)\n2025-11-13 10:44:31 /a \"curl", "/a"},
		{"log_format, tabs", `log_format ltsv "time:$time_local\tpath:$request_uri\tip:$remote_addr";`, "time:13/Nov/2025:10:44:31 +0000\tpath:/a\tip:192.0.2.7", "/a"},
		{"log_format, tabs without quotes", `$time_local\t$request_uri`, "13/Nov/2025:10:44:31 +0000\t/a", "/a"},
		{"log_format, both quotes and backslashes", `'$remote_addr \\ \'[$time_local]\' \"$request\"'`, `192.0.2.7 \ '[13/Nov/2025:10:44:31 +0000]' "GET /a HTTP/1.1"`, "/a"},
		{"log_format, escape=none", named + `"$request" $status`, `192.0.2.7 [13/Nov/2025:10:44:31 +0000] "GET /x?t="y" HTTP/1.0" 404`, `/x?t="y"`},
		{"log_format, status 0", named + `"$request" $status`, `192.0.2.7 [13/Nov/2025:10:44:31 +0000] "GET /a HTTP/1.0" 0`, "/a"},

		{"a pod", "", `2025-11-13T11:44:31.5+01:00 stdout F {"start_time":"2025-11-13T10:44:31.479Z","path":"/a"}`, errTextFirst.Error()},
		{"compose", "", `caddy  | ` + caddied, errTextFirst.Error()},
		{"a CSV export of JSON", "", "timestamp,message\n1763030671500,\"{\"\"path\"\":\"\"/a\"\"}\"", errInCSV.Error()},
		{"a CSV value of JSON", "", `"2025-11-13 10:44:31.500","{""path"":""/a""}"`, errInCSV.Error()},
		{"a pod with lines of NGINX", "", `2025-11-13T11:44:31.5+01:00 stdout F ` + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 3)},
		{"compose with lines of NGINX", "", `web-1  | ` + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 2)},
		{"compose with other lines first", "", "web-1  | ready for start up\nweb-1  | " + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 2)},
		{"kubectl --prefix", "", `[pod/web-5d/nginx] ` + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 1)},
		{"docker logs --timestamps", "", `2025-11-13T10:44:31.500000000Z ` + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 1)},
		{"a tab behind the time", "", "1763030671500\t" + head + `GET /a HTTP/1.1" 200 4`, cut("192.0.2.7", 1)},
		{"a short host before the client", "", `localhost ` + head + `GET /a HTTP/1.1" 200 4`, errHostFirst.Error()},
		{"an address before the client", "", `198.51.100.1:80 ` + head + `GET /a HTTP/1.1" 200 4`, errHostFirst.Error()},
		{"a host before the client", "", `www.example.com:443 ` + head + `GET /a HTTP/1.1" 200 4`, errHostFirst.Error()},
		{"Apache's directives", `%h %l %u %t "%r" %>s %b "%{Referer}i" \"%{User-Agent}i\"`, "", `these are Apache's directives, not NGINX's variables: write '$remote_addr - $remote_user [$time_local] "$request" $status $bytes "$http_referer" "$http_user_agent"'`},
		{"Apache's directives, with the host", `%v:%p %a %t %U`, "", `these are Apache's directives, not NGINX's variables: write '$host:$server_port $remote_addr [$time_local] $uri'`},
		{"Apache's line, and letters that nothing reads", `LogFormat "%{c}a %t \"%r\" %>s %D \"%!200,304{Referer}i\" %^FU %%" name`, "", `these are Apache's directives, not NGINX's variables: write '$remote_addr [$time_local] "$request" $status $other "$http_referer" $other %'`},
		{"Apache's times", "%{sec}t %{%Y-%m-%dT%T%z}t %{%d/%b/%Y:%T %z}t %m %U%q", "", "these are Apache's directives, not NGINX's variables: write '$msec $time_iso8601 $time_local $request_method $uri$is_args$args'"},
		{"Tomcat's pattern", `pattern="%h %t &quot;%r&quot; %s %S"`, "", `these are Apache's directives, not NGINX's variables: write '$remote_addr [$time_local] "$request" $status $other'`},
		{"Envoy's operators", `[%START_TIME%] "%REQ(:METHOD)% %REQ(:PATH)%" %RESPONSE_CODE%`, "", errNotNGINX.Error()},
		{"HAProxy's letters", `%ci:%cp [%tr] %ST %B %{+Q}r`, "", errNotNGINX.Error()},
		{"a name", "combined", "", "combined is the name of a log_format: write its text in nginx.conf, or leave the flag out for common and combined"},
	} {
		log := text(tc.log)
		if tc.template != "" {
			template, err := ParseTemplate(tc.template)
			if err != nil {
				if err.Error() != tc.want {
					t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
				}
				continue
			}
			log.Template = template
		}
		log.Format = ""
		var got string
		x, _ := read(t.Context(), &Traffic{Logs: []Log{log}}, func(e *Entry) error {
			query, err := url.QueryUnescape(url.Values(e.Request.Query).Encode())
			if got += e.Request.Path; query != "" {
				got += "?" + query
			}
			return err
		})
		if x.FirstSkipped != nil {
			got += x.FirstSkipped.Err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestProxy: if all requests come from one address, and their lines have another
// one in a later field, the log is told to be that of a server behind a proxy.
func TestProxy(t *testing.T) {
	line := func(peer, later string) string {
		return peer + ` - - [13/Nov/2025:10:44:31 +0000] "GET /a HTTP/1.1" 200 414 "-" "curl/8" ` + later + "\n"
	}
	for _, tc := range []struct{ name, log, want string }{
		{"the client is last", line("10.0.0.5", `"192.0.2.7"`) + line("10.0.0.5", `"192.0.2.8"`), "192.0.2.7"},
		{"some lines have it", line("10.0.0.5", `"-"`) + line("10.0.0.5", `"198.51.100.1, 192.0.2.8"`), "192.0.2.8"},
		{"behind other fields", line("10.0.0.5", `0.001 [web] 10.0.0.9:80, 10.0.0.8:80 "192.0.2.7"`) + line("10.0.0.5", "-"), "192.0.2.7"},
		{"the servers that were asked", line("10.0.0.5", `[web] 10.0.0.9:80 "http://10.0.0.9:80"`) + line("10.0.0.5", "10.0.0.9:80, [2001:db8::1]:80"), ""},
		{"a socket", line("unix:", `"192.0.2.7"`) + line("unix:", `"192.0.2.8"`), "192.0.2.7"},
		{"IIS", "#Fields: date time c-ip cs-uri-stem X-Forwarded-For\n" + strings.Repeat("2025-11-13 10:44:31 10.0.0.5 /a 198.51.100.1,+192.0.2.7\n", 2), "192.0.2.7"},
		{"several peers", line("10.0.0.5", `"192.0.2.7"`) + line("10.0.0.6", `"192.0.2.8"`), ""},
		{"no other address", line("10.0.0.5", "500") + line("10.0.0.5", `"10.0.0.5"`), ""},
		{"one line", line("10.0.0.5", `"192.0.2.7"`), ""},
		{"a header", strings.Repeat(`{"time":1,"path":"/","ip":"10.0.0.5","headers":{"X-Forwarded-For":"192.0.2.7"}}`+"\n", 2), "192.0.2.7"},
	} {
		x, err := read(t.Context(), &Traffic{Logs: []Log{Stream("log", strings.NewReader(tc.log), "")}}, keep(new([]string)))
		got := ""
		if client, ok := x.Client(); ok {
			got = client.String()
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, error %v; want %q", tc.name, got, err, tc.want)
		}
	}
}
