package logs

import (
	"testing"
	"time"
)

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
		{
			name: "fields of one's own, IPv6, encoded once more, X-Forwarded-For of the viewer", header: "#Fields: timestamp(ms) c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(Referer) x-forwarded-for",
			line: "1575493351250\t2001:0db8:85a3::8a2e:0370:7334\tPOST\t/a%2520b\tc=d%2526e\t000\thttps://example.com/%257e\t203.0.113.9",
			want: wanted{at: at.Add(time.Second / 4), method: "POST", path: "/a%20b", ip: "2001:db8:85a3::8a2e:370:7334", query: map[string][]string{"c": {"d&e"}}, headers: map[string][]string{"referer": {"https://example.com/%7e"}}},
		},
		{
			name: "spaces between", header: "#Fields: date time c-ip cs-uri-stem", line: "2019-12-04 21:02:31 192.0.2.100 /a",
			want: wanted{at: at, path: "/a", ip: "192.0.2.100"},
		},
		{
			name: "JSON",
			line: `{"date":"2019-12-04","time":"21:02:31","x-edge-location":"SFO53-P7","sc-bytes":"1068","c-ip":"8.29.198.27","cs-method":"GET","cs(Host)":"d3bkd4xdlxgkfz.cloudfront.net","cs-uri-stem":"/feed.xml","sc-status":"304","cs(Referer)":"-","cs(User-Agent)":"Feedly/1.0","cs-uri-query":"a=b","cs(Cookie)":"-","x-edge-result-type":"Hit","x-host-header":"post-tenebras-lire.net","x-forwarded-for":"-"}`,
			want: wanted{at: at, method: "GET", path: "/feed.xml", ip: "8.29.198.27", query: map[string][]string{"a": {"b"}}, headers: map[string][]string{"host": {"post-tenebras-lire.net"}, "user-agent": {"Feedly/1.0"}}, status: 304},
		},
		{
			name: "JSON, milliseconds as a number",
			line: `{"timestamp(ms)":1575493351001,"c-ip":"203.0.113.45","cs-method":"POST","cs-uri-stem":"/v1/responses","sc-status":"504"}`,
			want: wanted{at: at.Add(time.Millisecond), method: "POST", path: "/v1/responses", ip: "203.0.113.45", status: 504},
		},
		{
			name: "real time, whose path has the query too",
			line: `{"timestamp":"1575493351.500","c-ip":"203.0.113.45","cs-method":"GET","cs-host":"example.com","x-host-header":"d1.cloudfront.net","cs-uri-stem":"/a?b=c","cs-uri-query":"b=c","cs-user-agent":"curl/8","sc-status":200}`,
			want: wanted{at: at.Add(time.Second / 2), method: "GET", path: "/a", ip: "203.0.113.45", query: map[string][]string{"b": {"c"}}, headers: map[string][]string{"host": {"example.com"}, "user-agent": {"curl/8"}}, status: 200},
		},

		{name: "no #Fields", line: "1575493351.500\t203.0.113.45\t0.001\t200", err: errNoFieldsLine.Error()},
		{name: "fewer values", header: "#Fields: date time c-ip", line: "2019-12-04\t21:02:31", err: `2 values under 3 names in #Fields`},
		{name: "no time", header: "#Fields: c-ip cs-uri-stem", line: "192.0.2.1\t/", err: `no time: looked for timestamp(ms), timestamp, date; the line has c-ip, cs-uri-stem`},
		{name: "no date", line: `{"time":"21:02:31","cs-uri-stem":"/","c-ip":"192.0.2.1"}`, err: `no time: looked for timestamp(ms), timestamp, date; the line has c-ip, cs-uri-stem, time`},
		{name: "no milliseconds", line: `{"timestamp(ms)":"1575493351.5","cs-uri-stem":"/","c-ip":"192.0.2.1"}`, err: `timestamp(ms): time "1575493351.5" is not Unix milliseconds, such as 1431857103250`},
		{name: "no request", line: `{"timestamp":"1575493351.5","c-ip":"192.0.2.1"}`, err: `no path: looked for cs-uri-stem; the line has c-ip, timestamp`},
	})
}
