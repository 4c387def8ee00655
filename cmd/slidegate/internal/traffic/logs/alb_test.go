package logs

import (
	"testing"
	"time"
)

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
		{
			name: "IPv6, no path, and the line of an old year",
			line: `h2 2018-07-02T22:22:48.364Z app/a/b 2001:db8::1:48160 10.0.0.66:9000 0.000 0.002 0.000 - - 5 257 "GET https://10.0.2.105:443?a=b HTTP/2.0" "curl/7.46.0"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "2001:db8::1", headers: agent("10.0.2.105"), query: map[string][]string{"a": {"b"}}},
		},
		{
			name: "IPv6 in brackets, quotes in the agent",
			line: `h2 2018-07-02T22:22:48.364Z app/a/b [2001:db8::1]:48160 - -1 -1 -1 460 - 5 257 "GET https://h:443/ HTTP/2.0" "a \"b\" \x41"`,
			want: wanted{at: created, method: "GET", path: "/", ip: "2001:db8::1", headers: map[string][]string{"host": {"h"}, "user-agent": {`a "b" A`}}, status: 460},
		},
		{
			name: "no HTTP",
			line: `http 2021-03-17T18:54:14.216357Z app/awseb-AWSEB-1KGU6EBAG3FAD/7f0dc2b05788640f 113.241.19.90:15070 - -1 -1 -1 400 - 0 272 "- http://awseb-awseb-1kgu6fbag3fad-640112591.us-east-1.elb.amazonaws.com:80- -" "-" - - - "-" "-" "-" - 2021-03-17T18:54:13.967000Z "-" "-" "-" "-" "-" "-" "-"`,
			err:  `no request was sent`,
		},
		{name: "cut before the request", line: `http 2018-07-02T22:23:00.186641Z app/a/b 192.0.2.1:2817 10.0.0.1:80 0.000`, err: errNoALB.Error()},
		{name: "cut in the request", line: `http 2018-07-02T22:23:00.186641Z app/a/b 192.0.2.1:2817 - 0 0 0 200 200 0 0 "GET htt`, err: errQuote.Error()},
		{name: "no time", line: `http - app/a/b 192.0.2.1:2817 - 0 0 0 200 200 0 0 "GET http://h:80/ HTTP/1.1"`,
			err: `time "-" is neither plain Unix seconds, such as 1431857103.25, nor RFC 3339`},
		{name: "network load balancer", line: `tls 2.0 2018-12-20T02:59:40 net/a/b 192.0.2.1:2817 192.0.2.2:443 5 2 98 246 - a "b" c`, err: errNoALB.Error()},
	})
}
