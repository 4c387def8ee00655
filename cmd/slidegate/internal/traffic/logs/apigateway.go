package logs

import (
	"errors"
	"strings"
	"time"
)

var errNoAPIGateway = errors.New("no CSV of API Gateway: want the time after the client, such as 17/May/2015:10:05:03 +0000, and method, route, protocol and status after it")

// apiGateway has the fields of the JSON formats that the console of API Gateway
// offers: "Set up CloudWatch logging for REST APIs" and "Configure logging for
// HTTP APIs", and some names that people use for other variables.
//
// The console's formats have no path. The route, such as /items/{id}, stands for
// it.
var apiGateway = table{
	shared: []string{"requestTime", "requestTimeEpoch"},
	times:  []timeField{{"requestTimeEpoch", milliseconds}, {"requestTime", anyTime}},
	path:   []string{"path"},
	fields: []field{
		{[]string{"ip", "sourceIp"}, setIP},
		{[]string{"httpMethod", "method"}, setMethod},
		{[]string{"resourcePath", "routeKey", "route"}, setRoute},
		{[]string{"stage"}, setStage},
		{[]string{"status"}, setStatus},
		{[]string{"apiKeyId", "apikey"}, setAPIKey},
		{[]string{"userAgent"}, setHeader("user-agent")},
		{[]string{"domainName"}, setHeader("host")},
	},
}

// routeConnect is the route of a WebSocket API's only request that an authorizer
// decides, as GET /. It has no method and no path in a log.
const routeConnect = "$connect"

// parseAPIGateway reads JSON, and the CSV that the console offers: without a
// header line. That of REST APIs has caller and user between client and time.
func parseAPIGateway(line string, r *record) (bool, error) {
	if strings.HasPrefix(line, "{") {
		return apiGateway.parseJSON(line, r)
	}
	values := strings.Split(line, ",")
	at := clfTimeAt(values)
	if at < 1 || len(values) < at+5 {
		return false, errNoAPIGateway
	}
	switch values[at+1] { // of a WebSocket API: the event's type, the route, the status
	case "MESSAGE", "DISCONNECT":
		return false, errNoRequest
	case "CONNECT":
		return apiGateway.read(&row{[]string{"ip", "requestTime", "routeKey", "status"}, []string{values[0], values[at], values[at+2], values[at+3]}}, r)
	}
	values = append(values[:1:1], values[at:at+5]...)
	return apiGateway.read(&row{[]string{"ip", "requestTime", "httpMethod", "routeKey", "protocol", "status"}, values}, r)
}

// clfTimeAt returns the place of the first time of a common log, -1 for none.
func clfTimeAt(values []string) int {
	for i, value := range values {
		if len(value) == len(clfTime) {
			if _, err := time.Parse(clfTime, value); err == nil {
				return i
			}
		}
	}
	return -1
}
