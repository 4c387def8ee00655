package logs

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

func TestCaddy(t *testing.T) {
	at := time.Date(2022, 3, 9, 21, 30, 1, 524102400, time.UTC)
	runParser(t, Caddy, []parserCase{
		{
			name: "as its documentation shows it",
			line: `{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Authorization":["REDACTED"],"X-Forwarded-For":["203.0.113.9"]},"tls":{"resumed":false,"version":772}},"bytes_read": 0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}`,
			want: wanted{at: at, method: "GET", path: "/a", query: map[string][]string{"b": {"c"}}, ip: "127.0.0.1", status: 200,
				headers: map[string][]string{"host": {"localhost"}, "User-Agent": {"curl/7.82.0"}, "Accept": {"*/*"}, "X-Forwarded-For": {"203.0.113.9"}}},
		},
		{
			name: "behind a trusted proxy",
			line: `{"ts":"2022-03-09T21:30:01.5241024Z","msg":"handled request","request":{"remote_ip":"10.0.0.5","client_ip":"203.0.113.9","method":"GET","uri":"/","headers":{"X-Forwarded-For":["198.51.100.1, 203.0.113.9"]}},"status":404}`,
			want: wanted{at: at, method: "GET", path: "/", ip: "203.0.113.9", status: 404},
		},
		{name: "error of a request that is logged once more", line: `{"level":"error","ts":1646861401.5,"logger":"http.log.error","msg":"dial tcp","request":{"remote_ip":"127.0.0.1","method":"GET","uri":"/"},"status":502}`, err: errMessage.Error()},
		{name: "message", line: `{"level":"info","ts":1646861401.5,"logger":"admin","msg":"admin endpoint started"}`, err: errMessage.Error()},
		{name: "no time", line: `{"request":{"uri":"/"}}`, err: `no time: looked for ts; the line has request, request.uri`},
		{name: "time of another form", line: `{"ts":"2022/03/09 21:30:01","request":{"uri":"/"}}`, err: `ts: time "2022/03/09 21:30:01" is neither RFC 3339, such as 2015-05-17T10:05:03Z, nor Unix seconds`},
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
		{
			name: "behind a trusted proxy, IPv6",
			line: `{"ClientAddr":"10.0.0.5:49880","ClientHost":"198.51.100.1, 2001:db8::1","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/","request_X-Forwarded-For":"198.51.100.1, 2001:db8::1","time":"2021-06-05T04:03:22Z"}`,
			want: wanted{at: at.Truncate(time.Second), method: "GET", path: "/", ip: "2001:db8::1", status: 200},
		},
		{
			name: "address with a port alone",
			line: `{"ClientAddr":"[2001:db8::1]:49880","StartUTC":"2021-06-05T04:03:22Z","RequestMethod":"GET","RequestPath":"/"}`,
			want: wanted{at: at.Truncate(time.Second), method: "GET", path: "/", ip: "2001:db8::1"},
		},
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
		{
			name: "Envoy Gateway, IPv6",
			line: `{":authority":"reviews:9080","downstream_remote_address":"[2001:db8::1]:40937","method":"GET","response_code":429,"response_flags":"RL","start_time":"2023-03-23T04:09:46.421Z","user-agent":"curl/8","x-envoy-origin-path":"/reviews/0","x-forwarded-for":"203.0.113.9"}`,
			want: wanted{at: at, method: "GET", path: "/reviews/0", ip: "2001:db8::1", status: 429, headers: map[string][]string{"host": {"reviews:9080"}, "user-agent": {"curl/8"}}},
		},
		{
			name: "as text", line: `{"time":"2023-03-23T04:09:46.421Z","method":"GET","path":"/","response_code":"0","downstream_remote_address":"172.17.0.1","x_forwarded_for":"-","user_agent":"-"}`,
			want: wanted{at: at, method: "GET", path: "/", ip: "172.17.0.1"},
		},
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
