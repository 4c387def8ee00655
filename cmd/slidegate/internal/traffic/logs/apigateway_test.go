package logs

import (
	"testing"
	"time"
)

// Lines of the formats that the console offers.
func TestAPIGateway(t *testing.T) {
	at := on(10, 5, 3)
	runParser(t, APIGateway, []parserCase{
		{
			name: "REST, JSON",
			line: `{ "requestId":"c6af9ac6-7b61", "ip": "203.0.113.9", "caller":"-", "user":"-", "requestTime":"17/May/2015:10:05:03 +0000", "httpMethod":"GET", "resourcePath":"/items/{id}", "status":"200", "protocol":"HTTP/1.1", "responseLength":"12" }`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "/items/{id}", ip: "203.0.113.9", status: 200},
		},
		{
			name: "HTTP, JSON",
			line: `{ "requestId":"JKJaXmPLvHcESHA=", "ip": "203.0.113.9", "requestTime":"17/May/2015:10:05:03 +0000", "httpMethod":"GET","routeKey":"GET /items/{id}", "status":"403","protocol":"HTTP/1.1", "responseLength":"23", "extendedRequestId": "JKJaXmPLvHcESHA=" }`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "GET /items/{id}", ip: "203.0.113.9", status: 403},
		},
		{
			name: "more variables, stage in the path, milliseconds",
			line: `{"requestTimeEpoch":"1431857103250","requestTime":"17/May/2015:10:05:03 +0000","sourceIp":"2001:db8::1","httpMethod":"PUT","path":"/prod/items/7","stage":"prod","resourcePath":"/items/{id}","apiKeyId":"k1","userAgent":"curl/8","domainName":"api.example.com","status":200}`,
			want: wanted{at: at.Add(time.Second / 4), method: "PUT", path: "/items/7", route: "/items/{id}", stage: "prod", ip: "2001:db8::1", apiKey: "k1",
				headers: map[string][]string{"user-agent": {"curl/8"}, "host": {"api.example.com"}}, status: 200},
		},
		{
			name: "any route",
			line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","httpMethod":"GET","path":"/a","routeKey":"$default","status":"-"}`,
			want: wanted{at: at, method: "GET", path: "/a", route: "$default", ip: "203.0.113.9"},
		},
		{
			name: "WebSocket, JSON",
			line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"CONNECT","routeKey":"$connect","status":"200"}`,
			want: wanted{at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9", status: 200},
		},
		{name: "WebSocket, a message", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"MESSAGE","routeKey":"$default"}`, err: `no path: looked for path; the line has eventType, ip, requestTime, routeKey`},
		{name: "WebSocket, a message of a route with a slash", line: `{"requestTime":"17/May/2015:10:05:03 +0000","ip":"203.0.113.9","eventType":"MESSAGE","routeKey":"chat/send"}`, err: `no path: looked for path; the line has eventType, ip, requestTime, routeKey`},
		{
			name: "WebSocket, CSV",
			line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,CONNECT,$connect,200,c6af9ac6-7b61`,
			want: wanted{at: at, method: "GET", path: "/", route: "$connect", ip: "203.0.113.9", status: 200},
		},
		{name: "WebSocket, CSV, a message", line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,MESSAGE,$default,200,c6af9ac6-7b61`, err: errNoRequest.Error()},
		{
			name: "REST, CSV",
			line: `203.0.113.9,-,-,17/May/2015:10:05:03 +0000,GET,/items/{id},HTTP/1.1,200,12,c6af9ac6-7b61`,
			want: wanted{at: at, method: "GET", path: "/items/{id}", route: "/items/{id}", ip: "203.0.113.9", status: 200},
		},
		{
			name: "HTTP, CSV",
			line: `203.0.113.9,17/May/2015:10:05:03 +0000,POST,POST /items,HTTP/1.1,201,12,JKJaXmPLvHcESHA=,JKJaXmPLvHcESHA=`,
			want: wanted{at: at, method: "POST", path: "/items", route: "POST /items", ip: "203.0.113.9", status: 201},
		},
		{name: "no time", line: `{"path":"/","ip":"203.0.113.9","a, b":1}`, err: `no time: looked for requestTimeEpoch, requestTime; the line has "a, b", ip, path`},
		{name: "seconds for milliseconds", line: `{"path":"/","requestTimeEpoch":14318571030000000}`, err: `requestTimeEpoch: ` + errRange.Error()},
		{name: "CSV without a time", line: `203.0.113.9,GET,/items`, err: errNoAPIGateway.Error()},
		{name: "CSV cut", line: `203.0.113.9,17/May/2015:10:05:03 +0000,GET,/items`, err: errNoAPIGateway.Error()},
		{name: "XML", line: `<request id="c6af"> <ip>203.0.113.9</ip> </request>`, err: errNoAPIGateway.Error()},
	})
}
