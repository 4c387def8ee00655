package logs

import (
	"errors"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/request"
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
	fields: []field{
		{[]string{"ip", "sourceIp"}, setIP},
		{[]string{"httpMethod", "method"}, setMethod},
		{[]string{"path"}, setTarget},
		{[]string{"resourcePath", "routeKey", "route"}, setRoute},
		{[]string{"stage"}, func(r *record, value string) { r.Stage = value }},
		{[]string{"status"}, setStatus},
		{[]string{"apiKeyId", "apikey"}, func(r *record, value string) { r.APIKey = value }},
		{[]string{"userAgent"}, setHeader("user-agent")},
		{[]string{"domainName"}, setHeader("host")},
	},
	finish: func(_ namedFields, r *record) error {
		r.routeForPath()
		r.Target = belowStage(r.Target, r.Stage, r.Route)
		return nil
	},
}

// setRoute cuts the method from the route of an HTTP API: "GET /items/{id}".
func setRoute(r *record, value string) {
	if method, path, ok := strings.Cut(value, " "); ok && request.IsToken(method) {
		value = path
	}
	r.Route = value
}

func (r *record) routeForPath() {
	if r.Target == "" && strings.HasPrefix(r.Route, "/") {
		r.Target = r.Route
	}
}

// parseAPIGateway reads JSON, and the CSV that the console offers: without a
// header line. That of REST APIs has caller and user between client and time.
func parseAPIGateway(line string, r *record) (_ bool, err error) {
	if strings.HasPrefix(line, "{") {
		return jsonTable{table: &apiGateway}.parse(line, r)
	}
	values := strings.Split(line, ",")
	at := clfTimeAt(values)
	if at < 1 || len(values) < at+5 {
		return false, errNoAPIGateway
	}
	if r.time, err = parseCLFTime(values[at]); err != nil {
		return false, err
	}
	r.IP, r.Method = values[0], values[at+1]
	setRoute(r, values[at+2])
	r.Status = statusOf(values[at+4])
	r.routeForPath()
	r.dropAbsent()
	return true, r.check()
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
