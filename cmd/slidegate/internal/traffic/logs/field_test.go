package logs

import (
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
	for _, tc := range []struct {
		name, template, log string
		want                string // requests, or why the first line has none
	}{
		{"Caddy, no route has handled it", "", strings.Replace(caddied, "%", "NOP", 1), "/b"},
		{"Caddy, an error repeats the request", "", strings.Replace(caddied, "%", "dial tcp 192.0.2.99:80: refused", 1), errMessage.Error()},
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
		{"log_format, tabs", `log_format ltsv "time:$time_local\tpath:$request_uri\tip:$remote_addr";`, "time:13/Nov/2025:10:44:31 +0000\tpath:/a\tip:192.0.2.7", "/a"},
		{"log_format, tabs without quotes", `$time_local\t$request_uri`, "13/Nov/2025:10:44:31 +0000\t/a", "/a"},
		{"log_format, both quotes and backslashes", `'$remote_addr \\ \'[$time_local]\' \"$request\"'`, `192.0.2.7 \ '[13/Nov/2025:10:44:31 +0000]' "GET /a HTTP/1.1"`, "/a"},
		{"log_format, escape=none", named + `"$request" $status`, `192.0.2.7 [13/Nov/2025:10:44:31 +0000] "GET /x?t="y" HTTP/1.0" 404`, `/x?t="y"`},
		{"log_format, status 0", named + `"$request" $status`, `192.0.2.7 [13/Nov/2025:10:44:31 +0000] "GET /a HTTP/1.0" 0`, "/a"},

		{"a pod", "", `2025-11-13T11:44:31.5+01:00 stdout F {"start_time":"2025-11-13T10:44:31.479Z","path":"/a"}`, errTextFirst.Error()},
		{"compose", "", `caddy  | ` + caddied, errTextFirst.Error()},
		{"a pod with lines of NGINX", "", `2025-11-13T11:44:31.5+01:00 stdout F ` + head + `GET /a HTTP/1.1" 200 4`, "3 words stand before the client 192.0.2.7: cut them by sed -E 's/^([^ ]+ +){3}//'"},
		{"compose with lines of NGINX", "", `web-1  | ` + head + `GET /a HTTP/1.1" 200 4`, "2 words stand before the client 192.0.2.7: cut them by sed -E 's/^([^ ]+ +){2}//'"},
		{"a host before the client", "", `www.example.com:443 ` + head + `GET /a HTTP/1.1" 200 4`, errHostFirst.Error()},
		{"Apache's directives", `%h %l %u %t "%r" %>s %b "%{Referer}i" \"%{User-Agent}i\"`, "", `these are Apache's directives, not NGINX's variables: write '$remote_addr - $remote_user [$time_local] "$request" $status $bytes "$http_referer" "$http_user_agent"'`},
		{"Apache's directives, with the host", `%v:%p %a %t %U`, "", `these are Apache's directives, not NGINX's variables: write '$host:$server_port $remote_addr [$time_local] %U'`},
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
		{"the client is last", line("10.0.0.5", `"192.0.2.7"`) + line("10.0.0.5", `"192.0.2.8"`), "10.0.0.5, 192.0.2.7"},
		{"some lines have it", line("10.0.0.5", `"-"`) + line("10.0.0.5", `"198.51.100.1, 192.0.2.8"`), "10.0.0.5, 192.0.2.8"},
		{"several peers", line("10.0.0.5", `"192.0.2.7"`) + line("10.0.0.6", `"192.0.2.8"`), ""},
		{"no other address", line("10.0.0.5", "500") + line("10.0.0.5", `"10.0.0.5"`), ""},
		{"one line", line("10.0.0.5", `"192.0.2.7"`), ""},
		{"a header", strings.Repeat(`{"time":1,"path":"/","ip":"10.0.0.5","headers":{"X-Forwarded-For":"192.0.2.7"}}`+"\n", 2), "10.0.0.5, 192.0.2.7"},
	} {
		x, err := read(t.Context(), &Traffic{Logs: []Log{Stream("log", strings.NewReader(tc.log), "")}}, keep(new([]string)))
		got := ""
		if proxy, client, ok := x.Proxy(); ok {
			got = proxy.String() + ", " + client.String()
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, error %v; want %q", tc.name, got, err, tc.want)
		}
	}
}
